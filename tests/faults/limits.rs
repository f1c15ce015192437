//! No more room, no more memory, no more descriptors; kernels and file systems that lack something.
//! Recording ends with a word, or does without; the program goes on.

use std::fs;
use std::os::unix::fs::MetadataExt;

use collbench_tests::{Job, program, rank_files, run, skipped};

use super::matrix::{Fault, Kept};

/// Two ranks with 10,000 barriers each on their own, enough for several chunks of the trace, and
/// one together.
fn many(name: &str) -> Fault<'_> {
    Fault {
        name,
        job: Job::new(2, program("many.c"), &["10000"]),
        calls: 10_001,
        kept: Kept::All,
        says: "",
    }
}

/// As [`many`], where recording stops, and these words are said.
fn stopped<'a>(name: &'a str, says: &'a str) -> Fault<'a> {
    Fault {
        kept: Kept::UntilStop,
        says,
        ..many(name)
    }
}

#[test]
fn the_size_that_was_given_is_reached() {
    let size = 200 << 10;
    let mut fault = stopped("--max-size reached", "max-size");
    fault.job.options = &["--max-size", "200k"];
    fault.clone().inner().check();
    let Some(left) = fault.check() else { return };
    for file in rank_files(&left.join("recorded/trace")) {
        assert!(fs::metadata(&file).unwrap().len() <= size, "{file:?}");
    }
}

// ---- disks ----

/// A row in which the trace directory is a file system of its own, in memory, in a mount namespace
/// that goes away by itself; what came there is copied to `trace.moved`.
fn on_a_small_disk(size: &str, fault: Fault<'_>) {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let namespace = if is_root { "-m" } else { "-mr" };
    let tried = run(&["unshare", namespace, "mount", "-t", "tmpfs", "none", "/mnt"]);
    if tried.status != 0 {
        skipped(&format!("no mounts on this machine: {tried}"));
        return;
    }
    let script = format!(
        "mkdir trace trace.moved && mount -t tmpfs -o size={size} none trace || exit 99
        \"$@\"; status=$?; cp -r trace/. trace.moved; exit $status"
    );
    let job = Job {
        around: &["unshare", namespace, "sh", "-c", &script, "sh"],
        // For launchers that take a mapped root for a true one.
        variables: &[
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ],
        ..fault.job
    };
    Fault { job, ..fault }.check();
}

#[test]
fn the_directory_is_in_memory() {
    on_a_small_disk("64m", many("directory on tmpfs"));
}

#[test]
fn the_disk_is_full() {
    let full = stopped("disk full", "No space left on device");
    on_a_small_disk("300k", full);
}

#[test]
fn the_disk_is_full_from_the_beginning() {
    let full = Fault {
        kept: Kept::Nothing,
        says: "No space left on device",
        ..many("disk full before MPI_Init")
    };
    on_a_small_disk("8k", full);
}

#[test]
fn files_may_not_be_longer() {
    // In units of 512 bytes, in POSIX: 8 MiB, enough for the files that Open MPI itself makes.
    Fault {
        job: Job {
            around: &["sh", "-c", "ulimit -f 16384; exec \"$@\"", "sh"],
            ..Job::new(2, program("many.c"), &["500000"])
        },
        calls: 500_001,
        ..stopped("ulimit -f", "ulimit -f")
    }
    .check();
}

// ---- limits that the program sets ----

fn limits<'a>(name: &'a str, what: &str) -> Fault<'a> {
    Fault {
        name,
        job: Job::new(2, program("limits.c"), &[what, "10000"]),
        calls: 10_000,
        kept: Kept::All,
        says: "",
    }
}

#[test]
fn no_descriptor_is_left() {
    limits("RLIMIT_NOFILE 0 after MPI_Init", "files").check();
}

#[test]
fn there_are_few_descriptors() {
    limits("RLIMIT_NOFILE 64 before MPI_Init", "files-before").check();
}

#[test]
fn the_program_limits_its_files() {
    Fault {
        kept: Kept::UntilStop,
        says: "ulimit -f",
        ..limits("RLIMIT_FSIZE of 64 KiB, whoever exceeds it dies", "size")
    }
    .check();
}

#[test]
fn no_address_space_is_left() {
    Fault {
        calls: 10_002,
        kept: Kept::UntilStop,
        says: "Cannot allocate memory",
        ..limits("RLIMIT_AS: no address space left", "space")
    }
    .check();
}

#[test]
fn no_memory_is_left() {
    Fault {
        calls: 10_002,
        kept: Kept::UntilStop,
        says: "recording stopped",
        ..limits("RLIMIT_AS and the program took all memory", "memory")
    }
    .check();
}

// ---- descriptors and signals that the program takes ----

#[test]
fn the_program_closes_all_descriptors_before_mpi_begins() {
    let job = Job::new(2, program("closes.c"), &["before", "10000"]);
    Fault {
        name: "all descriptors closed and their numbers used, before MPI_Init",
        job,
        calls: 10_000,
        ..many("")
    }
    .check();
}

