//! One time for all hosts: from exchanges, and from what the collectives say.
//!
//! Clocks of several hosts are aligned in two steps. Straight lines through the first and the last
//! exchanges are good enough to match calls and to tell which of them bind two clocks the most.
//! These are gathered in a pass over the trace of their own, where exchanges are too sparse; then
//! the smoother does the rest. Traces of one host go none of this way.

use crate::align::constraint::{Harvest, Key};
use crate::align::joint::{Joint, Preliminary};
use crate::causality::{ByHost, Causality};
use crate::clock::Clocks;
use crate::communicators::Communicators;
use crate::matched::{Matched, Sums};
use crate::matching::match_calls;
use crate::progress::Progress;
use crate::run::Run;

/// Exchanges further apart than this leave something to the collectives, ns: the wander of a good
/// clock comes to what they can tell.
const SPARSE_NS: i64 = 35_000_000_000;

/// Brings the clocks to one time for good.
pub(crate) fn settle(
    run: &Run<'_>,
    clocks: &mut Clocks,
    mut preliminary: Preliminary,
    communicators: &Communicators,
    window: u64,
    report: &mut dyn FnMut(Progress),
) {
    let needs_collectives = |gap_ns| gap_ns > SPARSE_NS;
    let drifts = preliminary.has_unknown_drift();
    if !drifts && !preliminary.longest_gap_ns().is_some_and(needs_collectives) {
        let joint = preliminary.smooth(preliminary.harvest());
        clocks.take(run, &preliminary, joint);
        return;
    }
    let mut smooth = |clocks: &Clocks, preliminary: &Preliminary| -> Joint {
        let nothing = || Gathered {
            preliminary,
            harvest: preliminary.harvest(),
            by_host: ByHost::default(),
        };
        let (gathered, _) = match_calls(run, clocks, communicators, window, report, &nothing);
        preliminary.smooth(gathered.harvest)
    };
    let mut joint = smooth(clocks, &preliminary);
    // Which constraints bind the most was told by lines; where these were far off, once more.
    if preliminary.straighten(&joint) {
        clocks.set_lines(run, &mut preliminary);
        joint = smooth(clocks, &preliminary);
    }
    clocks.take(run, &preliminary, joint);
}

/// The tightest constraints from collectives.
struct Gathered<'p> {
    preliminary: &'p Preliminary,
    harvest: Harvest,
    by_host: ByHost,
}

impl Sums for Gathered<'_> {
    fn take(&mut self, matched: Matched<'_>) {
        let Matched::Agreed(instance) = matched else {
            return;
        };
        if instance.communicator.hosts.len() < 2 {
            return;
        }
        let Some(causality) = Causality::of(&instance) else {
            return;
        };
        let (preliminary, harvest) = (self.preliminary, &mut self.harvest);
        let add = &mut |origin, (from, entered), (to, left)| {
            if preliminary.is_wanted(from, to) {
                harvest.add(Key { origin, from, to }, entered, left);
            }
        };
        self.by_host.constraints(&instance, causality, add);
    }

    fn merge(&mut self, other: Self) {
        self.harvest.merge(other.harvest);
    }
}
