//! A tree as it is executed: where paths join, where in memory which value lies, and who does what.

mod paths;

mod layout;

mod one_way;

pub(crate) use layout::{Heads, Layout, Room, Value, earlier_use, head_of};
pub(crate) use one_way::{Flow, Input, Output, Passing, Place, Plan, Step};
pub(crate) use paths::{Edge, Join, Paths, tag_back, tag_toward};
