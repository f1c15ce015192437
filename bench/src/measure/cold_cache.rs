//! Space that is larger than the caches: writing to it leaves nothing of the messages in them.
//!
//! # Source
//! Hoefler et al. 2007, section 1.1: MPBench invalidates the caches between repetitions, and
//! subtracts what that costs.

use std::fs;
use std::path::Path;

/// Bytes that are written if the sizes of the caches are not known.
const UNKNOWN: usize = 64 << 20;
/// Numbers in a cache line of 64 bytes.
const LINE: usize = 8;

/// Space to write to.
pub(crate) struct ColdCache {
    space: Vec<u64>,
    round: u64,
}

impl ColdCache {
    /// Twice as large as the largest cache of this machine.
    pub(crate) fn new() -> Self {
        let largest = largest_cache(Path::new("/sys/devices/system/cpu/cpu0/cache"));
        Self {
            space: vec![0; 2 * largest.unwrap_or(UNKNOWN) / size_of::<u64>()],
            round: 0,
        }
    }

    /// Writes to each line of the space.
    pub(crate) fn invalidate(&mut self) {
        self.round += 1;
        for line in self.space.chunks_mut(LINE) {
            line[0] = self.round;
        }
        std::hint::black_box(&mut self.space);
    }
}

/// Size of the largest cache in the folder of a core's caches, bytes.
fn largest_cache(folder: &Path) -> Option<usize> {
    let caches = fs::read_dir(folder).ok()?.flatten();
    let sizes =
        caches.filter_map(|cache| size(&fs::read_to_string(cache.path().join("size")).ok()?));
    sizes.max()
}

/// A size as Linux writes it: `32768K`.
fn size(text: &str) -> Option<usize> {
    let text = text.trim();
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => match text.strip_suffix('M') {
            Some(number) => (number, 1 << 20),
            None => (text, 1),
        },
    };
    number.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cache_counts() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("index0", "32K\n"),
            ("index3", "16384K\n"),
            ("index2", "1M\n"),
        ] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("size"), text).unwrap();
        }
        fs::write(folder.path().join("uevent"), "").unwrap();
        assert_eq!(largest_cache(folder.path()), Some(16 << 20));
        assert_eq!(largest_cache(Path::new("/nowhere")), None);
        assert_eq!((size("12"), size("x"), size("K")), (Some(12), None, None));
    }

    #[test]
    fn each_line_of_the_space_is_written_in_each_round() {
        let mut cold = ColdCache {
            space: vec![0; 3 * LINE],
            round: 0,
        };
        cold.invalidate();
        cold.invalidate();
        let lines: Vec<u64> = cold.space.chunks(LINE).map(|line| line[0]).collect();
        assert_eq!(lines, [2, 2, 2]);
    }
}
