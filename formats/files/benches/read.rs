//! The cost of reading a file: mapped, as the analysis does, or into buffers. Measured in processor
//! time, so that a busy machine matters little; the file is in the page cache.

use std::fs::File;
use std::io::Write;
use std::mem::zeroed;
use std::os::unix::fs::FileExt;

use collbench_files::{Mapped, guard_mappings};

const BYTES: usize = 512 << 20;
/// How much the analysis reads before it gives pages back.
const AT_ONCE: usize = 1 << 20;
const RECORD_BYTES: usize = 32;

/// Adds up all enter times of a file.
type ReadMethod = fn(&File) -> u64;

fn main() {
    let mut file = tempfile::tempfile().expect("a file");
    let piece: Vec<u8> = (0..AT_ONCE).map(|i| (i % 251) as u8).collect();
    for _ in 0..BYTES / AT_ONCE {
        file.write_all(&piece).expect("room for it");
    }
    let methods: [(&str, ReadMethod); 2] = [("mapped", mapped), ("read", read)];
    for (name, method) in methods {
        let mut times: Vec<f64> = (0..9).map(|_| seconds_of(|| method(&file))).collect();
        times.sort_by(f64::total_cmp);
        let per_record = |seconds: f64| seconds * 1e9 / (BYTES / RECORD_BYTES) as f64;
        println!(
            "{name}: {:.2} ns per record of 32 bytes ({:.2}-{:.2})",
            per_record(times[4]),
            per_record(times[0]),
            per_record(times[8])
        );
    }
}

fn sum(bytes: &[u8]) -> u64 {
    let records = bytes.chunks_exact(RECORD_BYTES);
    let enters = records.map(|record| u64::from_le_bytes(record[..8].try_into().expect("8 bytes")));
    enters.fold(0, u64::wrapping_add)
}

fn mapped(file: &File) -> u64 {
    guard_mappings();
    let mapped = Mapped::of(file).expect("a mapping");
    let pieces = mapped.bytes().chunks(AT_ONCE).enumerate();
    pieces.fold(0, |total: u64, (i, piece)| {
        let of_piece = sum(piece);
        let at = (i * AT_ONCE) as u64;
        mapped.give_back(at, at + AT_ONCE as u64);
        total.wrapping_add(of_piece)
    })
}

fn read(file: &File) -> u64 {
    let mut buffer = vec![0; AT_ONCE];
    (0..BYTES / AT_ONCE).fold(0, |total: u64, i| {
        let at = (i * AT_ONCE) as u64;
        file.read_exact_at(&mut buffer, at).expect("all is there");
        total.wrapping_add(sum(&buffer))
    })
}

/// Processor time of this thread, in seconds.
fn seconds_of(work: impl FnOnce() -> u64) -> f64 {
    let now = || {
        // SAFETY: clock_gettime fills the struct that it is given.
        let time = unsafe {
            let mut time: libc::timespec = zeroed();
            libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
            time
        };
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let begin = now();
    std::hint::black_box(work());
    now() - begin
}
