//! Random operations, and what they are by definition.

use collbench_formats::tree::{Collective, Wrappers};
use collbench_paths::{Buffers, Combine, Error, Team, Transport};

use crate::random::Random;
use crate::reference::{Op, allreduce, reduce};

/// One operation with its arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) collective: Collective,
    pub(crate) op: Op,
    pub(crate) root: u32,
    /// Elements of each rank.
    pub(crate) count: usize,
    pub(crate) is_in_place: bool,
    /// What the data are made of.
    pub(crate) salt: u64,
}

impl Call {
    pub(crate) fn random(random: &mut Random, n_ranks: usize) -> Self {
        let count = match random.below(4) {
            0 => random.below(3),
            1 => random.below(20),
            _ => random.below(200),
        };
        Self {
            collective: Collective::ALL[random.below(Collective::ALL.len())],
            op: Op::ALL[random.below(Op::ALL.len())],
            root: random.below(n_ranks) as u32,
            count,
            is_in_place: random.one_in(3),
            salt: random.next(),
        }
    }

    /// What a rank gives.
    pub(crate) fn value(&self, rank: u32) -> Vec<u8> {
        let mut random = Random::new(self.salt ^ u64::from(rank) << 32);
        let n_words = self.count * self.op.element_bytes() / 8;
        let words = (0..n_words).map(|_| match self.op {
            // Of different magnitude, so that the order of sums shows.
            Op::Floats => {
                let power = f64::from_bits((1023 - 30 + random.below(60) as u64) << 52);
                let fraction = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
                ((fraction - 0.5) * power).to_bits()
            }
            Op::Sum | Op::Matrices => random.next(),
        });
        words.flat_map(u64::to_ne_bytes).collect()
    }

    fn values(&self, n_ranks: u32) -> Vec<Vec<u8>> {
        (0..n_ranks).map(|rank| self.value(rank)).collect()
    }

    /// What a rank gets by definition; `None` if nothing is stored there.
    pub(crate) fn expected(&self, tree: &Wrappers, me: u32) -> Option<Vec<u8>> {
        let n_ranks = tree.n_ranks();
        let is_root = me == self.root;
        match self.collective {
            Collective::Barrier => None,
            Collective::Allreduce => Some(allreduce(tree, self.op, &self.values(n_ranks))),
            Collective::Reduce => is_root.then(|| reduce(tree, self.op, &self.values(n_ranks), me)),
            Collective::Bcast => Some(self.value(self.root)),
            Collective::Allgather => Some(self.values(n_ranks).concat()),
            Collective::Gather => is_root.then(|| self.values(n_ranks).concat()),
            Collective::Scatter => Some(self.value(me)),
        }
    }

    /// What a rank gets from the engine.
    pub(crate) fn got<T: Transport>(&self, team: &mut Team<T>, n_ranks: u32, me: u32) -> Vec<u8> {
        let own = self.value(me);
        let mut result = vec![0xcc; own.len()];
        let mut all = vec![0xcc; own.len() * n_ranks as usize];
        let mut op = self.op;
        let is_root = me == self.root;
        match self.collective {
            Collective::Barrier => team.barrier().unwrap(),
            Collective::Allreduce | Collective::Reduce if self.is_in_place => {
                result.clone_from(&own);
                let buffers = Buffers::InPlace(&mut result);
                match self.collective {
                    Collective::Allreduce => team.allreduce(buffers, &mut op).unwrap(),
                    _ => team.reduce(buffers, &mut op, self.root).unwrap(),
                }
                if self.collective == Collective::Reduce && !is_root {
                    assert_eq!(result, own, "nothing is stored but at the root");
                }
            }
            Collective::Allreduce => {
                let buffers = Buffers::Two(&own, &mut result);
                team.allreduce(buffers, &mut op).unwrap();
            }
            Collective::Reduce => {
                let buffers = Buffers::Two(&own, &mut result);
                team.reduce(buffers, &mut op, self.root).unwrap();
                if !is_root {
                    assert!(result.iter().all(|&byte| byte == 0xcc), "nothing is stored");
                }
            }
            Collective::Bcast => {
                if is_root {
                    result.clone_from(&own);
                }
                team.bcast(&mut result, self.root).unwrap();
            }
            Collective::Allgather | Collective::Gather => {
                let is_in_place =
                    self.is_in_place && (is_root || self.collective == Collective::Allgather);
                let given = if is_in_place {
                    all[me as usize * own.len()..][..own.len()].copy_from_slice(&own);
                    None
                } else {
                    Some(&own[..])
                };
                if self.collective == Collective::Allgather {
                    team.allgather(given, &mut all).unwrap();
                } else if is_root {
                    team.gather(given, &mut all, self.root).unwrap();
                } else {
                    team.gather(given, &mut [], self.root).unwrap();
                }
                return all;
            }
            Collective::Scatter => {
                let given = if is_root {
                    self.values(n_ranks).concat()
                } else {
                    Vec::new()
                };
                if is_root && self.is_in_place {
                    team.scatter(&given, None, self.root).unwrap();
                    return own;
                }
                team.scatter(&given, Some(&mut result), self.root).unwrap();
            }
        }
        result
    }
}

/// An operation of two ranks in which rank 0 waits for rank 1.
pub(crate) fn rank_0_waits<T: Transport>(
    team: &mut Team<T>,
    collective: Collective,
    me: u32,
) -> Result<(), Error> {
    let mut values = [1; 16];
    let mut all = [0; 32];
    match collective {
        Collective::Allreduce => team.allreduce(Buffers::InPlace(&mut values), &mut Op::Sum),
        Collective::Reduce => team.reduce(Buffers::InPlace(&mut values), &mut Op::Sum, 0),
        Collective::Bcast => team.bcast(&mut values, 1),
        Collective::Barrier => team.barrier(),
        Collective::Gather if me == 0 => team.gather(Some(&values), &mut all, 0),
        Collective::Gather => team.gather(Some(&values), &mut [], 0),
        Collective::Scatter => team.scatter(&all, Some(&mut values), 1),
        Collective::Allgather => team.allgather(Some(&values), &mut all),
    }
}
