//! Which processes are on one host.

use crate::instance::Instance;

/// Which processes are on one host.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// By process, any number.
    of: Vec<u32>,
    /// Whether there are several.
    are_several: bool,
}

impl Hosts {
    /// The host of each process, by any number.
    pub(crate) fn new(of: &[u32]) -> Self {
        Self {
            of: of.to_vec(),
            are_several: of.iter().any(|host| *host != of[0]),
        }
    }

    /// When the last process of an instance was there without those in two slots, ns, and when the last one on another
    /// host than the one in the slot `on`, if each had come so much earlier, ns; the least number where there is none.
    #[inline(always)]
    pub(crate) fn others(
        &self,
        instance: &Instance,
        on: usize,
        skipped: [usize; 2],
        longer_ns: impl Fn(usize) -> i64,
    ) -> [i64; 2] {
        let enters_ns = &instance.calls.enters_ns;
        let begin_ns = |slot: usize| enters_ns[slot].saturating_sub(longer_ns(slot));
        let latest_ns = |slots: std::ops::Range<usize>| slots.map(begin_ns).max();
        let [first, second] = if skipped[0] <= skipped[1] {
            skipped
        } else {
            [skipped[1], skipped[0]]
        };
        let parts = [
            0..first,
            first + 1..second.max(first + 1),
            second + 1..enters_ns.len(),
        ];
        let before_ns = parts.into_iter().filter_map(latest_ns).max();
        let mut other_host_ns = i64::MIN;
        if self.are_several {
            let host = |slot: usize| self.of[instance.members[slot] as usize];
            let host_of_last = host(on);
            for slot in 0..enters_ns.len() {
                if host(slot) != host_of_last {
                    other_host_ns = other_host_ns.max(begin_ns(slot));
                }
            }
        }
        [before_ns.unwrap_or(i64::MIN), other_host_ns]
    }
}
