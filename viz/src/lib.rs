//! Pictures from plain data.
#![forbid(unsafe_code)]

