//! The serialization curve: what each further rank pays for leaving after others.
//!
//! x is the position in the order of departure, y the time until the rank at that position has
//! left. The height of the curve's start is the latency that the operation introduces for anyone,
//! its slope is the serialization: flatter is better. A straight line stands beside the curve
//! where one describes it.

mod draw;

use crate::Text;
use crate::timemap::{Heading, StageTime};

/// The mean time at one position in the order of departure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Position among those that leave, the first is 0.
    pub position: u32,
    /// Up latency and departure wait of who leaves at this position.
    pub time: StageTime,
}

/// A straight line `at_first_ns + per_rank_ns * position`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StraightLine {
    at_first_ns: f64,
    per_rank_ns: f64,
}

impl StraightLine {
    /// A line through (0, `at_first_ns`) that rises by `per_rank_ns` a position; `None` unless both
    /// are numbers of this world: finite, below 1e18.
    pub fn new(at_first_ns: f64, per_rank_ns: f64) -> Option<StraightLine> {
        let is_sane = |v: f64| v.abs() < 1e18;
        (is_sane(at_first_ns) && is_sane(per_rank_ns)).then_some(StraightLine {
            at_first_ns,
            per_rank_ns,
        })
    }

    fn at(self, position: f64) -> f64 {
        self.at_first_ns + self.per_rank_ns * position
    }
}

/// The serialization curves of one operation: one, or one for each of several configurations.
///
/// # Source
/// Bongo et al. 2004, section 4 and figure 3b. We add the straight line.
#[derive(Debug, Clone)]
pub struct Serialization {
    heading: Heading,
    n_ranks: u32,
    /// Whether the positions are those in which nodes serve, not those in which ranks leave.
    is_of_nodes: bool,
    curves: Vec<Curve>,
}

#[derive(Debug, Clone)]
struct Curve {
    name: Text,
    /// By position, each position once.
    departures: Vec<Departure>,
    line: Option<StraightLine>,
}

impl Serialization {
    /// Curves of an operation of `n_ranks` ranks (of the largest, if they differ), none yet.
    pub fn new(heading: Heading, n_ranks: u32) -> Serialization {
        Serialization {
            heading,
            n_ranks,
            is_of_nodes: false,
            curves: Vec::new(),
        }
    }

    /// The curves are of nodes of a tree, each of which serves so many, not of all ranks.
    #[must_use]
    pub fn of_nodes(self) -> Serialization {
        Serialization {
            is_of_nodes: true,
            ..self
        }
    }

    /// Adds a curve. Positions may be left out: where ranks are many, a position can stand for
    /// those around it. Of several departures at one position the first counts; positions from
    /// the number of ranks on are none.
    pub fn push(
        &mut self,
        name: Text,
        departures: impl IntoIterator<Item = Departure>,
        line: Option<StraightLine>,
    ) {
        let mut departures: Vec<Departure> = departures
            .into_iter()
            .filter(|departure| departure.position < self.n_ranks)
            .collect();
        departures.sort_by_key(|departure| departure.position);
        departures.dedup_by_key(|departure| departure.position);
        self.curves.push(Curve {
            name,
            departures,
            line,
        });
    }
}
