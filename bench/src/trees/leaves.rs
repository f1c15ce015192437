//! Trees whose leaves are threads.

use collbench_formats::tree::{
    Collectors, Contributor, Level, TreeError, Wrapper, WrapperKind, Wrappers,
};

/// The tree of the threads of all processes, from that of the processes: in the place of each
/// process, a gred joins its threads. Leaf `p * n_threads + t` is thread `t` of process `p`.
///
/// # Errors
/// [`TreeError`] if there are more leaves than can be counted.
pub(super) fn of_threads(tree: &Wrappers, n_threads: u32) -> Result<Wrappers, TreeError> {
    if n_threads == 1 {
        return Ok(tree.clone());
    }
    let n_processes = tree.n_ranks();
    let hosts = tree.hosts().iter();
    let hosts = hosts.flat_map(|&host| vec![host; n_threads as usize]);
    let first = tree.first_wrappers();
    let of_process = |process: u32| {
        let below = first[process as usize];
        // Whoever looks at what comes to the first wrapper looks at the threads, too.
        let collectors = tree.all()[below as usize].collectors;
        gred(
            process * n_threads..(process + 1) * n_threads,
            Some(n_processes + below),
            Collectors {
                after: false,
                ..collectors
            },
        )
    };
    let of_processes = (0..n_processes).map(of_process);
    let others = tree.all().iter().map(|wrapper| Wrapper {
        owner: wrapper.owner * n_threads,
        contributors: wrapper
            .contributors
            .iter()
            .map(|&contributor| {
                Contributor::Wrapper(match contributor {
                    Contributor::Rank(process) => process,
                    Contributor::Wrapper(above) => n_processes + above,
                })
            })
            .collect(),
        parent: wrapper.parent.map(|parent| n_processes + parent),
        ..wrapper.clone()
    });
    Wrappers::new(hosts.collect(), of_processes.chain(others).collect())
}

/// The tree of the threads of one process, without event collectors.
///
/// # Errors
/// As [`of_threads`].
pub(super) fn of_one_process(n_threads: u32) -> Result<Wrappers, TreeError> {
    let core = Wrapper {
        kind: WrapperKind::Core,
        contributors: vec![Contributor::Wrapper(0)],
        ..gred(0..n_threads, None, Collectors::NONE)
    };
    let gred = gred(0..n_threads, Some(1), Collectors::NONE);
    Wrappers::new(vec![0; n_threads as usize], vec![gred, core])
}

/// The same tree, with all of its event collectors on or off.
pub(super) fn with_collectors(tree: &Wrappers, collectors: Collectors) -> Wrappers {
    let wrappers = tree.all().iter().map(|wrapper| Wrapper {
        collectors,
        ..wrapper.clone()
    });
    Wrappers::new(tree.hosts().to_vec(), wrappers.collect()).expect("the tree was whole")
}

fn gred(leaves: std::ops::Range<u32>, parent: Option<u32>, collectors: Collectors) -> Wrapper {
    Wrapper {
        kind: WrapperKind::Gred,
        owner: leaves.start,
        contributors: leaves.map(Contributor::Rank).collect(),
        parent,
        level: Level::Rank,
        collectors,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes on one host, one on another, joined on the first.
    fn of_processes() -> Wrappers {
        let wrapper = |kind, owner, contributors, parent| Wrapper {
            kind,
            owner,
            contributors,
            parent,
            level: Level::Host,
            collectors: Collectors::ALL,
        };
        let (rank, of) = (Contributor::Rank, Contributor::Wrapper);
        let wrappers = vec![
            wrapper(WrapperKind::Proxy, 2, vec![rank(2)], Some(1)),
            wrapper(WrapperKind::Gred, 1, vec![rank(0), rank(1), of(0)], Some(2)),
            wrapper(WrapperKind::Core, 1, vec![of(1)], None),
        ];
        Wrappers::new(vec![5, 5, 6], wrappers).unwrap()
    }

    #[test]
    fn threads_are_joined_in_their_process_before_anything_else() {
        let tree = of_threads(&of_processes(), 4).unwrap();
        assert_eq!(tree.n_ranks(), 12);
        assert_eq!(tree.hosts(), [5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6]);
        assert_eq!(tree.height(), of_processes().height() + 1);
        assert!(tree.is_in_rank_order());
        for (process, gred) in (0..).zip(&tree.all()[..3]) {
            assert_eq!(gred.owner, process * 4);
            let threads = (0..4).map(|thread| Contributor::Rank(process * 4 + thread));
            assert!(gred.contributors.iter().copied().eq(threads));
        }
        // The gred that joined processes is owned by the first thread of its owner.
        assert_eq!((tree.all()[3].owner, tree.all()[4].owner), (8, 4));
        assert_eq!(of_threads(&of_processes(), 1).unwrap(), of_processes());
    }

    #[test]
    fn threads_of_one_process_have_a_gred_and_a_core() {
        let tree = of_one_process(3).unwrap();
        assert_eq!((tree.n_ranks(), tree.height()), (3, 1));
        let collects = |tree: &Wrappers| tree.collects(Contributor::Rank(1), 0);
        assert!(!collects(&tree));
        assert!(collects(&with_collectors(&tree, Collectors::ALL)));
    }
}
