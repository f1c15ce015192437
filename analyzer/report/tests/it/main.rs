//! The command `collbench-analyze`: its text, documents, pictures and pages, of traces that are put together
//! record by record, or generated.

#[path = "../../../tests/it/built/mod.rs"]
mod built;

mod adaptations;
mod command;
mod compact;
mod comparison;
mod course;
mod damage;
mod details;
mod document;
mod generated;
mod golden;
mod hang;
mod hang_truth;
mod hostile;
mod inside;
mod invariants;
mod known_truth;
mod made_in_loops;
mod nonblocking;
mod overlap;
mod page;
mod pictures;
mod promises;
mod ring;
mod said;
mod scripts;
mod sides;
mod tree_comparison;
mod trees;
mod trees_of_one_trace;
mod verdict;
mod way_back;
