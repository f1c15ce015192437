//! Tree files: from TOML to the [description of trees](collbench_formats::tree), and back.
//!
//! [`TreeFile::read`] checks a file as far as it can be checked without a communicator, and says of
//! everything that is wrong with it where it is, what was expected and what to do.
//! [`topology`] reads the cores of a host, from the XML of hwloc or from `/sys`. [`make`] writes a
//! file to begin with.
//!
//! This is a crate of its own so that the library that executes trees has no parser of TOML or XML
//! in it: it gets the description encoded.
#![doc = include_str!("TREES.md")]
#![forbid(unsafe_code)]

mod document;
mod file;
mod hosts;
pub mod make;
mod nodes;
mod problem;
mod ranges;
mod rules;
mod shapes;
pub mod topology;

pub use file::{BEST, TreeFile, TreeFileError, without_tables};
pub use hosts::NamedHost;
pub use problem::{Problem, Problems};
pub use shapes::{SHAPES, shape_name, shape_of};
