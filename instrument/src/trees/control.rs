//! Control points: at the end of a plan the process with rank 0 gets the times of all, and gives all the next plan.
//!
//! A gather and a broadcast of the MPI library on the same communicator, inside a call that all its processes make.
//! If one of them fails, that is the error of this call.

use std::ffi::c_int;
use std::time::Instant;

use collbench_adapt::{Controller, Decision, Entry, Figures, Follower, PLAN_WORDS, Plan};
use collbench_formats::tree::Policy;
use collbench_formats::{CandidateAt, ControlPoint};

use super::adaptive::{Candidate, Key, subject};
use super::communicator::TreesOfCommunicator;
use super::world::World;
use crate::mpi::{Handle, address_of, call_mpi};
use crate::process::say;
use crate::record::{Local, define_control_point};

/// Most control points of calls that are alike in the trace.
const MOST_POINTS: u32 = 1024;

/// Collectives of the MPI library on a communicator.
struct OfLibrary<'a> {
    trees: &'a World,
    comm: Handle,
    /// The first error.
    code: c_int,
}

impl OfLibrary<'_> {
    fn note(&mut self, code: c_int) {
        if self.code == 0 {
            self.code = code;
        }
    }

    /// The numbers of all processes, at the one with rank 0; nothing elsewhere.
    fn gathered(&mut self, own: &mut [i64], n_processes: usize, is_deciding: bool) -> Vec<i64> {
        let n_all = if is_deciding {
            own.len() * n_processes
        } else {
            0
        };
        let (n, mut all) = (own.len(), vec![0i64; n_all]);
        let (from, to) = (own.as_mut_ptr() as usize, all.as_mut_ptr() as usize);
        let long = self.trees.constants.long;
        self.note(call_mpi!(c"PMPI_Gather"; from, n, long, to, n, long, 0, self.comm));
        all
    }

    /// What the process with rank 0 gives to all.
    fn broadcast(&mut self, words: &mut [i64; PLAN_WORDS]) {
        let long = self.trees.constants.long;
        self.note(call_mpi!(c"PMPI_Bcast"; address_of(words), words.len(), long, 0, self.comm));
    }

    /// Runs something while errors on the communicator come back, and no handler of the program is called, which could
    /// free it or leave by an exception.
    fn returning_errors(&mut self, run: impl FnOnce(&mut Self)) {
        let mut handler = 0usize;
        let got = call_mpi!(c"PMPI_Comm_get_errhandler"; self.comm, address_of(&mut handler));
        let errors_return = self.trees.library.errors_return;
        call_mpi!(c"PMPI_Comm_set_errhandler"; self.comm, errors_return);
        run(self);
        if got == 0 {
            // SAFETY: the library has stored a handle there.
            let of_program = unsafe { self.trees.library.handle_at(address_of(&mut handler), 0) };
            call_mpi!(c"PMPI_Comm_set_errhandler"; self.comm, of_program);
            call_mpi!(c"PMPI_Errhandler_free"; address_of(&mut handler));
        }
    }
}

/// Says how many classes of calls an earlier run has found something about that this one did not have. To be called by all
/// processes, before MPI ends.
pub(super) fn tell_unmet(trees: &World) {
    if trees.learned.is_empty() {
        return;
    }
    let mut own = trees.learned.met();
    let (n, mut by_any) = (own.len(), vec![0i64; own.len()]);
    let (from, to) = (own.as_mut_ptr() as usize, by_any.as_mut_ptr() as usize);
    let (long, max, comm) = (trees.constants.long, trees.constants.max, trees.ours.comm());
    let local = Local::of_this_thread();
    let code = local
        .silently(|| local.inside(|| call_mpi!(c"PMPI_Reduce"; from, to, n, long, max, 0, comm)));
    let n_unmet = by_any.iter().filter(|is_met| **is_met == 0).count();
    if trees.rank == 0 && code == 0 && n_unmet > 0 {
        let what = format!(
            "--adapt-from: {n_unmet} of {n} classes of calls in the log were not in this run, and had no effect: trees, operation, \
             payload, root, processes, their places or candidates are others"
        );
        say(0, &what);
    }
}

