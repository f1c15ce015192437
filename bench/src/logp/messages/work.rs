//! A piece of work for all processes: who sends requests to whom, how many, and what is timed.

/// Who sends requests to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::logp) enum Pattern {
    /// One process to one other.
    Pair(usize, usize),
    /// Each process of the first half of 2 n to one of the second half.
    Halves(usize),
    /// Process 0 to these in turn; it is none of them.
    OneToMany(Ranks),
    /// These to process 0; it is none of them.
    ManyToOne(Ranks),
}

/// Ranks at equal distances, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::logp) struct Ranks {
    first: usize,
    n: usize,
    /// Distance of one to the next, > 0.
    step: usize,
}

impl Ranks {
    /// All ranks of `begin..begin + n`, where `n` is > 0.
    #[cfg(test)]
    pub(in crate::logp) fn beside_one_another(begin: usize, n: usize) -> Self {
        Self {
            first: begin,
            n,
            step: 1,
        }
    }

    /// As many as possible of these ranks, which are ascending; of equally many the first ones with
    /// the least distance. `None` for no ranks.
    pub(in crate::logp) fn most_of(ranks: &[usize]) -> Option<Self> {
        let last = *ranks.last()?;
        let mut most: Option<Self> = None;
        for step in 1..=(last - ranks[0]).max(1) {
            for &first in ranks {
                let is_there = |rank: &usize| ranks.binary_search(rank).is_ok();
                let n = (first..=last).step_by(step).take_while(is_there).count();
                if most.is_none_or(|most| most.n < n) {
                    most = Some(Self { first, n, step });
                }
            }
        }
        most
    }

    /// The first of them.
    pub(in crate::logp) fn first(self) -> usize {
        self.first
    }

    /// How many there are.
    pub(in crate::logp) fn count(self) -> usize {
        self.n
    }

    /// The first `n` of them, where there are as many.
    pub(in crate::logp) fn begin(self, n: usize) -> Self {
        Self {
            n: n.min(self.n),
            ..self
        }
    }

    fn all(self) -> Vec<usize> {
        (0..self.n).map(|i| self.first + i * self.step).collect()
    }
}

impl Pattern {
    /// The processes that `own` sends requests to, in turn; empty if it sends none.
    pub(in crate::logp) fn targets(self, own: usize) -> Vec<usize> {
        match self {
            Self::Pair(from, to) if own == from => vec![to],
            Self::Halves(n) if own < n => vec![own + n],
            Self::OneToMany(ranks) if own == 0 => ranks.all(),
            Self::ManyToOne(ranks) if ranks.all().contains(&own) => vec![0],
            _ => Vec::new(),
        }
    }

    /// The processes that send requests, ascending.
    pub(in crate::logp) fn requesters(self) -> Vec<usize> {
        match self {
            Self::Pair(from, _) => vec![from],
            Self::Halves(n) => (0..n).collect(),
            Self::OneToMany(_) => vec![0],
            Self::ManyToOne(ranks) => ranks.all(),
        }
    }

    /// How many of `n` requests of each requester go to `own`.
    fn requests_to(self, own: usize, n: usize) -> usize {
        let of = |requester: usize| {
            let targets = self.targets(requester);
            let place = targets.iter().position(|target| *target == own);
            // The first of the targets get one more if n is no multiple of their number.
            place.map_or(0, |place| (n + targets.len() - 1 - place) / targets.len())
        };
        self.requesters().into_iter().map(of).sum()
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::logp) enum Transfer {
    /// A handler call, with four words.
    Small,
    /// To copy so many bytes to the receiver, then call a handler.
    Store(usize),
    /// To copy so many bytes from the receiver.
    Get(usize),
}

impl Transfer {
    /// Bytes of bulk data.
    pub(in crate::logp) fn bytes(self) -> usize {
        match self {
            Self::Small => 0,
            Self::Store(bytes) | Self::Get(bytes) => bytes,
        }
    }
}

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::logp) enum Timed {
    /// The issue of `m` requests with a computation of `delay_ns` after each.
    Issue { m: usize, delay_ns: f64 },
    /// One request until its reply has been handled.
    RoundTrip,
    /// `m` messages with `delay_ns` between them, until the reply to the last has been handled.
    ///
    /// # Source
    /// PRTT(n, d, s) of Hoefler, Lichei, Rehm, "Low-overhead LogGP parameter assessment for modern
    /// interconnection networks", 2007.
    Prtt { m: usize, delay_ns: f64 },
    /// Handling of a reply that arrived during a computation of `delay_ns`.
    Receipt { delay_ns: f64 },
    /// `m` computations of `delay_ns`, without messages.
    Computation { m: usize, delay_ns: f64 },
}

