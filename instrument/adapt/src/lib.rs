//! Finds the best of several ways to execute a collective operation, while the program runs.
//!
//! The ways are **candidates**: spanning trees of our own, and the MPI library's operation. The calls
//! of one operation on one communicator, of similar payload, are numbered on every process, and divided
//! into **blocks**: calls in a row with the same candidate. A [`Plan`] says which blocks come next. All
//! processes have the same plan, so all change the candidate at the same call. When the plan has
//! ended, at a **control point**, the processes bring their [times](Follower::own) together at one of
//! them, whose [`Controller`] makes the next plan for all. In between nothing is exchanged.
//!
//! There is nothing here about MPI, files, or memory: who uses this executes the calls, reads the clock,
//! and carries numbers between processes.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `plan` | which candidate the next calls have, and what an earlier run has found |
//! | `follow` | how far a process is in the plan, and what it has measured |
//! | `figures` | what all processes together have measured |
//! | `evidence` | how much better one candidate is than another, from blocks in turns |
//! | `change` | whether the times of the candidate in use have changed |
//! | `controller` | decides |
//! | `log` | decisions as lines of text, and back |

mod plan;

mod follow;

mod figures;

mod evidence;

mod change;

mod controller;

mod log;

pub use controller::{CandidateState, Controller, Decision, Options, Reason, Standing};
pub use evidence::Gain;
pub use figures::{BlockFigures, Figures};
pub use follow::{Follower, Next, Step, Took};
pub use log::{Entry, LogError, OF_FILE, Subject, first_lines, is_log, last_of_each, read_log};
pub use plan::{Block, Learned, MAX_CANDIDATES, PLAN_WORDS, Plan};
