//! A tree as it is executed: where in memory which value lies, and what of it goes where.

mod layout;

mod one_way;

pub(crate) use collbench_plans::{Edge, Flow, Join, Passing, Paths, Place, tag_back, tag_toward};
pub(crate) use layout::{Heads, Layout, Room, Value, earlier_use, head_of};
pub(crate) use one_way::{Input, Output, Plan, Step};
