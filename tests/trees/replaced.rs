//! Programs whose collectives run over trees, by `collbench-record --trees`.

use std::fs;
use std::path::Path;

use collbench_formats::{Definition, RankTrace, RecordKind};
use collbench_tests::{
    Cluster, Finished, Form, Job, Workspace, command, have, program, run_in, run_ranks, skip_unless,
};

use super::{names_in, recorded_over, tree_file, unrecorded};

/// One tree for all operations.
const BINOMIAL: &str = "\
[[tree]]
operations = ['allreduce', 'reduce', 'bcast', 'barrier', 'gather', 'scatter', 'allgather']
shape = 'binomial'
";
/// All ranks of the host meet in one place, and long reductions are divided among them.
const EXCHANGE: &str = "\
[[tree]]
operations = ['allreduce', 'barrier', 'allgather']
shape = { ranks = 'exchange' }
";
/// By payload some calls on a tree, some on another, some with the library.
const SEVERAL: &str = "\
[[tree]]
operations = ['allreduce', 'barrier', 'allgather']
bytes = '0-1KiB'
shape = 'exchange'

[[tree]]
operations = ['allreduce', 'reduce', 'bcast', 'gather', 'scatter']
bytes = '0-8KiB'
shape = '3-ary'
";

/// Numbers of calls, of passes of event collectors and of trees in a trace.
fn recorded(trace: &Path) -> (usize, usize, usize) {
    let (mut n_calls, mut n_passes, mut n_trees) = (0, 0, 0);
    for name in names_in(trace) {
        if !name.ends_with(".trace") {
            continue;
        }
        let bytes = fs::read(trace.join(name)).unwrap();
        let parsed = RankTrace::parse(&bytes).unwrap();
        let is_tree = |definition: &Definition| matches!(definition, Definition::SpanningTree(_));
        n_trees += parsed.definitions.iter().filter(is_tree).count();
        for chunk in &parsed.chunks {
            for record in (0..chunk.records.len()).filter_map(|at| chunk.records.get(at)) {
                n_calls += usize::from(record.kind() == Some(RecordKind::Call));
                n_passes += usize::from(record.kind() == Some(RecordKind::CollectorPass));
            }
        }
    }
    (n_calls, n_passes, n_trees)
}

/// Runs `around_trees.c` over trees, where MPI is: nothing goes wrong in it.
#[track_caller]
fn around_trees(ranks: usize, arguments: &[&str], trees: &str) -> Option<Finished> {
    if !have(&["mpirun", "mpicc"]) {
        return None;
    }
    let job = Job::new(ranks, program("around_trees.c"), arguments);
    let finished = unrecorded(&job, trees).expect(0);
    let done = (0..ranks).map(|rank| format!("{rank} done"));
    assert_eq!(finished.sorted_lines(), done.collect::<Vec<_>>());
    Some(finished)
}

#[test]
fn random_operations_give_what_they_give_with_the_library() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    for (ranks, seed, form) in [(5, "11", Form::Outer), (4, "12", Form::Inner)] {
        let job = Job {
            form,
            ..Job::new(ranks, program("replaced.c"), &[seed, "300"])
        };
        let folder = Workspace::new();
        let plain = job.plain(folder.path()).expect(0);
        for trees in [BINOMIAL, EXCHANGE] {
            let over_trees = unrecorded(&job, trees).expect(0);
            assert_eq!(over_trees.sorted_lines(), plain.sorted_lines());
        }
        let (finished, trace) = recorded_over(&folder, &job, SEVERAL);
        assert_eq!(finished.expect(0).sorted_lines(), plain.sorted_lines());
        let (n_calls, n_passes, n_trees) = recorded(&trace);
        assert!(n_calls > 280 * ranks, "{n_calls} calls");
        assert!(n_passes > 100 * ranks, "{n_passes} passes");
        assert!(n_trees > 2 * ranks, "{n_trees} trees");
        assert_eq!(names_in(folder.path()), ["trace", "trees.toml"]);
    }
}

