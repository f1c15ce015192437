//! Additional times that ranks take in some instances.

use collbench_formats::Activity;

/// An additional time that a rank takes.
#[derive(Debug, Clone)]
pub(crate) struct Delay {
    /// Number of the delay in the file, from 0; identifies its random numbers.
    pub(crate) id: u64,
    pub(crate) amount: Amount,
    /// By world rank; `None`: all.
    pub(crate) ranks: Option<Vec<bool>>,
    /// Share of the instances with this delay; drawn once for all ranks.
    pub(crate) share: f64,
    /// Only one rank at a time, the next one after this number of instances.
    pub(crate) moves_every: Option<u64>,
    /// The ranks over which it moves; empty if it does not move.
    pub(crate) moves_over: Vec<u32>,
    /// In which calls the time is spent; `None`: in the rank's own work.
    pub(crate) spent_in: Option<SpentIn>,
}

/// Calls without records of their own, in which a rank spends time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpentIn {
    pub(crate) activity: Activity,
    /// World rank of the other end, if it is known.
    pub(crate) partner: Option<u32>,
    /// How many calls there are, all equally long.
    pub(crate) n_calls: u16,
}

#[derive(Debug, Clone)]
pub(crate) enum Amount {
    Constant(u64),
    Uniform(u64, u64),
    Exponential(u64),
    Normal(u64, u64),
    /// By world rank.
    Each(Vec<u64>),
    /// Another process takes the processor for `length_ns` every `period_ns`.
    Noise {
        period_ns: u64,
        length_ns: u64,
    },
}
