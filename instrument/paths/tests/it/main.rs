//! Operations over trees, against what they are by definition.

mod call;
mod collectors;
mod course;
mod divided;
mod flat_tree;
mod groupings;
mod kernels;
mod lengths;
mod one_copy;
mod progress;
mod random;
mod reference;
mod run;
mod schedules;
mod threads;
mod tree_files;
mod weak_memory;