#[test]
fn on_several_hosts_values_cross_by_messages() {
    let Some(cluster) = Cluster::up("replaced", &["--hosts", "2", "--latency-us", "100"]) else {
        return;
    };
    let folder = Workspace::new();
    let file = tree_file(
        &folder,
        "[[tree]]\noperations = ['allreduce', 'barrier', 'allgather']\n\
         shape = { ranks = 'linear', hosts = 'exchange' }\n\
         [[tree]]\noperations = ['reduce', 'bcast', 'gather', 'scatter']\n\
         hosts = ['h2', 'h1']\nshape = { ranks = 'linear', hosts = 'binomial' }\n",
    );
    let (record, replaced) = (command("collbench-record"), program("replaced.c"));
    command("libcollbench_preload.so");
    let launch = [cluster.script(), "mpirun", "-n", "4"];
    let program = [replaced.to_str().unwrap(), "31", "150"];
    let recorder = [
        record.to_str().unwrap(),
        "--trees",
        &file,
        "--no-trace",
        "--",
    ];
    let run = |line: &[&str]| run_ranks(4, folder.path(), &[cluster.variable()], line).expect(0);
    let plain = run(&[&launch[..], &program].concat());
    for line in [
        [&recorder[..], &launch, &program].concat(),
        [&launch[..], &recorder, &program].concat(),
    ] {
        let over_trees = run(&line);
        assert_eq!(over_trees.sorted_lines(), plain.sorted_lines());
        assert!(!over_trees.stderr.contains("collbench: "), "{over_trees}");
    }
}

#[test]
fn wrong_arguments_give_the_errors_of_the_library() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let job = Job::new(2, program("around_trees.c"), &["errors"]);
    let plain = job.plain(Workspace::new().path()).expect(0);
    let over_trees = unrecorded(&job, BINOMIAL).expect(0);
    assert_eq!(over_trees.sorted_lines(), plain.sorted_lines());
    assert!(plain.stdout.contains("1 truncated: "), "{plain}");
}

#[test]
fn an_error_handler_may_free_the_communicator_whose_call_has_failed() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let job = Job::new(3, program("around_trees.c"), &["freed"]);
    let finished = unrecorded(&job, BINOMIAL).expect(0);
    let handled = |line: &&str| line.contains("handled ");
    let lines = finished.sorted_lines();
    let handled: Vec<_> = lines.into_iter().filter(handled).collect();
    // Those to which nothing has come that is too long know of no error.
    assert_eq!(handled, ["0 handled 3", "1 handled 5", "2 handled 5"]);
}

#[test]
fn exceptions_of_cpp_leave_replaced_calls() {
    skip_unless!(have(&["mpirun", "mpicxx"]));
    let trees = "[[tree]]\noperations = ['allreduce']\nshape = 'exchange'\n\
                 [[tree]]\noperations = ['bcast']\nshape = 'linear'\n";
    for what in ["handler", "operation"] {
        let job = Job::new(2, program("throws.cpp"), &[what]);
        let finished = unrecorded(&job, trees).expect(0);
        assert_eq!(finished.sorted_lines(), ["0 done", "1 done"]);
    }
}

#[test]
fn what_the_kernel_refuses_one_rank_to_copy_comes_through_shared_memory() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let linear = "[[tree]]\noperations = ['bcast', 'reduce', 'gather']\nshape = 'linear'\n";
    for refused in ["0", "1"] {
        let job = Job {
            // The library would copy, too.
            launcher_options: &["--mca", "btl_vader_single_copy_mechanism", "none"],
            ..Job::new(2, program("refused.c"), &[refused])
        };
        let finished = unrecorded(&job, &format!("{EXCHANGE}{linear}")).expect(0);
        assert_eq!(finished.sorted_lines(), ["0 done", "1 done"]);
    }
}

#[test]
fn a_part_of_nothing_is_no_error() {
    around_trees(3, &["empty"], BINOMIAL);
}

