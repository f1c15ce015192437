//! Plans as TOML.
//!
//! ```toml
//! precision = 0.03            # half width of the 95 % interval, over the time
//! repetitions = [10, 2000]    # least, greatest
//! start = "window"
//!
//! [[measure]]
//! operations = ["MPI_Bcast", "MPI_Allreduce"]
//! from = 8
//! to = 1048576
//! processes = [2, 4, 8]
//! ```

use serde::Deserialize;
use toml::Spanned;

use super::{Arrivals, Given, Lengths, Method, Part, Problem};
use crate::collective::arrivals;
use crate::collective::call::Element;
use crate::measure::estimate::{ErrorOf, Figure, Precision};
use crate::measure::reduction::Reduction;
use crate::measure::refinement::Rule;
use crate::measure::start::StartScheme;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    precision: Option<Spanned<f64>>,
    #[serde(default)]
    error: ErrorOf,
    repetitions: Option<Spanned<[usize; 2]>>,
    seconds: Option<Spanned<f64>>,
    reduction: Option<Reduction>,
    #[serde(default)]
    figure: Figure,
    #[serde(default)]
    element: Element,
    start: Option<StartScheme>,
    loop_length: Option<Spanned<usize>>,
    tolerance_us: Option<f64>,
    refinement: Option<Spanned<Rule>>,
    #[serde(default)]
    measure: Vec<Spanned<Measure>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measure {
    operations: Vec<Spanned<String>>,
    lengths: Option<Spanned<Vec<u64>>>,
    from: Option<Spanned<u64>>,
    to: Option<u64>,
    #[serde(default)]
    processes: Vec<Spanned<usize>>,
    from_processes: Option<Spanned<usize>>,
    to_processes: Option<usize>,
    #[serde(default)]
    hosts: Vec<Spanned<usize>>,
    #[serde(default)]
    roots: Vec<Spanned<usize>>,
    #[serde(default)]
    pieces: Vec<Spanned<usize>>,
    #[serde(default)]
    starts: Vec<StartScheme>,
    arrivals: Option<Spanned<String>>,
    delay_us: Option<f64>,
    algorithms: Option<Vec<Spanned<i32>>>,
}

/// Lines of a text, from 1, by position.
struct Lines<'a>(&'a str);

impl Lines<'_> {
    fn given<T>(&self, value: Spanned<T>) -> Given<T> {
        let line = self.of(value.span().start);
        Given {
            value: value.into_inner(),
            line,
        }
    }

    fn all<T>(&self, values: Vec<Spanned<T>>) -> Vec<Given<T>> {
        values.into_iter().map(|value| self.given(value)).collect()
    }

    fn of(&self, position: usize) -> Option<usize> {
        let before = &self.0.as_bytes()[..position.min(self.0.len())];
        Some(1 + before.iter().filter(|&&byte| byte == b'\n').count())
    }
}

/// The method and the parts of a plan.
///
/// # Errors
/// What is not TOML, is unknown, or has a value that nothing can be measured with.
pub(in crate::collective) fn parse(text: &str) -> Result<(Method, Vec<Part>), Vec<Problem>> {
    let lines = Lines(text);
    let document: Document = toml::from_str(text).map_err(|error| {
        let line = error.span().and_then(|span| lines.of(span.start));
        let text = error.message().trim().replace('\n', " ");
        vec![Problem { line, text }]
    })?;
    let mut problems = Vec::new();
    let method = method(&document, &lines, &mut problems);
    let mut parts = Vec::new();
    for measure in document.measure {
        let line = lines.of(measure.span().start);
        match part(measure.into_inner(), line, document.start, &lines) {
            Ok(part) => parts.push(part),
            Err(problem) => problems.push(problem),
        }
    }
    if parts.is_empty() && problems.is_empty() {
        problems.push(Problem {
            line: Some(1),
            text: "nothing to measure: the plan has no [[measure]]".to_owned(),
        });
    }
    if problems.is_empty() {
        Ok((method, parts))
    } else {
        Err(problems)
    }
}