#[test]
fn the_program_closes_all_descriptors_of_the_recorder_too() {
    // It ends without MPI_Finalize, since the MPI library misses its own.
    let job = Job::new(2, program("closes.c"), &["after", "10000"]);
    Fault {
        name: "all descriptors closed and their numbers used, after MPI_Init",
        job,
        calls: 10_000,
        kept: Kept::UntilDeath,
        ..many("")
    }
    .check();
}

#[test]
fn the_program_handles_signals_itself() {
    let job = Job::new(2, program("handlers.c"), &["2000"]);
    Fault {
        name: "handlers of the program for SIGBUS, SIGSEGV, SIGTERM and more, on a stack of its own",
        job,
        calls: 12_000,
        ..many("")
    }
    .check();
}

/// Rows in which recording stops, and there is nowhere to say so.
#[test]
fn the_program_has_an_odd_stderr() {
    for (what, name) in [
        (
            "unread",
            "stderr is a pipe that nobody has open, when recording stops",
        ),
        (
            "full",
            "stderr is a full pipe that nobody reads, when recording stops",
        ),
        (
            "data",
            "descriptor 2 is a file of the program's, before MPI_Init",
        ),
        (
            "reused",
            "descriptor 2 is a file of the program's, after MPI_Init",
        ),
    ] {
        let job = Job {
            options: &["--max-size", "64k"],
            ..Job::new(2, program("stderrs.c"), &[what, "10000"])
        };
        Fault {
            name,
            job,
            calls: 10_000,
            kept: Kept::UntilStop,
            ..many("")
        }
        .check();
    }
}

// ---- system calls that fail ----

/// A row in which system calls on rank files fail, as `refuses.c` is told.
fn refuses(refused: &str, fault: Fault<'_>) {
    let library = program("refuses.c");
    let variables = [
        ("LD_PRELOAD", library.to_str().unwrap()),
        ("REFUSES", refused),
    ];
    let job = Job {
        variables: &variables,
        ..fault.job
    };
    Fault { job, ..fault }.check();
}

const EIO: i32 = 5;
const ENOMEM: i32 = 12;
const EFAULT: i32 = 14;
const EINVAL: i32 = 22;
const EOPNOTSUPP: i32 = 95;
const EDQUOT: i32 = 122;

#[test]
fn a_quota_is_used_up() {
    let fault = stopped("quota (EDQUOT)", "Disk quota exceeded");
    refuses(&format!("fallocate:{EDQUOT}:4"), fault);
}

#[test]
fn a_quota_is_used_up_from_the_beginning() {
    let fault = Fault {
        kept: Kept::Nothing,
        ..stopped("quota (EDQUOT) before MPI_Init", "Disk quota exceeded")
    };
    refuses(&format!("fallocate:{EDQUOT}:1"), fault);
}

#[test]
fn a_quota_is_used_up_where_room_cannot_be_reserved() {
    let fault = stopped("quota (EDQUOT) without fallocate", "Disk quota exceeded");
    refuses(
        &format!("fallocate:{EOPNOTSUPP}:1 pwrite:{EDQUOT}:8"),
        fault,
    );
}

#[test]
fn room_cannot_be_reserved() {
    let fault = many("fallocate not supported (EOPNOTSUPP)");
    refuses(&format!("fallocate:{EOPNOTSUPP}:1"), fault);
}

#[test]
fn pages_cannot_be_made_writable_ahead() {
    let fault = many("MADV_POPULATE_WRITE not supported (EINVAL)");
    refuses(&format!("populate:{EINVAL}:1"), fault);
}

#[test]
fn pages_that_should_be_there_are_not() {
    let fault = stopped("MADV_POPULATE_WRITE fails (EFAULT)", "preparing pages");
    refuses(&format!("populate:{EFAULT}:4"), fault);
}

#[test]
fn the_file_cannot_be_mapped() {
    let fault = stopped("mmap fails (ENOMEM)", "mapping the file");
    refuses(&format!("mmap:{ENOMEM}:4"), fault);
}

#[test]
fn the_file_cannot_be_mapped_from_the_beginning() {
    let fault = Fault {
        kept: Kept::Nothing,
        ..stopped("mmap fails (ENOMEM) in MPI_Init", "mapping the file")
    };
    refuses(&format!("mmap:{ENOMEM}:1"), fault);
}

#[test]
fn the_disk_fails() {
    let fault = stopped("pwrite fails (EIO)", "Input/output error");
    refuses(&format!("pwrite:{EIO}:8"), fault);
}

#[test]
fn the_file_cannot_be_cut_at_the_end() {
    let fault = many("ftruncate fails (EIO)");
    refuses(&format!("ftruncate:{EIO}:1"), fault);
}
