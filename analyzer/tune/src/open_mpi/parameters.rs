//! What is wrong with an algorithm, or with its parameters, in a rule of `coll_tuned`.

use super::library::Library;
use super::version::{Algorithm, Limit, OperationTable, Version};
use crate::problem::{Position, Problem};

/// The largest fan-out that the library has.
const MAX_FAN_OUT: i64 = 32;

/// The parameters of a rule, each with its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameters {
    pub(super) fan_out: (i64, Position),
    pub(super) segment: (i64, Position),
    pub(super) requests: Option<(i64, Position)>,
}

/// What is wrong with an algorithm for communicators of `from` to `to` processes.
pub(super) fn limit(
    algorithm: &Algorithm,
    at: Position,
    (from, to): (i64, Option<i64>),
) -> Option<Problem> {
    let name = algorithm.name;
    let from = from.max(2);
    let is_of = |is_right: bool, numbers: &str, other: &str| {
        let what = format!("{name} is for {numbers}, these rules are for {from} processes");
        let effect = format!("the library takes {other} instead");
        (to == Some(from) && !is_right).then(|| Problem::new(at, what, effect))
    };
    match algorithm.limit {
        Limit::TwoProcesses if (from, to) != (2, Some(2)) => Some(Problem {
            at,
            what: format!(
                "{name} is for two processes, these rules are for {}",
                range(from, to)
            ),
            effect:
                "with other numbers of processes each call fails with MPI_ERR_UNSUPPORTED_OPERATION"
                    .to_owned(),
            instead: Some("another algorithm, and an entry for 2 processes of its own".to_owned()),
        }),
        Limit::PowerOfTwo(other) => is_of(from.count_ones() == 1, "powers of two", other),
        Limit::Even(other) => is_of(from % 2 == 0, "even numbers", other),
        _ => None,
    }
}

/// What is wrong with the parameters of an algorithm.
pub(super) fn parameters(algorithm: &Algorithm, of: Parameters) -> Vec<Problem> {
    let name = algorithm.name;
    let mut problems = Vec::new();
    let mut add = |at, what: String, effect: String, instead: String| {
        problems.push(Problem {
            at,
            what,
            effect,
            instead: Some(instead),
        });
    };
    let ((fan_out, fan_out_at), (segment, segment_at)) = (of.fan_out, of.segment);
    let least = algorithm.least_fan_out;
    if fan_out < least {
        add(
            fan_out_at,
            format!("fan-out {fan_out} for {name}"),
            format!(
                "it is the radix of {name}, which goes round without end below {least}: no call returns"
            ),
            format!("{least} or more"),
        );
    } else if fan_out != 0 && !algorithm.uses_fan_out {
        add(
            fan_out_at,
            format!("fan-out {fan_out} for {name}"),
            format!("{name} has none: the library ignores it"),
            "0".to_owned(),
        );
    } else if fan_out > MAX_FAN_OUT && least == 0 {
        add(
            fan_out_at,
            format!("fan-out {fan_out}"),
            format!("the library takes {MAX_FAN_OUT}, its largest"),
            MAX_FAN_OUT.to_string(),
        );
    }
    if segment != 0 && !algorithm.uses_segment {
        add(
            segment_at,
            format!("segments of {segment} bytes for {name}"),
            format!("{name} sends no segments: the library ignores it"),
            "0".to_owned(),
        );
    }
    if let Some((requests, at)) = of.requests
        && !algorithm.uses_requests
    {
        add(
            at,
            format!("{requests} requests at a time for {name}"),
            format!("{name} has no such limit: the library ignores it"),
            "none".to_owned(),
        );
    }
    problems
}

fn range(from: i64, to: Option<i64>) -> String {
    match to {
        Some(to) if to > from => format!("{from} to {to}"),
        Some(_) => from.to_string(),
        None => format!("{from} and more"),
    }
}

/// The name of an algorithm that another version has.
pub(super) fn known_elsewhere(
    table: &OperationTable,
    is_it: impl Fn(&Algorithm) -> bool,
) -> Option<(&'static str, &'static str)> {
    let others = [
        ((4, 1), "Open MPI 4.1"),
        ((5, 0), "Open MPI 5.0"),
        ((6, 0), "Open MPI 6.0"),
    ];
    others.into_iter().find_map(|((major, minor), name)| {
        let other = Library::of(Version {
            major,
            minor,
            release: 0,
        })?;
        let other = other.operation_by_id(table.id)?;
        let algorithm = other.algorithms.iter().find(|of| is_it(of))?;
        Some((algorithm.name, name))
    })
}
