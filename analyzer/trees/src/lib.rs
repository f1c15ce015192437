//! Algorithms of collectives by name, their spanning trees, and the recognition of both from the
//! messages that were sent. This crate knows no traces.
//!
//! The input is [`Traffic`](exchanges::Traffic): messages between processes, identified by slot,
//! with the step of each end; [`recognize`](recognize::recognize) returns the
//! [`Algorithm`](algorithm::Algorithm).
#![forbid(unsafe_code)]

pub mod algorithm;
pub mod exchanges;
pub mod library_name;
pub mod recognize;
pub mod roles;
pub mod shape;
mod spanning;
