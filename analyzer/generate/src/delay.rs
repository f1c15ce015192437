//! Amounts of time that ranks take longer, now and then.

/// An amount of time that a rank takes longer.
#[derive(Debug, Clone)]
pub(crate) struct Delay {
    /// Number of the delay in the file, from 0: the name of its random numbers.
    pub(crate) id: u64,
    pub(crate) amount: Amount,
    /// By world rank; `None`: all.
    pub(crate) ranks: Option<Vec<bool>>,
    /// In which part of the instances; decided once for all ranks.
    pub(crate) share: f64,
    /// Only one of the ranks, the next one after so many instances.
    pub(crate) moves_every: Option<u64>,
    /// The ranks that it moves over; empty if it does not.
    pub(crate) moves_over: Vec<u32>,
}

#[derive(Debug, Clone)]
pub(crate) enum Amount {
    Constant(u64),
    Uniform(u64, u64),
    Exponential(u64),
    Normal(u64, u64),
    /// By world rank.
    Each(Vec<u64>),
    /// Something else takes the processor for `length_ns`, every `period_ns` of time.
    Noise {
        period_ns: u64,
        length_ns: u64,
    },
}
