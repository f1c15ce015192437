//! What the end-to-end tests stand on: compile a program of `programs/`, run it under `mpirun` with
//! and without recording, analyze the trace, look into the JSON.
//!
//! Tests use the commands as people do, from the release folder of cargo's target directory; a
//! plain `cargo build --release` makes them, and `make test` runs it first. Nothing here knows the
//! insides of collbench: what it expects is the documented behaviour of the commands, and the
//! documented format of traces.

mod agreement;
mod analysis;
mod call_sites;
mod cluster;
mod ends;
mod exports;
mod machine;
mod monitoring;
mod rank_files;
mod room;
mod rules;
mod run;
mod schedules;

pub use agreement::{Agreement, agreements};
pub use analysis::{Analysis, analyze, calls_by_class, sum};
pub use call_sites::{calls_at, is_at, line_of};
pub use cluster::{Cluster, TrueClock, TrueClocks};
pub use ends::{End, edges_of_bcast, edges_of_bcasts, ends, n_received, paired};
pub use exports::check_exports;
pub use machine::{
    Workspace, command, have, have_folder, long_or, program, release_dir, skipped, source_dir,
    target_dir,
};
pub use monitoring::{check_against_monitoring, monitoring};
pub use rank_files::rank_files;
pub use room::{Alone, alone, side_by_side};
pub use rules::{
    Agreed, Baseline, HanAgreed, Made, MpichAgreed, MpichLibrary, Reader, RuledLibrary, made_up,
};
pub use run::{Finished, Form, Job, mpirun, run, run_in, run_ranks, tuned};
pub use schedules::{
    Forced, MpichSchedules, Runner, Schedules, compare_groupings, compare_groupings_of_trees,
    compare_schedules, forced, groupings_of, schedules_of,
};
