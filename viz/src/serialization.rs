//! The serialization curve: the cost of leaving after others.
//!
//! x is the position in the order of departure, y the time until the rank at that position has
//! left. The start of the curve is the latency of the operation for every rank, and its slope is
//! the serialization: flatter is better. A straight line is drawn beside the curve if it fits.

mod draw;

use crate::Text;
use crate::timemap::{Heading, StageTime};

/// The mean time at one position in the order of departure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Position in the order of departure, from 0.
    pub position: u32,
    /// Up latency plus departure wait of the rank at this position.
    pub time: StageTime,
    /// The rank at this position, if it is always the same.
    pub rank: Option<u32>,
}

/// A straight line `at_first_ns + per_rank_ns * position`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StraightLine {
    at_first_ns: f64,
    per_rank_ns: f64,
}

impl StraightLine {
    /// A line through (0, `at_first_ns`) with a slope of `per_rank_ns` per position; `None` unless
    /// both are finite and below 1e18.
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

/// The serialization curves of one operation, one per configuration.
///
/// # Source
/// Bongo et al. 2004, section 4 and figure 3b. The straight line is an addition.
#[derive(Debug, Clone)]
pub struct Serialization {
    heading: Heading,
    n_ranks: u32,
    of: Positions,
    /// Half the width of the uncertainty of all times, ns.
    clock_error_ns: Option<u64>,
    curves: Vec<Curve>,
}

/// Whose positions are on the x axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Positions {
    /// Of ranks that leave the operation.
    Ranks,
    /// Of the children of nodes.
    Children,
    /// Of ranks that leave the subtree of a host.
    Subtree,
}

#[derive(Debug, Clone)]
struct Curve {
    name: Text,
    /// Ascending by position, each position once.
    departures: Vec<Departure>,
    line: Option<StraightLine>,
}

impl Serialization {
    /// Curves of an operation of `n_ranks` ranks (the largest number, if configurations differ),
    /// none yet.
    pub fn new(heading: Heading, n_ranks: u32) -> Serialization {
        Serialization {
            heading,
            n_ranks,
            of: Positions::Ranks,
            clock_error_ns: None,
            curves: Vec::new(),
        }
    }

    /// Makes these the curves of nodes of a tree, each of which serves at most that many children:
    /// a time is how long a child waits behind its siblings.
    #[must_use]
    pub fn of_nodes(self) -> Serialization {
        Serialization {
            of: Positions::Children,
            ..self
        }
    }

    /// Makes these the curves of one subtree in several trees: a time is from when the result comes to
    /// the subtree until the rank at a position departs from it.
    #[must_use]
    pub fn of_subtree(self) -> Serialization {
        Serialization {
            of: Positions::Subtree,
            ..self
        }
    }

    /// Shows the uncertainty of the clock alignment around each curve, plus and minus, in ns.
    #[must_use]
    pub fn with_clock_error(self, uncertainty_ns: u64) -> Serialization {
        Serialization {
            clock_error_ns: Some(uncertainty_ns),
            ..self
        }
    }

    /// Adds a curve. Positions may be missing: with many ranks, one position can represent those
    /// around it. Of several departures at one position the first one counts; positions from the
    /// number of ranks on are ignored.
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
