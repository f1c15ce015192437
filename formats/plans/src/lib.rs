//! A spanning tree as it is executed: where the paths of all processes join ([`Paths`]), and what each process
//! does in operations in which data flow one way ([`steps`]).
//!
//! The engine carries this out; predictions write it down. This crate knows no memory and no messages.
#![forbid(unsafe_code)]

mod one_way;
mod paths;

pub use one_way::{Flow, Input, Output, Passing, Place, Step, steps};
pub use paths::{Edge, Join, Paths, Station, tag_back, tag_toward};
