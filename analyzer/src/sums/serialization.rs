//! The serialization curve: leave minus last enter, by position in the order of departure.

use collbench_stats::integers::add_ns;
use serde::{Deserialize, Serialize};

/// Most processes for which positions are listed one by one; beyond, in steps of the order.
pub(crate) const MAX_STEPS: usize = 256;
/// Steps beyond [`MAX_STEPS`] processes.
const STEPS: usize = 100;

/// One point of the serialization curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SerializationPoint {
    /// Position in the order of departure, 0 first; of a step of the order its first position.
    pub position: usize,
    /// Departures behind it.
    pub n: u64,
    /// Mean of leave minus last enter, ns; below zero it is a clock error.
    pub mean_ns: i64,
}

/// Sums of leave minus last enter by position in the order of departure, of operations in which
/// all wait for all: up latency plus departure wait, as far as it is seen from outside.
///
/// # Source
/// Bongo et al., section 3, figure 3b.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Serialization {
    /// By position: ns, and departures.
    steps: Vec<(i64, u64)>,
}

impl Serialization {
    /// Adds some instances of equally many processes: for each position the sum of leave minus last enter, ns.
    pub fn add_all(&mut self, n_instances: u64, sums: &[i64]) {
        let n = sums.len();
        let n_steps = if n > MAX_STEPS { STEPS } else { n };
        if self.steps.len() < n_steps {
            self.steps.resize(n_steps, (0, 0));
        }
        for (position, &time) in sums.iter().enumerate() {
            let (sum, count) = &mut self.steps[position * n_steps / n];
            add_ns(sum, time);
            *count += n_instances;
        }
    }

    /// Adds what another part of the instances came to.
    pub fn merge(&mut self, other: &Self) {
        if self.steps.len() < other.steps.len() {
            self.steps.resize(other.steps.len(), (0, 0));
        }
        for ((sum, n), (other_sum, other_n)) in self.steps.iter_mut().zip(&other.steps) {
            add_ns(sum, *other_sum);
            *n += other_n;
        }
    }

    /// For each step its sum, ns, and the departures behind it; empty without instances.
    #[must_use]
    pub fn steps(&self) -> &[(i64, u64)] {
        &self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_summed_one_by_one_and_parts_add_up() {
        let mut curve = Serialization::default();
        curve.add_all(1, &[-3, 10, 25]);
        let mut other = Serialization::default();
        other.add_all(1, &[5, 8, 20, 40]);
        curve.merge(&other);
        assert_eq!(curve.steps(), [(2, 2), (18, 2), (45, 2), (40, 1)]);
    }

    #[test]
    fn beyond_256_processes_there_are_a_hundred_steps() {
        let departures: Vec<i64> = (0..1000).collect();
        let mut curve = Serialization::default();
        curve.add_all(1, &departures);
        assert_eq!(curve.steps().len(), 100);
        assert_eq!(curve.steps()[7], ((70..80).sum(), 10));
    }
}
