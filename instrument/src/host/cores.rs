//! The cores that this process may use.

use super::mix::mix;

/// Bytes of a mask of processors, as the kernel stores it: of 8,192.
const MASK_BYTES: usize = 1024;

/// The cores that a process may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cores {
    /// How many; 0: not known.
    pub(crate) usable: u16,
    /// How many of its host are online; 0: not known.
    pub(crate) online: u16,
    /// Which ones: equal for equal sets.
    pub(crate) set: u64,
}

impl Cores {
    /// Those of this process.
    pub(crate) fn of_this_process() -> Self {
        let mut mask = [0_u64; MASK_BYTES / 8];
        // SAFETY: the kernel stores at most as many bytes as there are.
        let is_known = unsafe {
            libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) == 0
        };
        if !is_known {
            return Self::default();
        }
        let usable: u32 = mask.iter().map(|word| word.count_ones()).sum();
        // SAFETY: has no preconditions.
        let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        Self {
            usable: usable.try_into().unwrap_or(u16::MAX),
            online: online.max(0).try_into().unwrap_or(u16::MAX),
            set: mix(&mask),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_use_some_of_the_cores_of_its_host() {
        let cores = Cores::of_this_process();
        assert!(cores.usable > 0 && cores.online > 0);
        assert_eq!(cores, Cores::of_this_process());
    }
}
