//! Tree files: what is wrong with them, what they say, and what they are made of.

mod bad_input;
mod files;
mod made;
mod topologies;