#[test]
fn trees_that_are_gone_when_the_program_starts_mean_the_mpi_library() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let mut job = Job::new(2, program("around_trees.c"), &["callbacks"]);
    let remove = "rm .collbench-trees-*; exec \"$@\"";
    let folder = Workspace::new();
    let file = tree_file(&folder, BINOMIAL);
    let record = command("collbench-record");
    let recorder = [
        record.to_str().unwrap(),
        "--trees",
        &file,
        "--no-trace",
        "--",
    ];
    let gone = [&recorder[..], &["sh", "-c", remove, "sh"]].concat();
    job.around = &gone;
    let finished = job.plain(folder.path()).expect(0);
    assert_eq!(finished.sorted_lines(), ["0 done", "1 done"]);
    let says = "no trees are used: ";
    assert_eq!(finished.stderr.matches(says).count(), 1, "{finished}");
    finished.must_say("it is not the same file on all hosts");
}

#[test]
fn a_limit_of_files_that_is_below_what_a_tree_shares_means_the_mpi_library() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    // Shared memory of Open MPI's own is in files, too.
    let launcher = ["--mca", "btl", "tcp,self"];
    let limited = "ulimit -f 8; exec \"$@\"";
    let around = program("around_trees.c");
    let words = ["-c", limited, "sh", around.to_str().unwrap(), "many", "3"];
    let job = Job {
        launcher_options: &launcher,
        ..Job::new(2, "sh", &words)
    };
    let finished = unrecorded(&job, BINOMIAL).expect(0);
    assert_eq!(finished.sorted_lines(), ["0 done", "1 done"]);
    let says = "cannot share memory on a host";
    assert_eq!(finished.stderr.matches(says).count(), 1, "{finished}");
}

#[test]
fn a_tool_that_uses_mpi_before_trees_are_agreed_on_gets_them_later() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let folder = Workspace::new();
    let trees = "[[tree]]\noperations = ['allreduce', 'barrier']\nshape = 'exchange'\n";
    let tool = program("early.c");
    let variables = [("LD_PRELOAD", tool.to_str().unwrap())];
    let job = Job {
        variables: &variables,
        ..Job::new(3, program("around_trees.c"), &["aliased"])
    };
    let (finished, trace) = recorded_over(&folder, &job, trees);
    assert_eq!(finished.expect(0).sorted_lines().len(), 3);
    // Three allreduces, in each of which all three pass two collectors at once.
    let (_, n_passes, n_trees) = recorded(&trace);
    assert_eq!((n_passes, n_trees), (3 * 3, 3));
}

#[test]
fn communicators_for_whose_trees_there_is_no_memory_use_the_mpi_library() {
    // Each tree takes more than 100 KiB in a process, of 128 MiB.
    let trees = "[[tree]]\noperations = ['allreduce', 'barrier']\nshape = 'exchange'\n";
    let Some(finished) = around_trees(2, &["alive", "1300"], trees) else {
        return;
    };
    let says = "would take more memory than they may";
    assert_eq!(finished.stderr.matches(says).count(), 1, "{finished}");
}

#[test]
fn a_library_for_gpus_means_the_mpi_library_whenever_it_is_loaded() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let folder = Workspace::new();
    let library = folder.join("libcuda.so.1");
    fs::copy(program("gpu.c"), &library).unwrap();
    let library = library.to_str().unwrap();
    let around = program("around_trees.c");
    let job = Job::new(3, around.clone(), &["gpu", library]);
    let later = unrecorded(&job, BINOMIAL).expect(0);
    let says = "a communicator that has a tree uses the MPI library: a library for computing";
    assert_eq!(later.stderr.matches(says).count(), 1, "{later}");
    let variables = [("LD_PRELOAD", library)];
    let job = Job {
        variables: &variables,
        ..Job::new(3, around, &["callbacks"])
    };
    let before = unrecorded(&job, BINOMIAL).expect(0);
    let says = "no trees are used: buffers may be in the memory of GPUs";
    assert_eq!(before.stderr.matches(says).count(), 1, "{before}");
    for finished in [later, before] {
        assert_eq!(finished.sorted_lines(), ["0 done", "1 done", "2 done"]);
    }
}

