//! One time for all hosts, from exchanges of time stamps and from constraints of the collectives.
//!
//! Clocks of several hosts are aligned in two steps. Straight lines through the first and the last
//! exchanges are good enough to match calls, and to find the tightest constraints. Where exchanges
//! are too sparse, or where messages were recorded, an extra pass over the trace gathers these
//! constraints: messages are far more numerous than exchanges. Then the smoother fits all of them.
//! Traces of one host need none of this.

use collbench_clocks::constraint::{Constraints, Key, Origin};
use collbench_clocks::smoothed_alignment::{CoarseAlignment, SmoothedAlignment};

use crate::align::causality::{ByHost, Causality};
use crate::communicators::Communicators;
use crate::instances::complete::CompleteInstance;
use crate::instances::matching::match_calls;
use crate::instances::outcome::{Adder, Merge, Outcome};
use crate::progress::Progress;
use crate::time::clocks::Clocks;
use crate::trace::run::Run;

/// Exchanges further apart than this leave something to the collectives, ns: the wander of a good
/// clock comes to what they can tell.
const SPARSE_NS: i64 = 35_000_000_000;

/// Aligns the clocks finally.
pub(crate) fn settle(
    run: &Run<'_>,
    clocks: &mut Clocks,
    mut coarse: CoarseAlignment,
    communicators: &Communicators,
    window: Option<u64>,
    report: &mut dyn FnMut(Progress),
) {
    let needs_collectives = |gap_ns| gap_ns > SPARSE_NS;
    let is_sparse =
        coarse.has_unknown_drift() || coarse.longest_gap_ns().is_some_and(needs_collectives);
    if !is_sparse && !run.has_messages() {
        let smoothed = coarse.smooth(coarse.constraints());
        clocks.take(run, &coarse, smoothed);
        return;
    }
    let mut smooth = |clocks: &Clocks, coarse: &CoarseAlignment| -> SmoothedAlignment {
        let nothing = || Gathered {
            coarse,
            constraints: coarse.constraints(),
            by_host: ByHost::default(),
        };
        let (gathered, _) = match_calls(run, clocks, communicators, window, report, &nothing);
        coarse.smooth(gathered)
    };
    let mut smoothed = smooth(clocks, &coarse);
    // The tightest constraints were chosen by straight lines; where these were far off, choose
    // again.
    if coarse.refit_lines(&smoothed) {
        clocks.set_lines(run, &mut coarse);
        smoothed = smooth(clocks, &coarse);
    }
    clocks.take(run, &coarse, smoothed);
}

/// The tightest constraints from collectives.
struct Gathered<'p> {
    coarse: &'p CoarseAlignment,
    constraints: Constraints,
    by_host: ByHost,
}

impl Adder for Gathered<'_> {
    type Rows = ();
    type Sums = Constraints;

    fn take(&mut self, matched: Outcome<'_>) {
        let Outcome::Complete(instance) = matched else {
            return;
        };
        if instance.communicator.hosts.len() < 2 {
            return;
        }
        self.take_messages(&instance);
        let Some(causality) = Causality::of(&instance) else {
            return;
        };
        let (coarse, constraints) = (self.coarse, &mut self.constraints);
        let add = &mut |origin, (from, entered), (to, left)| {
            if coarse.uses_pair(from, to) {
                constraints.add(Key { origin, from, to }, entered, left);
            }
        };
        self.by_host.constraints(&instance, causality, add);
    }

    fn hand_over_rows(&mut self) {}

    fn finish(self) -> Constraints {
        self.constraints
    }
}

impl Merge for Constraints {
    fn merge(&mut self, other: Self) {
        self.merge(other);
    }
}

impl Gathered<'_> {
    /// Adds what the messages of an instance say. Late stamps, as of a receive that the library
    /// looked at late, make it say less, but nothing wrong. A send put together with a receive that is
    /// not its own would: so only instances count of which both ends of every message are known,
    /// and of these no receives that took a message from any process.
    fn take_messages(&mut self, instance: &CompleteInstance<'_>) {
        let Some(messages) = instance.messages else {
            return;
        };
        if messages.n_unpaired_sends > 0 || messages.n_unpaired_receives > 0 {
            return;
        }
        let host_of = |slot: u32| instance.communicator.members[slot as usize].host;
        for message in messages.paired.iter().filter(|m| !m.is_from_any) {
            let (from, to) = (host_of(message.from), host_of(message.to));
            if let Some(received) = message.received
                && self.coarse.uses_messages_of(from, to)
            {
                let origin = Origin::Message;
                let key = Key { origin, from, to };
                self.constraints.add(key, message.sent.ns(), received.ns());
            }
        }
    }
}
