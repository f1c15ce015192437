//! The processes of an MPI job.

use std::time::Instant;

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};

use super::endpoint::Endpoint;
use super::job::Job;
use super::network::Network;
use super::program::{Program, Progress};
use super::work::{ENCODED, Work};

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
            self.world
                .process_at_rank(0)
                .broadcast_into(&mut numbers[..]);
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
        let mut numbers = [0u64; ENCODED];
        self.world
            .process_at_rank(0)
            .broadcast_into(&mut numbers[..]);
        self.count_damaged()
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

impl<N: MpiNetwork> Job for MpiJob<N> {
    fn n_processes(&self) -> usize {
        self.world.size() as usize
    }

    fn elapsed_ns(&self) -> f64 {
        self.begin.elapsed().as_nanos() as f64
    }

    fn execute(&mut self, work: &Work) -> Vec<Vec<f64>> {
        let mut numbers = work.encode();
        self.world
            .process_at_rank(0)
            .broadcast_into(&mut numbers[..]);
        let program = self.run(work);
        let times = |requester: usize| {
            if requester == 0 {
                return program.times_ns.clone();
            }
            let mut times = vec![0.0; work.repetitions];
            let requester = self.world.process_at_rank(requester as i32);
            requester.receive_into(&mut times[..]);
            times
        };
        work.pattern.requesters().into_iter().map(times).collect()
    }
}
