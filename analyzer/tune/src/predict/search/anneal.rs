//! Simulated annealing over trees of hosts.

use std::time::Instant;

use collbench_stats::random::Random;

use super::bits::Results;
use super::moves::{Freedom, change};
use super::objective::{FEW, Instances, Objective, Trial};
use super::tree::HostTree;

/// The temperature at the begin, by the cost, and by what it is multiplied at each step.
///
/// # Source
/// Kirkpatrick, Gelatt, Vecchi 1983.
const HOT: f64 = 0.01;
const COOLING: f64 = 0.998;
/// Random changes of which one is possible.
const TRIES: u32 = 100;

/// How far to go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Trees that are evaluated.
    pub(super) evaluations: u32,
    /// When to end, however many were.
    pub(super) deadline: Option<Instant>,
    /// Which results trees may give.
    pub(super) results: Results,
}

impl Limits {
    /// Whether the time is over.
    pub(super) fn is_over(&self) -> bool {
        self.deadline.is_some_and(|at| Instant::now() >= at)
    }
}

/// What was found.
#[derive(Debug)]
pub(super) struct Annealed {
    /// The best tree.
    pub(super) best: HostTree,
    /// How many were evaluated.
    pub(super) n_evaluated: u32,
    /// How many of them have messages of which too little is known.
    pub(super) n_unknown: u32,
    /// Whether the time was over before the end.
    pub(super) is_cut_off: bool,
}

/// Changes a tree step by step, towards less cost.
pub(super) fn anneal(
    objective: &Objective<'_, '_>,
    (begin, cost_ns): (&HostTree, f64),
    freedom: Freedom,
    limits: Limits,
    random: &mut Random,
) -> Annealed {
    let mut current = (begin.clone(), cost_ns);
    let mut best = current.clone();
    let mut temperature_ns = HOT * cost_ns;
    let mut annealed = Annealed {
        best: begin.clone(),
        n_evaluated: 0,
        n_unknown: 0,
        is_cut_off: false,
    };
    while annealed.n_evaluated < limits.evaluations {
        if limits.is_over() {
            annealed.is_cut_off = true;
            break;
        }
        let mut next = current.0.clone();
        if !(0..TRIES).any(|_| change(&mut next, freedom, random)) {
            break;
        }
        annealed.n_evaluated += 1;
        temperature_ns *= COOLING;
        let trial = Trial::Tree(next.form());
        if !objective.is_allowed(&trial, limits.results) {
            continue;
        }
        let Some(next_ns) = objective.cost_ns(&trial, Instances::Choosing(FEW)) else {
            annealed.n_unknown += 1;
            continue;
        };
        let worse_ns = next_ns - current.1;
        if worse_ns <= 0.0 || random.unit() < (-worse_ns / temperature_ns).exp() {
            current = (next, next_ns);
            if current.1 < best.1 {
                best.clone_from(&current);
            }
        }
    }
    annealed.best = best.0;
    annealed
}