impl TreesOfCommunicator {
    /// The control point of a key whose plan has ended: all processes have a new plan then.
    ///
    /// # Errors
    /// The code of the library. If the process that decides has an error, all keep the first candidate.
    #[cold]
    pub(super) fn control(&mut self, trees: &World, of: usize) -> Result<(), c_int> {
        let mut library = OfLibrary {
            trees,
            comm: self.comm,
            code: 0,
        };
        let local = Local::of_this_thread();
        local.silently(|| {
            local.inside(|| library.returning_errors(|library| self.agree_on_plan(library, of)))
        });
        match library.code {
            0 => Ok(()),
            code => Err(code),
        }
    }

    /// Makes all calls of the library whatever they return: other processes wait for them.
    fn agree_on_plan(&mut self, library: &mut OfLibrary<'_>, of: usize) {
        let (begin, trees) = (Instant::now(), library.trees);
        let (n_processes, is_deciding) = (self.n_ranks(), self.rank == 0);
        let calls = &mut self.adaptive.calls[of];
        let Some(follower) = &calls.follower else {
            return;
        };
        let mut own = follower.own();
        own.push(calls.control_ns.unwrap_or(-1));
        let of_all = library.gathered(&mut own, n_processes, is_deciding);
        // Without a block: no plan.
        let mut words = [0; PLAN_WORDS];
        let mut decided: Option<Decision> = None;
        if is_deciding && library.code == 0 {
            let plan = follower.plan();
            let figures = Figures::of(plan, of_all.chunks_exact(own.len()));
            let control_ns = calls.control_ns.map(|_| {
                let of_each = of_all.chunks_exact(own.len());
                of_each.map(|of| of[own.len() - 1] as f64).sum()
            });
            let options = calls.options;
            let controller = calls
                .controller
                .get_or_insert_with(|| Controller::new(options));
            let mut decision = controller.decide(plan, &figures, control_ns);
            if let Policy::Random(seed) = trees.rules.adapting.policy {
                decision.plan = plan.random_next(seed, calls.candidates.len());
            }
            words = decision.plan.encoded();
            decided = Some(decision);
        }
        let mut took = begin.elapsed();
        if let Some(decision) = decided {
            // Before others go on: their next calls would wait for this.
            self.write_down(trees, of, &decision);
        }
        let begin = Instant::now();
        library.broadcast(&mut words);
        took += begin.elapsed();
        let calls = &mut self.adaptive.calls[of];
        let plan = Plan::decoded(&words, calls.candidates.len()).filter(|_| library.code == 0);
        calls.follower = plan.map(Follower::new);
        calls.control_ns = Some(took.as_nanos() as i64);
    }

    /// Writes a decision about the calls with a key to the trace and to the log, if there are any.
    fn write_down(&mut self, trees: &World, of: usize, decision: &Decision) {
        let calls = &self.adaptive.calls[of];
        let (key, members) = (calls.key, self.members(trees));
        let subject = subject(trees, &key, &calls.candidates, members, trees.rank);
        let entry = Entry::new(subject, decision);
        let calls = &mut self.adaptive.calls[of];
        if let Some(log) = &trees.log {
            log.add(&entry.line(), trees.rank);
        }
        if calls.n_in_trace < MOST_POINTS {
            calls.n_in_trace += 1;
            let name = |candidate: &Candidate| match *candidate {
                Candidate::Library => "the MPI library".to_owned(),
                Candidate::Tree(rule) => trees.rules.name(rule),
            };
            let names = calls.candidates.iter().map(name);
            define_control_point(self.comm, |communicator, at| {
                point((communicator, at), &key, entry, names)
            });
        }
    }
}

/// A control point as it is in the trace.
fn point(
    (communicator, at): (u32, u64),
    key: &Key,
    entry: Entry,
    names: impl Iterator<Item = String>,
) -> ControlPoint {
    let known = entry.candidates.into_iter().zip(entry.gains);
    let candidates = names.zip(known);
    ControlPoint {
        at,
        communicator,
        operation: key.collective,
        line: entry.subject.line,
        keeps_grouping: key.keeps_grouping,
        bytes: entry.subject.bytes,
        root: key.root,
        calls: entry.calls,
        in_use: entry.in_use as u32,
        before: entry.before as u32,
        reason: entry.reason,
        cost_ns: entry.cost_ns,
        candidates: candidates
            .map(|(name, ((standing, calls, total_ns), gain))| CandidateAt {
                name,
                standing,
                calls,
                total_ns,
                gain,
            })
            .collect(),
    }
}
