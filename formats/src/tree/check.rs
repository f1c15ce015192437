//! Whether wrappers are one whole tree.

use super::wrapper::{Contributor, Wrapper, WrapperKind, owner_of};

/// Why wrappers are not a spanning tree of a communicator. Wrappers are named by their index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// There are no ranks, or no wrappers.
    #[error("a tree without ranks or without wrappers")]
    Empty,
    /// A rank is not one of the communicator.
    #[error("wrapper {wrapper} names rank {rank} of {n_ranks}")]
    Rank {
        /// Which wrapper.
        wrapper: u32,
        /// The rank.
        rank: u32,
        /// Ranks of the communicator.
        n_ranks: u32,
    },
    /// A rank or a wrapper contributes twice.
    #[error("wrapper {wrapper} joins {contributor:?}, which contributes already")]
    Twice {
        /// The second wrapper that it contributes to.
        wrapper: u32,
        /// What contributes twice.
        contributor: Contributor,
    },
    /// A rank or a wrapper does not contribute to any wrapper.
    #[error("{contributor:?} contributes to no wrapper")]
    Missing {
        /// What does not contribute.
        contributor: Contributor,
    },
    /// A contributor does not come before its wrapper, so that there may be a cycle.
    #[error("wrapper {wrapper} joins wrapper {contributor}, which does not come before it")]
    Order {
        /// Which wrapper.
        wrapper: u32,
        /// The contributor.
        contributor: u32,
    },
    /// The parent of a wrapper is not the one it contributes to.
    #[error("wrapper {wrapper} contributes to {found:?} and names {parent:?} as its parent")]
    Parent {
        /// Which wrapper.
        wrapper: u32,
        /// The parent that it names.
        parent: Option<u32>,
        /// The wrapper that it contributes to.
        found: Option<u32>,
    },
    /// The number of contributors is not one that the kind can have.
    #[error("wrapper {wrapper} is a {} with {n} contributors", kind.name())]
    Contributors {
        /// Which wrapper.
        wrapper: u32,
        /// Its kind.
        kind: WrapperKind,
        /// Number of its contributors.
        n: usize,
    },
    /// The bottommost wrapper is no core and no exchange, or another one is.
    #[error("wrapper {wrapper} is a {} {}", kind.name(),
        if *is_last { "at the bottom" } else { "that is not at the bottom" })]
    Bottommost {
        /// Which wrapper.
        wrapper: u32,
        /// Its kind.
        kind: WrapperKind,
        /// Whether it is the last.
        is_last: bool,
    },
    /// A proxy or an exchange has an owner that is not the one of its (first) contributor.
    #[error("wrapper {wrapper} belongs to rank {owner}, its contributor to rank {expected}")]
    Owner {
        /// Which wrapper.
        wrapper: u32,
        /// Its owner.
        owner: u32,
        /// The owner of its (first) contributor.
        expected: u32,
    },
    /// Two partners of an exchange belong to one rank.
    #[error("two partners of exchange {wrapper} belong to rank {owner}")]
    Partners {
        /// Which wrapper.
        wrapper: u32,
        /// The rank.
        owner: u32,
    },
    /// A path crosses hosts without a proxy, or has a proxy where it does not.
    #[error("{contributor:?} {} to wrapper {wrapper}",
        if *is_proxy { "crosses no hosts as a proxy" } else { "crosses hosts without a proxy" })]
    Crossing {
        /// The wrapper that is contributed to.
        wrapper: u32,
        /// The contributor.
        contributor: Contributor,
        /// Whether the contributor is a proxy.
        is_proxy: bool,
    },
}

/// Checks that these wrappers are one whole tree of as many ranks as there are `hosts`, in time and
/// memory proportional to both.
pub(super) fn check(hosts: &[u32], wrappers: &[Wrapper]) -> Result<(), TreeError> {
    let (Ok(n_ranks), Ok(n_wrappers)) = (u32::try_from(hosts.len()), u32::try_from(wrappers.len()))
    else {
        return Err(TreeError::Empty);
    };
    if n_ranks == 0 || n_wrappers == 0 {
        return Err(TreeError::Empty);
    }
    let mut parents = Parents {
        of_ranks: vec![None; hosts.len()],
        of_wrappers: vec![None; wrappers.len()],
    };
    for (idx, wrapper) in (0..).zip(wrappers) {
        let is_rank = |rank: u32| {
            let error = TreeError::Rank {
                wrapper: idx,
                rank,
                n_ranks,
            };
            if rank < n_ranks { Ok(()) } else { Err(error) }
        };
        is_rank(wrapper.owner)?;
        for &contributor in &wrapper.contributors {
            match contributor {
                Contributor::Rank(rank) => is_rank(rank)?,
                Contributor::Wrapper(below) if below >= idx => {
                    return Err(TreeError::Order {
                        wrapper: idx,
                        contributor: below,
                    });
                }
                Contributor::Wrapper(_) => {}
            }
            parents.set(contributor, idx)?;
        }
        check_kind(idx, wrapper, idx + 1 == n_wrappers)?;
        check_owners(idx, wrapper, wrappers)?;
        check_crossings(idx, wrapper, wrappers, hosts)?;
    }
    parents.check(wrappers)
}

