//! Sums of each operation.

use collbench_formats::{Operation, Semantics};
use collbench_stats::batches::Batches;
use collbench_stats::distribution::Distribution;
use collbench_stats::integers::add_ns;
use serde::{Deserialize, Serialize};

use crate::calls::call::Call;
use crate::calls::outstanding::OverlapTimes;
use crate::sums::graphs::InsideTally;
use crate::sums::graphs::own_trees;
use crate::sums::graphs::own_trees::OwnTreeTallies;
use crate::sums::instances::outliers::Longest;
use crate::sums::instances::shown_instances::CostliestByDuration;
use crate::sums::lags_and_waits::LagsAndWaits;
use crate::sums::members::MemberTally;
use crate::sums::orders::OrderCounts;
use crate::sums::sections::OperationSections;
use crate::sums::send_times::SendTimes;
use crate::sums::serialization::Serialization;
use crate::sums::sites::SiteTallies;

/// Waits and departure waits, inside the own host and across hosts, ns per call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Split {
    /// For processes of the own host.
    pub wait_inside: Distribution,
    /// For those of others, after that.
    pub wait_across: Distribution,
    /// From the first leave on the own host on.
    pub departure_inside: Distribution,
    /// From the first leave to the first on the own host.
    pub departure_across: Distribution,
}

impl Split {
    fn merge(&mut self, other: &Self) {
        for (own, other) in [
            (&mut self.wait_inside, &other.wait_inside),
            (&mut self.wait_across, &other.wait_across),
            (&mut self.departure_inside, &other.departure_inside),
            (&mut self.departure_across, &other.departure_across),
        ] {
            own.merge(other);
        }
    }
}

/// The parts of nonblocking and persistent operations, ns per call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct OverlapTally {
    /// The initiating call.
    pub initiation: Distribution,
    /// From its leave to the enter of the completing call.
    pub between: Distribution,
    /// The completing call, its share.
    pub completion: Distribution,
    /// Initiation, tests and completion.
    pub exposed: Distribution,
    /// Between, without tests.
    pub overlap_bound: Distribution,
    /// Tests that found it not complete.
    pub n_tests: u64,
    /// When messages were sent, where they were recorded.
    pub sends: SendTimes,
}

impl OverlapTally {
    /// Adds a call that was completed.
    pub(crate) fn add(&mut self, overlap: &OverlapTimes) {
        let (Some(completing), Some(between), Some(bound)) = (
            overlap.completing,
            overlap.between_ns(),
            overlap.overlap_bound_ns(),
        ) else {
            return;
        };
        self.initiation.add(overlap.initiation_ns);
        self.between.add(between);
        self.completion.add(completing.share_ns);
        self.exposed.add(overlap.exposed_ns());
        self.overlap_bound.add(bound);
        self.n_tests += overlap.n_tests;
    }

    fn merge(&mut self, other: &Self) {
        for (own, other) in [
            (&mut self.initiation, &other.initiation),
            (&mut self.between, &other.between),
            (&mut self.completion, &other.completion),
            (&mut self.exposed, &other.exposed),
            (&mut self.overlap_bound, &other.overlap_bound),
        ] {
            own.merge(other);
        }
        self.n_tests += other.n_tests;
        self.sends.merge(&other.sends);
    }
}

/// Sums of one operation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperationTally {
    /// Calls begun.
    pub calls: u64,
    /// Complete instances.
    pub instances: u64,
    /// Instances that all processes entered and left, some with an error.
    pub failed: u64,
    /// Other instances.
    pub incomplete: u64,
    /// Whether a call was under way that is in no instance: a constructor over a group, whose
    /// record names the new communicator only when it returns.
    pub has_open_call: bool,
    /// Smallest and largest payload seen.
    pub bytes: Option<(u64, u64)>,
    /// Last leave minus first enter.
    pub duration: Distribution,
    /// Leave minus enter, of every call that returned.
    pub call_time: Distribution,
    /// Waits, and lags.
    pub lags_and_waits: LagsAndWaits,
    /// First leave minus last enter.
    pub core: Distribution,
    /// Own leave minus first.
    pub departure_wait: Distribution,
    /// Scalasca's completion time, ns; `None` for operations without.
    pub completion_ns: Option<i64>,
    /// The waits for processes that the operation does not name, by [state](crate::measure::outside::StateOnTheWay), ns.
    pub on_the_way_ns: [i64; 3],
    /// By position in the communicator's entry.
    pub members: Vec<MemberTally>,
    /// Complete instances of which it is not known who arrived last.
    pub last_unresolved: u64,
    /// Complete instances of which it is not known who left first.
    pub first_unresolved: u64,
    /// Of `last_unresolved` those of which it is likely.
    pub last_likely: u64,
    /// Of `first_unresolved` those of which it is likely.
    pub first_likely: u64,
    /// Orders of arrival.
    pub arrivals: OrderCounts,
    /// Orders of departure.
    pub departures: OrderCounts,
    /// How much later than the last enter each next process left.
    pub serialization: Serialization,
    /// What it took early and late.
    pub sections: OperationSections,
    /// The few instances that took longest.
    pub longest: Longest,
    /// The costliest instance of each doubling of durations.
    pub costliest: CostliestByDuration,
    /// Batches of consecutive instances, for the errors of the means.
    pub batches: Batches,
    /// Where processes on several hosts have a common time.
    pub split: Option<Box<Split>>,
    /// Where calls are nonblocking, and were completed.
    pub overlap: Option<Box<OverlapTally>>,
    /// Where messages were recorded.
    pub inside: Option<Box<InsideTally>>,
    /// By spanning tree of our own, where event collectors recorded passes.
    pub own_trees: OwnTreeTallies,
    /// By the place in the program from which it was called, where that was recorded.
    pub sites: SiteTallies,
}

