//! Nothing that a file says brings the analyzer down.

mod bytes;
mod mutated;
