//! The processes of an MPI job.

use std::time::{Duration, Instant};

use mpi::Rank;
use mpi::request::{Request, Scope, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};

use super::endpoint::Endpoint;
use super::job::Job;
use super::network::Network;
use super::program::{Program, Progress};
use super::work::{ENCODED, Work};

/// How long a process that has nothing to do looks for work all the time, and how long it then sleeps between two looks, at
/// first and at most.
const LOOKS: Duration = Duration::from_micros(50);
const FIRST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// Messages over operations of MPI.
pub(in crate::logp) trait MpiNetwork: Network {
    /// Gets ready for bulk messages of at most this size; 0: for small messages only. All processes
    /// call it together.
    fn expect(&mut self, bytes: usize);

    /// Bulk messages whose first or last byte was not the one that was sent.
    fn n_damaged(&self) -> u64;

    /// Its name in results.
    fn name(&self) -> &'static str;
}

/// This process of the job; process 0 decides what is measured.
pub(in crate::logp) struct MpiJob<N> {
    world: SimpleCommunicator,
    endpoint: Endpoint<N>,
    begin: Instant,
}

impl<N: MpiNetwork> MpiJob<N> {
    pub(in crate::logp) fn new(world: SimpleCommunicator, network: N) -> Self {
        Self {
            world,
            endpoint: Endpoint::new(network),
            begin: Instant::now(),
        }
    }

    fn own(&self) -> usize {
        self.world.rank() as usize
    }

    /// Does what process 0 asks for until it has [finished](Self::finish).
    pub(in crate::logp) fn follow(mut self) {
        loop {
            let mut numbers = [0u64; ENCODED];
            self.tell_all(&mut numbers);
            let Some(work) = Work::decode(&numbers) else {
                self.count_damaged();
                return;
            };
            let program = self.run(&work);
            if work.pattern.requesters().contains(&self.own()) {
                self.world.process_at_rank(0).send(&program.times_ns[..]);
            }
        }
    }

    /// Ends the other processes; returns how many bulk messages arrived with other data than were
    /// sent. In process 0 only.
    pub(in crate::logp) fn finish(self) -> u64 {
        self.tell_all(&mut [0u64; ENCODED]);
        self.count_damaged()
    }

    /// Passes numbers from process 0 to all.
    fn tell_all(&self, numbers: &mut [u64; ENCODED]) {
        let first = self.world.process_at_rank(0);
        scope(|scope| wait(first.immediate_broadcast_into(scope, &mut numbers[..])));
    }

    fn count_damaged(&self) -> u64 {
        let own = self.endpoint.network.n_damaged();
        let mut all = 0;
        let sum = mpi::collective::SystemOperation::sum();
        self.world.all_reduce_into(&own, &mut all, sum);
        all
    }

    fn run(&mut self, work: &Work) -> Program {
        let mut program = Program::of(*work, self.own());
        self.endpoint.network.expect(work.transfer.bytes());
        self.endpoint.begin(work.window);
        // Nobody sends before all receives are posted.
        self.world.barrier();
        while program.step(&mut self.endpoint) != Progress::Done {}
        program
    }
}

/// Waits for an operation without taking a core from the processes that measure meanwhile: those that wait in MPI look for
/// messages all the time, and where there are more processes than cores the others then wait for a time slice.
fn wait<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>) {
    let begin = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        request = match request.test() {
            Ok(_) => return,
            Err(request) => request,
        };
        if begin.elapsed() > LOOKS {
            std::thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }
}

impl<N: MpiNetwork> Job for MpiJob<N> {
    fn n_processes(&self) -> usize {
        self.world.size() as usize
    }

    fn elapsed_ns(&self) -> f64 {
        self.begin.elapsed().as_nanos() as f64
    }

    fn execute(&mut self, work: &Work) -> Vec<Vec<f64>> {
        self.tell_all(&mut work.encode());
        let program = self.run(work);
        let times = |requester: usize| {
            if requester == 0 {
                return program.times_ns.clone();
            }
            let mut times = vec![0.0; work.repetitions];
            let requester = self.world.process_at_rank(requester as Rank);
            scope(|scope| wait(requester.immediate_receive_into(scope, &mut times[..])));
            times
        };
        work.pattern.requesters().into_iter().map(times).collect()
    }
}
