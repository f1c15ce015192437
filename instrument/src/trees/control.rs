//! Control points: at the end of a plan the process with rank 0 gets the times of all, and gives all the next plan.
//!
//! Two reductions and a broadcast of the MPI library on the same communicator, inside a call that all its processes make.
//! If one of them fails, that is the error of this call.

use std::ffi::c_int;
use std::time::Instant;

use collbench_adapt::{Block, Decision, Figures, Follower, PLAN_WORDS, Plan};
use collbench_formats::tree::Policy;

use super::adaptive::Adaptive;
use super::communicator::TreesOfCommunicator;
use super::world::World;
use crate::host::mix;
use crate::mpi::{Handle, address_of, call_mpi};
use crate::record::Local;

/// Collectives of the MPI library on a communicator.
struct OfLibrary<'a> {
    trees: &'a World,
    comm: Handle,
}

impl OfLibrary<'_> {
    /// What the process with rank 0 gets of the numbers of all.
    fn reduced(&self, given: &mut [i64], operation: Handle) -> Result<Vec<i64>, c_int> {
        let mut result = vec![0i64; given.len()];
        let (from, to) = (given.as_mut_ptr() as usize, result.as_mut_ptr() as usize);
        let long = self.trees.constants.long;
        let code = call_mpi!(c"PMPI_Reduce"; from, to, given.len(), long, operation, 0, self.comm);
        if code == 0 { Ok(result) } else { Err(code) }
    }

    /// What the process with rank 0 gives to all.
    fn broadcast(&self, words: &mut [i64; PLAN_WORDS]) -> Result<(), c_int> {
        let long = self.trees.constants.long;
        let code = call_mpi!(c"PMPI_Bcast"; address_of(words), words.len(), long, 0, self.comm);
        if code == 0 { Ok(()) } else { Err(code) }
    }
}

impl TreesOfCommunicator {
    /// The control point of a key whose plan has ended: all processes have a new plan then.
    ///
    /// # Errors
    /// The code of the library, of whose error its handler knows.
    #[cold]
    pub(super) fn control(&mut self, trees: &World, of: usize) -> Result<(), c_int> {
        let local = Local::of_this_thread();
        let result = local.silently(|| local.inside(|| self.try_control(trees, of)));
        result.map_err(Adaptive::raised)
    }

    fn try_control(&mut self, trees: &World, of: usize) -> Result<(), c_int> {
        let begin = Instant::now();
        let library = OfLibrary {
            trees,
            comm: self.comm,
        };
        let n_processes = self.n_ranks();
        let calls = &mut self.adaptive.calls[of];
        let Some(follower) = &mut calls.follower else {
            return Ok(());
        };
        let (mut least, mut sums) = follower.own();
        let least = library.reduced(&mut least, trees.constants.min)?;
        let sums = library.reduced(&mut sums, trees.constants.sum)?;
        let mut words = [0; PLAN_WORDS];
        let mut decided: Option<Decision> = None;
        if let Some(controller) = &mut calls.controller {
            let plan = follower.plan();
            let figures = Figures::of(plan, &least, &sums);
            let mut decision =
                controller.decide(plan, &figures, calls.control_ns as f64, n_processes);
            if let Policy::Random(seed) = trees.rules.adapting.policy {
                decision.plan = random_plan(plan, seed, calls.candidates.len());
            }
            words = decision.plan.encoded();
            decided = Some(decision);
        }
        library.broadcast(&mut words)?;
        if let Some(decision) = decided {
            self.write_down(trees, of, &decision);
        }
        let calls = &mut self.adaptive.calls[of];
        let plan = Plan::decoded(&words, calls.candidates.len());
        calls.follower = plan.map(Follower::new);
        calls.control_ns = begin.elapsed().as_nanos() as i64;
        Ok(())
    }
}

/// One to three calls of any candidate.
fn random_plan(before: &Plan, seed: u64, n_candidates: usize) -> Plan {
    let begin = before.end();
    let drawn = mix(&[seed, begin, before.blocks.len() as u64]);
    Plan {
        begin,
        blocks: vec![Block {
            candidate: (drawn % n_candidates as u64) as u8,
            calls: 1 + (drawn >> 32) as u32 % 3,
        }],
    }
}
