//! Sums of each process of one operation.

use collbench_stats::integers::add_ns;
use serde::{Deserialize, Serialize};

use crate::sums::columns::CallColumns;
use crate::sums::serialization::Serialization;

/// Sums of one process in one operation; its line of the timemap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberTally {
    /// Resolved instances that it arrived last to.
    pub last: u64,
    /// Resolved instances that it left first.
    pub first_departure: u64,
    /// Calls in complete instances.
    pub n_calls: u64,
    /// Their time, ns.
    pub call_ns: i64,
    /// Calls whose wait is known.
    pub n_waits: u64,
    /// Their waits, ns.
    pub wait_ns: i64,
    /// Calls whose departure wait is known.
    pub n_departure_waits: u64,
    /// Their departure waits, ns.
    pub departure_wait_ns: i64,
    /// Part of the waits that was for processes on the own host, where this is known, ns.
    pub wait_inside_ns: i64,
    /// Part of the departure waits after the first leave on the own host, where this is known, ns.
    pub departure_inside_ns: i64,
    /// Time in initiating calls, of nonblocking operations, ns.
    pub initiation_ns: i64,
    /// From there to the completing calls, ns.
    pub between_ns: i64,
}

impl MemberTally {
    /// Adds the call of a slot.
    pub(crate) fn add_call(&mut self, calls: &CallColumns<'_>, slot: usize) {
        self.n_calls += 1;
        add_ns(&mut self.call_ns, calls.times[slot]);
        if let Some(&wait) = calls.waits.get(slot) {
            self.n_waits += 1;
            add_ns(&mut self.wait_ns, wait);
        }
        if let Some(&departure_wait) = calls.departure_waits.get(slot) {
            self.n_departure_waits += 1;
            add_ns(&mut self.departure_wait_ns, departure_wait);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.last += other.last;
        self.first_departure += other.first_departure;
        self.n_calls += other.n_calls;
        add_ns(&mut self.call_ns, other.call_ns);
        self.n_waits += other.n_waits;
        add_ns(&mut self.wait_ns, other.wait_ns);
        self.n_departure_waits += other.n_departure_waits;
        add_ns(&mut self.departure_wait_ns, other.departure_wait_ns);
        add_ns(&mut self.wait_inside_ns, other.wait_inside_ns);
        add_ns(&mut self.departure_inside_ns, other.departure_inside_ns);
        add_ns(&mut self.initiation_ns, other.initiation_ns);
        add_ns(&mut self.between_ns, other.between_ns);
    }
}

/// Sums over instances in which every process of the entry took part, and all waits are known: by
/// position in the entry, in columns.
#[derive(Debug, Default)]
pub(crate) struct MemberColumns {
    n: u64,
    n_waits: u64,
    n_departure_waits: u64,
    n_in_order: u64,
    call_ns: Vec<i64>,
    wait_ns: Vec<i64>,
    departure_wait_ns: Vec<i64>,
    /// Leave minus last enter, by position in the order of departure.
    after_last_ns: Vec<i64>,
}

impl MemberColumns {
    pub(crate) fn add(&mut self, calls: &CallColumns<'_>) {
        fn add_column(sums: &mut Vec<i64>, n: &mut u64, values: &[i64]) {
            if values.is_empty() {
                return;
            }
            *n += 1;
            sums.resize(values.len(), 0);
            for (sum, value) in sums.iter_mut().zip(values) {
                // Times are short here; a sum beyond its integer would take a damaged trace of
                // many gigabytes.
                *sum = sum.wrapping_add(*value);
            }
        }
        add_column(&mut self.call_ns, &mut self.n, calls.times);
        add_column(&mut self.wait_ns, &mut self.n_waits, calls.waits);
        let departures = calls.departure_waits;
        add_column(
            &mut self.departure_wait_ns,
            &mut self.n_departure_waits,
            departures,
        );
        let in_order = calls.departures_after_last;
        add_column(&mut self.after_last_ns, &mut self.n_in_order, in_order);
    }

    /// Adds what there is to the lines of the processes, and to the serialization.
    pub(crate) fn flush(self, members: &mut [MemberTally], serialization: &mut Serialization) {
        serialization.add_all(self.n_in_order, &self.after_last_ns);
        for (position, line) in members.iter_mut().enumerate() {
            let of = |sums: &[i64]| sums.get(position).copied().unwrap_or(0);
            line.n_calls += self.n;
            add_ns(&mut line.call_ns, of(&self.call_ns));
            line.n_waits += self.n_waits;
            add_ns(&mut line.wait_ns, of(&self.wait_ns));
            line.n_departure_waits += self.n_departure_waits;
            add_ns(&mut line.departure_wait_ns, of(&self.departure_wait_ns));
        }
    }
}
