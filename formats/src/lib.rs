//! The trace format of collbench, and its description of operations.
#![forbid(unsafe_code)]