impl OperationTally {
    pub(crate) fn new(n_positions: usize) -> Self {
        Self {
            calls: 0,
            instances: 0,
            failed: 0,
            incomplete: 0,
            has_open_call: false,
            bytes: None,
            duration: Distribution::default(),
            call_time: Distribution::default(),
            lags_and_waits: LagsAndWaits::default(),
            core: Distribution::default(),
            departure_wait: Distribution::default(),
            completion_ns: None,
            on_the_way_ns: [0; 3],
            members: vec![MemberTally::default(); n_positions],
            last_unresolved: 0,
            first_unresolved: 0,
            last_likely: 0,
            first_likely: 0,
            arrivals: OrderCounts::new(n_positions),
            departures: OrderCounts::new(n_positions),
            serialization: Serialization::default(),
            sections: OperationSections::default(),
            longest: Longest::default(),
            costliest: CostliestByDuration::default(),
            batches: Batches::default(),
            split: None,
            overlap: None,
            inside: None,
            own_trees: OwnTreeTallies::new(),
            sites: SiteTallies::default(),
        }
    }

    /// Counts a call that is in no figure of time.
    pub(crate) fn count_call(&mut self, call: &Call) {
        self.calls += 1;
        if let Some(bytes) = call.payload {
            self.see_bytes(bytes, bytes);
        }
    }

    pub(crate) fn add_call(&mut self, call: &Call) {
        self.count_call(call);
        // How long it took until it was refused says nothing of the operation.
        if call.leave.is_some() && call.is_timed && !call.has_failed {
            self.call_time.add(call.time_ns());
            if let Some(overlap) = &call.overlap {
                self.overlap.get_or_insert_default().add(overlap);
            }
        }
    }

    /// Adds another part of the same operation.
    pub(crate) fn merge(&mut self, other: Self) {
        self.calls += other.calls;
        self.instances += other.instances;
        self.failed += other.failed;
        self.incomplete += other.incomplete;
        self.has_open_call |= other.has_open_call;
        if let Some((least, most)) = other.bytes {
            self.see_bytes(least, most);
        }
        for (own, other) in [
            (&mut self.duration, &other.duration),
            (&mut self.call_time, &other.call_time),
            (&mut self.core, &other.core),
            (&mut self.departure_wait, &other.departure_wait),
        ] {
            own.merge(other);
        }
        self.lags_and_waits.merge(&other.lags_and_waits);
        if let Some(completion) = other.completion_ns {
            add_ns(self.completion_ns.get_or_insert(0), completion);
        }
        for (own, other) in self.on_the_way_ns.iter_mut().zip(other.on_the_way_ns) {
            add_ns(own, other);
        }
        for (own, other) in self.members.iter_mut().zip(&other.members) {
            own.merge(other);
        }
        self.last_unresolved += other.last_unresolved;
        self.first_unresolved += other.first_unresolved;
        self.last_likely += other.last_likely;
        self.first_likely += other.first_likely;
        self.arrivals.merge(&other.arrivals);
        self.departures.merge(&other.departures);
        self.serialization.merge(&other.serialization);
        self.sections.merge(other.sections);
        self.longest.merge(&other.longest);
        self.costliest.merge(&other.costliest);
        self.batches.merge(&other.batches);
        if let Some(split) = other.split {
            self.split.get_or_insert_default().merge(&split);
        }
        if let Some(overlap) = other.overlap {
            self.overlap.get_or_insert_default().merge(&overlap);
        }
        if let Some(inside) = other.inside {
            self.inside.get_or_insert_default().merge(*inside);
        }
        own_trees::merge(&mut self.own_trees, &other.own_trees);
        self.sites.merge(other.sites);
    }

    /// Prepares its distributions to be looked at.
    pub(crate) fn settle(&mut self) {
        let of_calls = [&mut self.call_time, &mut self.departure_wait];
        let of_instances = [&mut self.duration, &mut self.core];
        let all = of_calls.into_iter().chain(of_instances);
        all.chain(self.lags_and_waits.distributions())
            .for_each(Distribution::settle);
    }

    pub(crate) fn see_bytes(&mut self, least: u64, most: u64) {
        let (before_least, before_most) = self.bytes.unwrap_or((least, most));
        self.bytes = Some((before_least.min(least), before_most.max(most)));
    }
}

/// The wait state of senders that may have had to wait for a receiver, where messages were not recorded.
pub const LATE_RECEIVER_ASSUMED: &str = "Late Receiver (assumed)";

/// Names of the wait states of [`OperationTally::on_the_way_ns`].
///
/// # Source
/// Scalasca's patterns of point-to-point communication, which collectives consist of.
pub(crate) const ON_THE_WAY: [&str; 3] = ["Late Receiver", "Late Sender", LATE_RECEIVER_ASSUMED];

/// Names of the wait states of an operation, waiting and completion.
///
/// # Source
/// Scalasca's patterns, as metrics define them. Constructors wait as N x N do.
#[must_use]
pub(crate) fn wait_state_names(
    operation: Operation,
) -> (Option<&'static str>, Option<&'static str>) {
    match operation.semantics() {
        Semantics::Barrier => (Some("Wait at Barrier"), Some("Barrier Completion")),
        Semantics::AllToAll | Semantics::Constructor | Semantics::GroupConstructor => {
            (Some("Wait at N x N"), Some("N x N Completion"))
        }
        Semantics::OneToMany => (Some("Late Broadcast"), None),
        Semantics::ManyToOne => (Some("Early Reduce"), None),
        Semantics::Prefix => (Some("Early Scan"), None),
        Semantics::Neighborhood
        | Semantics::Unspecified
        | Semantics::Free
        | Semantics::NonblockingConstructor
        | Semantics::Process => (None, None),
    }
}