/// The wrapper that each rank and each wrapper contributes to.
struct Parents {
    of_ranks: Vec<Option<u32>>,
    of_wrappers: Vec<Option<u32>>,
}

impl Parents {
    fn set(&mut self, contributor: Contributor, wrapper: u32) -> Result<(), TreeError> {
        let parent = match contributor {
            Contributor::Rank(rank) => &mut self.of_ranks[rank as usize],
            Contributor::Wrapper(below) => &mut self.of_wrappers[below as usize],
        };
        if parent.replace(wrapper).is_some() {
            return Err(TreeError::Twice {
                wrapper,
                contributor,
            });
        }
        Ok(())
    }

    fn check(&self, wrappers: &[Wrapper]) -> Result<(), TreeError> {
        if let Some((rank, _)) = (0..).zip(&self.of_ranks).find(|(_, to)| to.is_none()) {
            let contributor = Contributor::Rank(rank);
            return Err(TreeError::Missing { contributor });
        }
        for (idx, (wrapper, &found)) in (0..).zip(wrappers.iter().zip(&self.of_wrappers)) {
            let is_last = idx + 1 == wrappers.len() as u32;
            if found.is_none() && !is_last {
                let contributor = Contributor::Wrapper(idx);
                return Err(TreeError::Missing { contributor });
            }
            if wrapper.parent != found {
                return Err(TreeError::Parent {
                    wrapper: idx,
                    parent: wrapper.parent,
                    found,
                });
            }
        }
        Ok(())
    }
}

fn check_kind(idx: u32, wrapper: &Wrapper, is_last: bool) -> Result<(), TreeError> {
    let kind = wrapper.kind;
    let n = wrapper.contributors.len();
    let joins = matches!(kind, WrapperKind::Gred | WrapperKind::Exchange);
    if (joins && n < 2) || (!joins && n != 1) {
        return Err(TreeError::Contributors {
            wrapper: idx,
            kind,
            n,
        });
    }
    if is_last != matches!(kind, WrapperKind::Core | WrapperKind::Exchange) {
        return Err(TreeError::Bottommost {
            wrapper: idx,
            kind,
            is_last,
        });
    }
    Ok(())
}

/// A proxy and an exchange belong to the owner of their first contributor, and the partners of an
/// exchange to different ranks.
fn check_owners(idx: u32, wrapper: &Wrapper, wrappers: &[Wrapper]) -> Result<(), TreeError> {
    if !matches!(wrapper.kind, WrapperKind::Proxy | WrapperKind::Exchange) {
        return Ok(());
    }
    let of_contributors = wrapper.contributors.iter();
    let mut owners: Vec<u32> = of_contributors.map(|&of| owner_of(wrappers, of)).collect();
    let expected = owners[0];
    if wrapper.owner != expected {
        return Err(TreeError::Owner {
            wrapper: idx,
            owner: wrapper.owner,
            expected,
        });
    }
    owners.sort_unstable();
    match owners.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(TreeError::Partners {
            wrapper: idx,
            owner: pair[0],
        }),
        None => Ok(()),
    }
}

/// What comes to a gred or a core from another host, and nothing else, is a proxy.
fn check_crossings(
    idx: u32,
    wrapper: &Wrapper,
    wrappers: &[Wrapper],
    hosts: &[u32],
) -> Result<(), TreeError> {
    let host = hosts[wrapper.owner as usize];
    for &contributor in &wrapper.contributors {
        let is_proxy = match contributor {
            Contributor::Rank(_) => false,
            Contributor::Wrapper(below) => wrappers[below as usize].kind == WrapperKind::Proxy,
        };
        let crosses = match wrapper.kind {
            WrapperKind::Gred | WrapperKind::Core => {
                hosts[owner_of(wrappers, contributor) as usize] != host
            }
            WrapperKind::Proxy | WrapperKind::Exchange => false,
        };
        if is_proxy != crosses {
            return Err(TreeError::Crossing {
                wrapper: idx,
                contributor,
                is_proxy,
            });
        }
    }
    Ok(())
}
