//! Algorithms of collectives by name, their spanning trees, and how they are recognized by the messages
//! that were sent. This crate knows no traces.
//!
//! A graph of messages comes as [`Traffic`](exchanges::Traffic), edges between the numbers of processes with
//! the steps in which each end was; [`recognize`](recognize::recognize) says which
//! [`Algorithm`](algorithm::Algorithm) has it.
#![forbid(unsafe_code)]

pub mod algorithm;
pub mod exchanges;
pub mod library_name;
pub mod recognize;
pub mod roles;
pub mod shape;
mod spanning;