impl Timed {
    /// Requests in one repetition.
    pub(in crate::logp) fn requests(self) -> usize {
        match self {
            Self::Issue { m, .. } | Self::Prtt { m, .. } => m,
            Self::RoundTrip | Self::Receipt { .. } => 1,
            Self::Computation { .. } => 0,
        }
    }
}

/// Repetitions of one measurement, in all processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::logp) struct Work {
    pub(in crate::logp) pattern: Pattern,
    pub(in crate::logp) transfer: Transfer,
    pub(in crate::logp) timed: Timed,
    /// Requests of a process without a reply at once, at most.
    pub(in crate::logp) window: usize,
    pub(in crate::logp) repetitions: usize,
    /// Whether a first repetition, which sets up connections and fills caches, is made and not
    /// counted.
    pub(in crate::logp) warms_up: bool,
}

/// Numbers by which processes are told what to do.
pub(in crate::logp) const ENCODED: usize = 9;

impl Work {
    /// Repetitions that are made.
    pub(in crate::logp) fn made(&self) -> usize {
        self.repetitions + usize::from(self.warms_up)
    }

    /// The requests that process `own` has to handle.
    pub(in crate::logp) fn requests_to(&self, own: usize) -> u64 {
        let of_each = self.made() * self.timed.requests();
        self.pattern.requests_to(own, of_each) as u64
    }

    /// As numbers; the first is never 0.
    pub(in crate::logp) fn encode(&self) -> [u64; ENCODED] {
        let (pattern, a, b) = match self.pattern {
            Pattern::Pair(from, to) => (1, from, to),
            Pattern::Halves(n) => (2, n, 0),
            Pattern::OneToMany(ranks) => (3 | ranks.step << 8, ranks.first, ranks.n),
            Pattern::ManyToOne(ranks) => (4 | ranks.step << 8, ranks.first, ranks.n),
        };
        let transfer = match self.transfer {
            Transfer::Small => 0,
            Transfer::Store(_) => 1,
            Transfer::Get(_) => 2,
        };
        let (timed, delay_ns) = match self.timed {
            Timed::Issue { delay_ns, .. } => (0, delay_ns),
            Timed::RoundTrip => (1, 0.0),
            Timed::Prtt { delay_ns, .. } => (2, delay_ns),
            Timed::Receipt { delay_ns } => (3, delay_ns),
            Timed::Computation { delay_ns, .. } => (4, delay_ns),
        };
        let m = match self.timed {
            Timed::Computation { m, .. } => m,
            other => other.requests(),
        };
        [
            pattern as u64,
            a as u64,
            b as u64,
            transfer | timed << 8,
            self.transfer.bytes() as u64,
            m as u64,
            delay_ns.to_bits(),
            self.window as u64,
            (self.repetitions as u64) << 1 | u64::from(self.warms_up),
        ]
    }

