//! A process that waits lets the communication library progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use collbench_formats::tree::{
    Collective, Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers,
};
use collbench_paths::{
    Error, Idle, InProcess, Received, SimulatedCosts, Team, TeamOptions, Transport, TransportError,
    WaitPolicy,
};

use crate::call::rank_0_waits;

/// A transport that tells others how often its library was let progress.
struct Watched {
    inner: InProcess,
    n_progressed: Arc<AtomicU64>,
    /// Whether each rank has ended.
    ended: Arc<[AtomicBool; 2]>,
}

impl Transport for Watched {
    type Memory = <InProcess as Transport>::Memory;

    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn share(&self, n_lines: usize) -> Result<Self::Memory, TransportError> {
        self.inner.share(n_lines)
    }

    fn send(&self, to: u32, tag: u32, bytes: &[u8]) -> Result<(), TransportError> {
        self.inner.send(to, tag, bytes)
    }

    fn receive(
        &self,
        from: Option<u32>,
        tag: u32,
        into: &mut [u8],
    ) -> Result<Option<Received>, TransportError> {
        self.inner.receive(from, tag, into)
    }

    fn progress(&self) -> Result<(), TransportError> {
        self.n_progressed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn process(&self) -> u64 {
        u64::from(self.rank()) + 1
    }

    fn has_ended(&self, process: u64) -> bool {
        self.ended[process as usize - 1].load(Ordering::Acquire)
    }

    fn now(&self) -> u64 {
        self.inner.now()
    }
}

fn wrapper(kind: WrapperKind, contributors: &[Contributor], parent: Option<u32>) -> Wrapper {
    Wrapper {
        kind,
        owner: 0,
        contributors: contributors.to_vec(),
        parent,
        level: Level::Rank,
        collectors: Collectors::NONE,
    }
}

/// Trees of two ranks: in shared memory and over the network, with a gred and with an exchange.
fn trees() -> Vec<Wrappers> {
    use Contributor::{Rank, Wrapper as Above};
    let ranks = [Rank(0), Rank(1)];
    let exchange = vec![wrapper(WrapperKind::Exchange, &ranks, None)];
    let gred = vec![
        wrapper(WrapperKind::Gred, &ranks, Some(1)),
        wrapper(WrapperKind::Core, &[Above(0)], None),
    ];
    let mut proxy = wrapper(WrapperKind::Proxy, &[Rank(1)], Some(1));
    proxy.owner = 1;
    let far = vec![
        proxy,
        wrapper(WrapperKind::Gred, &[Rank(0), Above(0)], Some(2)),
        wrapper(WrapperKind::Core, &[Above(1)], None),
    ];
    let trees = [
        (vec![0, 0], exchange.clone()),
        (vec![0, 1], exchange),
        (vec![0, 0], gred),
        (vec![0, 1], far),
    ];
    trees
        .map(|(hosts, wrappers)| Wrappers::new(hosts, wrappers).unwrap())
        .into()
}

#[test]
fn every_operation_lets_the_library_progress_while_it_waits() {
    for tree in trees() {
        for collective in Collective::ALL {
            for idle in [Idle::Spin, Idle::Yield, Idle::Sleep] {
                let n_progressed = Arc::new(AtomicU64::new(0));
                let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default());
                std::thread::scope(|scope| {
                    for (me, inner) in (0..).zip(processes) {
                        let own = if me == 0 {
                            Arc::clone(&n_progressed)
                        } else {
                            Arc::default()
                        };
                        let (tree, of_rank_0) = (&tree, &n_progressed);
                        scope.spawn(move || {
                            let watched = Watched {
                                inner,
                                n_progressed: own,
                                ended: Arc::default(),
                            };
                            let options = TeamOptions::new(WaitPolicy::new(idle));
                            let mut team = Team::new(watched, tree, options).unwrap();
                            // As a receive of what rank 0 has begun to send, which needs its
                            // library: without progress nobody ever comes out of this.
                            while me == 1 && of_rank_0.load(Ordering::Relaxed) < 3 {
                                std::thread::yield_now();
                            }
                            rank_0_waits(&mut team, collective, me).unwrap();
                        });
                    }
                });
            }
        }
    }
}

#[test]
fn a_process_that_ends_while_others_wait_for_it_is_noticed_and_one_that_has_done_its_part_is_not() {
    let tree = &trees()[2];
    let ended = Arc::<[AtomicBool; 2]>::default();
    let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default());
    let watched = processes.into_iter().map(|inner| Watched {
        inner,
        n_progressed: Arc::default(),
        ended: Arc::clone(&ended),
    });
    let options = TeamOptions::new(WaitPolicy::new(Idle::Yield));
    let mut teams = watched.map(|watched| Team::new(watched, tree, options).unwrap());
    let (mut first, mut second) = (teams.next().unwrap(), teams.next().unwrap());
    std::thread::scope(|scope| {
        let ended = &ended;
        scope.spawn(move || {
            second.barrier().unwrap();
            // Enough for rank 0, which comes later.
            second.bcast(&mut [3; 8], 1).unwrap();
            ended[1].store(true, Ordering::Release);
        });
        first.barrier().unwrap();
        while !ended[1].load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let mut bytes = [0; 8];
        first.bcast(&mut bytes, 1).unwrap();
        assert_eq!(bytes, [3; 8]);
        let error = Error::Transport(TransportError::Ended(1));
        assert_eq!(first.barrier(), Err(error));
    });
}

#[test]
fn the_interval_is_never_longer_than_allowed() {
    let policy = WaitPolicy::new(Idle::Spin);
    let longer = policy.with_progress_every(std::time::Duration::from_millis(1));
    assert_eq!(longer, policy);
    assert_eq!(WaitPolicy::for_cores(2, 2).idle(), Idle::Spin);
    assert_eq!(WaitPolicy::for_cores(3, 2).idle(), Idle::Yield);
}
