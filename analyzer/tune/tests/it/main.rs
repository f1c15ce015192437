//! The command `collbench-tune`: exit status, what goes where, and what it says.

#[path = "../../../tests/it/built/mod.rs"]
mod built;

mod own_trees;
mod predict;
mod rules;
mod run;
mod search;
