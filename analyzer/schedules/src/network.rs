//! What messages cost: LogGP parameters of classes of links.

/// Parameters of a class of links, ns.
///
/// # Source
/// Alexandrov, Ionescu, Schauser, Scheiman 1995 (LogGP); Hoefler, Schneider, Lumsdaine 2010
/// (LogGOPSim), for the gap at the receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// o_s: processor time to send a message.
    pub send_overhead_ns: f64,
    /// o_r: processor time to receive one.
    pub receive_overhead_ns: f64,
    /// L: time between the processes during which both processors are free.
    pub latency_ns: f64,
    /// g: least time between two messages that a process sends.
    pub gap_ns: f64,
    /// G: what a byte adds to that.
    pub gap_per_byte_ns: f64,
    /// Least time between two messages that a process receives, and what a byte adds.
    pub receive_gap_ns: f64,
    /// What a byte adds to that.
    pub receive_gap_per_byte_ns: f64,
    /// Messages that are longer are sent when the receiver is ready.
    pub eager_bytes: u64,
}

impl Link {
    /// How long all bytes but the first take on the link.
    fn rest_ns(per_byte_ns: f64, bytes: u64) -> f64 {
        bytes.saturating_sub(1) as f64 * per_byte_ns
    }

    /// How long a message occupies the sender's side of the network.
    pub(crate) fn sends_for_ns(&self, bytes: u64) -> f64 {
        self.gap_ns + Self::rest_ns(self.gap_per_byte_ns, bytes)
    }

    /// How long a message occupies the receiver's side of the network.
    pub(crate) fn receives_for_ns(&self, bytes: u64) -> f64 {
        self.receive_gap_ns + Self::rest_ns(self.receive_gap_per_byte_ns, bytes)
    }

    /// From the first byte of a message to the last one.
    pub(crate) fn lasts_ns(&self, bytes: u64) -> f64 {
        Self::rest_ns(self.gap_per_byte_ns, bytes)
    }
}

/// A part of the network that several links use, in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    /// What a byte adds to the time for which a message occupies it, ns.
    pub gap_per_byte_ns: f64,
}

/// The way from one process to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Way {
    /// Index of its class.
    pub class: usize,
    /// Index of the part that it shares with others.
    pub shared: Option<usize>,
}

/// The network between the processes of a collective.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    n_processes: usize,
    /// Classes of links.
    pub classes: Vec<Link>,
    /// Parts that several links use.
    pub shared: Vec<Shared>,
    /// By sender, then by receiver.
    ways: Vec<Way>,
    /// How long it takes to combine a byte, ns.
    pub combine_ns_per_byte: f64,
}

impl Network {
    /// Of so many processes, with the way from each to each.
    #[must_use]
    pub fn new(n_processes: usize, classes: Vec<Link>, way: impl Fn(usize, usize) -> Way) -> Self {
        let pairs = (0..n_processes).flat_map(|from| (0..n_processes).map(move |to| (from, to)));
        Self {
            n_processes,
            classes,
            shared: Vec::new(),
            ways: pairs.map(|(from, to)| way(from, to)).collect(),
            combine_ns_per_byte: 0.0,
        }
    }

    /// How many processes there are.
    #[must_use]
    pub fn n_processes(&self) -> usize {
        self.n_processes
    }

    /// The way from one process to another.
    #[must_use]
    pub fn way(&self, from: usize, to: usize) -> Way {
        self.ways[from * self.n_processes + to]
    }
}
