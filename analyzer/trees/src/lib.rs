//! Algorithms of collectives by name, their spanning trees, and the recognition of both from the
//! messages that were sent; and trees of our own, made from their description. This crate knows no
//! traces.
//!
//! The input is [`Traffic`](exchanges::Traffic): messages between processes, identified by slot,
//! with the step of each end; [`recognize`](recognize::recognize) returns the
//! [`Algorithm`](algorithm::Algorithm). [`wrappers`] makes the
//! [`Wrappers`](collbench_formats::tree::Wrappers) of a communicator from
//! [`TreeRules`](collbench_formats::tree::TreeRules).
#![forbid(unsafe_code)]

pub mod algorithm;
pub mod exchanges;
pub mod library_name;
pub mod recognize;
pub mod roles;
pub mod shape;
pub mod sites;
mod spanning;
pub mod stations;
pub mod topology;
pub mod wrappers;