#[test]
fn processes_wait_as_the_file_says() {
    for how in ["spin", "yield", "sleep"] {
        around_trees(2, &["waits", how], &format!("wait = '{how}'\n{BINOMIAL}"));
    }
}

#[test]
fn a_rank_that_receives_where_it_sends_from_goes_the_way_of_the_others() {
    around_trees(3, &["aliased"], BINOMIAL);
}

#[test]
fn what_is_under_way_goes_on_while_a_rank_waits_in_a_replaced_collective() {
    around_trees(2, &["outstanding"], BINOMIAL);
}

#[test]
fn communicators_in_two_threads_and_many_one_after_the_other_have_trees_of_their_own() {
    for arguments in [&["threads"][..], &["many", "120"], &["callbacks"]] {
        around_trees(3, arguments, SEVERAL);
    }
}

#[test]
fn a_program_in_fortran_does_what_it_does_with_the_library() {
    skip_unless!(have(&["mpirun", "mpifort"]));
    for source in ["same_mpif.F", "same_f08.F90"] {
        let job = Job::new(4, program(source), &[]);
        let finished = unrecorded(&job, BINOMIAL).expect(0);
        assert_eq!(finished.stdout.trim(), "done 2 4", "{finished}");
    }
}

#[test]
fn sections_of_fortran_arrays_go_over_trees_and_what_lies_between_stays() {
    skip_unless!(have(&["mpirun", "mpifort"]));
    let job = Job::new(3, program("sections_f08.F90"), &[]);
    for trees in [BINOMIAL, EXCHANGE, SEVERAL] {
        let finished = unrecorded(&job, trees).expect(0);
        let all_done = ["0 done, 0 wrong", "1 done, 0 wrong", "2 done, 0 wrong"];
        assert_eq!(finished.sorted_lines(), all_done);
    }
    // They do go over trees.
    let folder = Workspace::new();
    let (finished, trace) = recorded_over(&folder, &job, BINOMIAL);
    finished.expect(0);
    let (_, n_passes, _) = recorded(&trace);
    assert!(n_passes >= 60, "{n_passes} passes");
}

#[test]
fn a_wrong_tree_file_is_refused_before_the_command_runs() {
    let folder = Workspace::new();
    let wrong = [
        ("shape = 'binomal'\n", ":2:9: "),
        (
            "shape = 'binomial'\nhosts = ['no-such-host.invalid']\n",
            "no host is called \"no-such-host.invalid\"",
        ),
    ];
    for (rest, says) in wrong {
        let file = tree_file(
            &folder,
            &format!("[[tree]]\n{rest}operations = ['bcast']\n"),
        );
        let record = command("collbench-record");
        let line = [
            record.to_str().unwrap(),
            "--trees",
            &file,
            "--",
            "mpirun",
            "touch",
            "started",
        ];
        let finished = run_in(folder.path(), &[], &line).expect(125);
        finished.must_say(says);
        assert_eq!(names_in(folder.path()), ["trees.toml"]);
    }
}

#[test]
fn a_rank_without_the_library_means_the_mpi_library_for_all_which_is_said_once() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let folder = Workspace::new();
    let file = tree_file(&folder, BINOMIAL);
    // The second program of the job is started without the recorder.
    let record = command("collbench-record");
    let without = [":", "-n", "1"];
    let mut job = Job::new(1, record, &["--trees", &file, "--no-trace", "--"]);
    let around = program("around_trees.c");
    job.program
        .extend([around.clone().into(), "callbacks".into()]);
    job.program.extend(without.map(Into::into));
    job.program.extend([around.into(), "callbacks".into()]);
    let finished = job.plain(folder.path()).expect(0);
    assert_eq!(finished.sorted_lines(), ["0 done", "1 done"]);
    let says = "only 1 of 2 processes have collbench's library";
    assert_eq!(finished.stderr.matches(says).count(), 1, "{finished}");
}
