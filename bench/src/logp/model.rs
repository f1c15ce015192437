//! From measured times to the parameters of LogP and LogGP: pure functions.

mod bulk;
mod checks;
mod classes;
mod estimate;
mod line;
mod signature;

pub(super) use bulk::{Lines, OfSize, RoundTrips};
pub(super) use checks::{Arrangement, Check, Verdict};
pub(super) use classes::{Class, Links, Pair};
pub(super) use estimate::{Cost, Estimate, Precision};
pub(super) use line::Line;
pub(super) use signature::{
    Begins, Curve, Limit, Parameters, Point, Read, STEADY, Signature, latency_at_most_ns,
};