    /// The work with these numbers; `None` if there is none.
    pub(in crate::logp) fn decode(numbers: &[u64; ENCODED]) -> Option<Self> {
        let [pattern, a, b, kinds, bytes, m, delay, window, repetitions] = *numbers;
        let (a, b, bytes, m) = (a as usize, b as usize, bytes as usize, m as usize);
        let delay_ns = f64::from_bits(delay);
        let ranks = Ranks {
            first: a,
            n: b,
            step: (pattern >> 8) as usize,
        };
        Some(Self {
            pattern: match pattern & 0xff {
                1 => Pattern::Pair(a, b),
                2 => Pattern::Halves(a),
                3 => Pattern::OneToMany(ranks),
                4 => Pattern::ManyToOne(ranks),
                _ => return None,
            },
            transfer: match kinds & 0xff {
                0 => Transfer::Small,
                1 => Transfer::Store(bytes),
                2 => Transfer::Get(bytes),
                _ => return None,
            },
            timed: match kinds >> 8 {
                0 => Timed::Issue { m, delay_ns },
                1 => Timed::RoundTrip,
                2 => Timed::Prtt { m, delay_ns },
                3 => Timed::Receipt { delay_ns },
                4 => Timed::Computation { m, delay_ns },
                _ => return None,
            },
            window: window as usize,
            repetitions: (repetitions >> 1) as usize,
            warms_up: repetitions & 1 == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2, 4 and 6.
    fn apart() -> Ranks {
        Ranks {
            first: 2,
            n: 3,
            step: 2,
        }
    }

    #[test]
    fn ranks_at_equal_distances_are_found_among_others() {
        let found = |ranks: &[usize]| Ranks::most_of(ranks).map(Ranks::all);
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[5]), Some(vec![5]));
        assert_eq!(found(&[1, 2, 3]), Some(vec![1, 2, 3]));
        assert_eq!(found(&[1, 3, 5, 7]), Some(vec![1, 3, 5, 7]));
        // Three hosts in turn, without those of the host of process 0.
        assert_eq!(found(&[1, 2, 4, 5, 7, 8]), Some(vec![1, 4, 7]));
        assert_eq!(found(&[2, 3, 9]), Some(vec![2, 3]));
        assert_eq!(apart().begin(2).all(), [2, 4]);
    }

    #[test]
    fn each_process_expects_the_requests_that_are_sent_to_it() {
        for (pattern, n_processes) in [
            (Pattern::Pair(2, 0), 4),
            (Pattern::Halves(3), 7),
            (Pattern::OneToMany(Ranks::beside_one_another(1, 3)), 4),
            (Pattern::ManyToOne(Ranks::beside_one_another(1, 5)), 6),
            (Pattern::ManyToOne(apart()), 8),
            (Pattern::OneToMany(apart()), 7),
        ] {
            for n in [1, 2, 3, 50, 256] {
                let mut sent = vec![0; n_processes];
                for requester in 0..n_processes {
                    let targets = pattern.targets(requester);
                    assert_eq!(
                        targets.is_empty(),
                        !pattern.requesters().contains(&requester)
                    );
                    for i in (0..n).filter(|_| !targets.is_empty()) {
                        sent[targets[i % targets.len()]] += 1;
                    }
                }
                let expected: Vec<usize> = (0..n_processes)
                    .map(|own| pattern.requests_to(own, n))
                    .collect();
                assert_eq!(sent, expected, "{pattern:?} {n}");
            }
        }
    }

    #[test]
    fn work_is_read_as_it_was_written() {
        let patterns = [
            Pattern::Pair(3, 1),
            Pattern::Halves(2),
            Pattern::OneToMany(Ranks::beside_one_another(1, 3)),
            Pattern::ManyToOne(apart()),
        ];
        let transfers = [Transfer::Small, Transfer::Store(9), Transfer::Get(65_536)];
        let (m, delay_ns) = (17, 1_234.5);
        let all_timed = [
            Timed::Issue { m, delay_ns },
            Timed::RoundTrip,
            Timed::Prtt { m, delay_ns },
            Timed::Receipt { delay_ns },
            Timed::Computation { m, delay_ns },
        ];
        for pattern in patterns {
            for transfer in transfers {
                for timed in all_timed {
                    for warms_up in [true, false] {
                        let work = Work {
                            pattern,
                            transfer,
                            timed,
                            window: 64,
                            repetitions: 50,
                            warms_up,
                        };
                        assert_eq!(Work::decode(&work.encode()), Some(work));
                    }
                }
            }
        }
        assert_eq!(Work::decode(&[0; ENCODED]), None);
    }
}