fn method(document: &Document, lines: &Lines<'_>, problems: &mut Vec<Problem>) -> Method {
    let mut method = Method::default();
    let mut wrong = |position: usize, text: String| {
        problems.push(Problem {
            line: lines.of(position),
            text,
        });
    };
    if let Some(precision) = &document.precision {
        let value = *precision.get_ref();
        if !(1e-4..1.0).contains(&value) {
            let text = format!("precision {value}: expected a part of the time, from 0.0001 to 1");
            wrong(precision.span().start, text);
        }
        method.precision.relative = value;
    }
    if let Some(repetitions) = &document.repetitions {
        let [least, most] = *repetitions.get_ref();
        if !(2 <= least && least <= most && most <= MOST_REPETITIONS) {
            let text = format!(
                "repetitions [{least}, {most}]: expected the least number, from 2, and the greatest, \
                 up to {MOST_REPETITIONS}"
            );
            wrong(repetitions.span().start, text);
        }
        method.precision = Precision {
            least,
            most,
            ..method.precision
        };
    }
    if let Some(seconds) = &document.seconds {
        let value = *seconds.get_ref();
        if !(0.001..=1e5).contains(&value) {
            let text = format!("seconds {value}: expected a time for each point, from 0.001");
            wrong(seconds.span().start, text);
        }
        method.seconds = value;
    }
    if let Some(length) = &document.loop_length {
        let value = *length.get_ref();
        if !(1..=1_000).contains(&value) {
            let text = format!("loop_length {value}: expected 1 to 1000 operations");
            wrong(length.span().start, text);
        }
        method.loop_length = value;
    }
    if let Some(rule) = &document.refinement {
        let Rule {
            factor,
            error,
            most,
        } = *rule.get_ref();
        if !(factor >= 1.01 && error > 0.0 && most >= 2) {
            let text = "refinement: expected factor >= 1.01, error > 0 and most >= 2".to_owned();
            wrong(rule.span().start, text);
        }
        method.refinement = *rule.get_ref();
    }
    if let Some(tolerance_us) = document.tolerance_us {
        method.tolerance_ns = (tolerance_us.clamp(0.0, 1e9) * 1e3) as i64;
    }
    method.precision.error = document.error;
    method.reduction = document.reduction;
    method.figure = document.figure;
    method.element = document.element;
    method
}

/// Most repetitions of a point: their times are kept.
const MOST_REPETITIONS: usize = 1_000_000;

fn part(
    measure: Measure,
    line: Option<usize>,
    start: Option<StartScheme>,
    lines: &Lines<'_>,
) -> Result<Part, Problem> {
    let problem = |line, text: &str| Problem {
        line,
        text: text.to_owned(),
    };
    if measure.operations.is_empty() {
        return Err(problem(line, "operations is empty; name at least one"));
    }
    let lengths = match (measure.lengths, measure.from, measure.to) {
        (Some(lengths), None, None) => {
            let lengths = lines.given(lengths);
            if lengths.value.is_empty() {
                return Err(problem(lengths.line, "lengths is empty; name at least one"));
            }
            Given {
                value: Lengths::List(lengths.value),
                line: lengths.line,
            }
        }
        (None, Some(from), Some(to)) => {
            let from = lines.given(from);
            Given {
                value: Lengths::Range(from.value, to),
                line: from.line,
            }
        }
        (None, None, None) => Given {
            value: Lengths::List(vec![8]),
            line,
        },
        _ => return Err(problem(line, "give either lengths, or both from and to")),
    };
    let process_range = match (measure.from_processes, measure.to_processes) {
        (None, None) => None,
        (Some(_), Some(_)) if !measure.processes.is_empty() => {
            let text = "give either processes, or from_processes and to_processes";
            return Err(problem(line, text));
        }
        (Some(from), Some(to)) => {
            let from = lines.given(from);
            Some(Given {
                value: (from.value, to),
                line: from.line,
            })
        }
        _ => {
            let text = "give both from_processes and to_processes";
            return Err(problem(line, text));
        }
    };
    let arrivals = match (measure.arrivals, measure.delay_us) {
        (None, None) => None,
        (None, Some(_)) => return Err(problem(line, "delay_us without arrivals")),
        (Some(text), delay_us) => {
            let text = lines.given(text);
            let pattern = arrivals::Pattern::of_text(&text.value)
                .map_err(|expected| problem(text.line, &expected))?;
            let is_recorded = matches!(pattern, arrivals::Pattern::Recorded(_));
            let delay_us = match delay_us {
                Some(delay_us) if (0.0..=1e7).contains(&delay_us) => delay_us,
                None if is_recorded => 0.0,
                _ => {
                    let text = "arrivals need delay_us, the delay of the last process, up to 10 s";
                    return Err(problem(line, text));
                }
            };
            Some(Given {
                value: Arrivals {
                    pattern,
                    delay_ns: (delay_us * 1e3).round() as i64,
                },
                line: text.line,
            })
        }
    };
    let starts = match (measure.starts.is_empty(), start) {
        (true, Some(start)) => vec![start],
        _ => measure.starts,
    };
    Ok(Part {
        operations: lines.all(measure.operations),
        lengths,
        processes: lines.all(measure.processes),
        process_range,
        hosts: lines.all(measure.hosts),
        roots: lines.all(measure.roots),
        pieces: lines.all(measure.pieces),
        starts,
        arrivals,
        algorithms: measure.algorithms.map(|numbers| lines.all(numbers)),
    })
}
