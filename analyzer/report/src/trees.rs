//! Tree files as people and other programs meet them: text, JSON, and pictures.
//!
//! [`Ranks`] are the ranks that trees are made for, [`RuleTree`] is what a rule of a file makes of
//! them. From these follow the [text], the [document], and the [pictures].

mod document;
mod from_log;
mod links;
mod pictures;
mod ranks;
mod rows;
mod rule_trees;
mod text;

pub use document::trees_to_json;
pub use from_log::{FromLogError, tree_file_of_log};
pub use links::LinksError;
pub use pictures::{tree_to_dot, tree_to_svg};
pub use ranks::{Ranks, RanksError};
pub use rule_trees::{RuleTree, rule_trees};
pub use text::trees_to_text;
