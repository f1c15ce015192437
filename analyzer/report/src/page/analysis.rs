//! The page around the pictures: facts, verdict, remarks, tables.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::OperationSummary;
use collbench_text::quantity;
use collbench_viz as viz;
use collbench_viz::{Align, Cell, Column, Fact, FigureGroup};

use crate::pictures::{self, PictureFile};
use crate::words;

/// Most characters of the name of an algorithm.
const MAX_ALGORITHM: usize = 80;
/// Names up to this length are not broken, even on a narrow page.
const MAX_UNBROKEN: usize = 32;
/// Most sentences on unfinished operations at the end.
const MAX_UNFINISHED: usize = 8;

/// The page; `of_run` are the pictures of the whole run, `groups` the operations with pictures, by
/// time.
pub(super) fn page(
    analysis: &Analysis,
    of_run: Vec<PictureFile>,
    groups: Vec<FigureGroup>,
) -> viz::Report {
    let trace = &analysis.trace;
    let command = trace.command.join(" ");
    let fact = |name: &str, value: String| Fact {
        name: name.into(),
        value: value.into(),
    };
    let calls_ns = analysis.collectives_ns();
    let mut verdict = words::verdict(analysis);
    if !trace.complete {
        let findings = quantity::counted(trace.damage.len() as u64, "finding");
        let incomplete =
            format!("The trace is incomplete: {findings}, see trace.damage in analysis.json.");
        let in_words = words::hang::sentences(analysis)
            .into_iter()
            .take(MAX_UNFINISHED);
        let unfinished = in_words.map(|sentence| words::capitalized(&sentence) + ".");
        verdict.splice(0..0, std::iter::once(incomplete).chain(unfinished));
    }
    let (closing, of_run): (Vec<PictureFile>, Vec<PictureFile>) =
        of_run.into_iter().partition(PictureFile::is_closing);
    let efficiencies = words::efficiencies::sentence(analysis);
    viz::Report {
        title: format!("collbench: {}", collbench_text::inert::line(&command, 200)).into(),
        lead: format!(
            "{}. Collective calls: {}.",
            words::ran(analysis),
            words::calls(analysis)
        )
        .into(),
        facts: [
            fact("command", command),
            fact("ranks", trace.ranks.to_string()),
            fact("hosts", hosts(&trace.hosts)),
            fact("MPI library", trace.mpi_library.clone()),
            fact("duration", quantity::duration(trace.duration_ns)),
            fact(
                "collectives",
                format!(
                    "{}, {} summed over all ranks",
                    quantity::counted(trace.calls, "call"),
                    quantity::duration(calls_ns)
                ),
            ),
            fact(
                "clock",
                format!(
                    "{}; {}",
                    analysis.clock.source,
                    words::alignment(&analysis.clock)
                ),
            ),
        ]
        .into_iter()
        .chain(efficiencies.map(|sentence| fact("POP efficiencies", sentence)))
        .collect(),
        verdict: verdict.join("\n").into(),
        remarks: analysis
            .remarks
            .iter()
            .map(|remark| viz::Remark {
                code: remark.code().into(),
                text: words::remarks::remark(analysis, remark).into(),
            })
            .collect(),
        operations: operations(analysis),
        ranks: ranks(analysis),
        figures: of_run.into_iter().map(|shown| shown.figure).collect(),
        groups,
        closing: closing.into_iter().map(|shown| shown.figure).collect(),
    }
}

/// The names of the hosts; with many, only the first.
fn hosts(names: &[String]) -> String {
    const MAX_NAMES: usize = 16;
    let shown: Vec<String> = names
        .iter()
        .take(MAX_NAMES)
        .map(|name| collbench_text::inert::line(name, 100))
        .collect();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The section of the page on one operation.
pub(super) fn group(
    analysis: &Analysis,
    operation: &OperationSummary,
    shown: Vec<PictureFile>,
) -> FigureGroup {
    FigureGroup {
        heading: pictures::title(analysis, operation).into(),
        row: analysis
            .operations
            .iter()
            .position(|other| std::ptr::eq(other, operation)),
        finding: words::finding(operation).into(),
        facts: facts(analysis, operation),
        figures: shown.into_iter().map(|shown| shown.figure).collect(),
    }
}

fn facts(analysis: &Analysis, operation: &OperationSummary) -> Vec<Fact> {
    let time = operation.call_time_ns.as_ref();
    let duration = operation.duration_ns.as_ref();
    let rows = [
        (
            "calls",
            format!(
                "{} in {}, {} incomplete",
                operation.calls,
                quantity::counted(operation.instances, "instance"),
                operation.incomplete
            ),
        ),
        (
            "time",
            time.map_or_else(
                || "not known".to_owned(),
                |time| {
                    format!(
                        "{} summed over all ranks; median call {}",
                        quantity::duration(time.total),
                        quantity::duration(time.median)
                    )
                },
            ),
        ),
        (
            "instance",
            duration.map_or_else(
                || "not known".to_owned(),
                |duration| {
                    let error_ns = duration.uncertainty_ns.map(i64::unsigned_abs);
                    format!(
                        "median {} from the first enter to the last leave, longest {} (n = {}){}",
                        quantity::duration(duration.median),
                        quantity::duration(duration.max),
                        duration.n,
                        words::uncertainty::after(duration.median, error_ns)
                    )
                },
            ),
        ),
        ("arrives last", words::arrivals::cell(analysis, operation)),
    ];
    let seen = words::inside::paragraph(analysis, operation);
    let rows = rows.into_iter().chain(seen.map(|seen| ("inside", seen)));
    let fact = |(name, value): (&str, String)| Fact {
        name: name.into(),
        value: value.into(),
    };
    rows.map(fact).collect()
}

fn column(name: &str, align: Align) -> Column {
    Column {
        name: name.into(),
        align,
    }
}

fn operations(analysis: &Analysis) -> viz::Table {
    let columns = [
        // First what narrow screens should show.
        column("operation", Align::Left),
        column("total time", Align::Right),
        column("waiting", Align::Right),
        column("arrives last", Align::Left),
        column("communicator", Align::Left),
        column("root", Align::Right),
        column("bytes", Align::Right),
        column("calls", Align::Right),
        column("instances", Align::Right),
        column("median call", Align::Right),
        column("algorithm", Align::Left),
    ];
    viz::Table::new(
        columns,
        analysis.operations.iter().map(|operation| {
            let time = operation.call_time_ns.as_ref();
            [
                Cell::words(&*operation.operation),
                known(time, |time| duration(time.total)),
                waiting(operation),
                // Must not be broken in a narrow column.
                Cell::words(words::arrivals::cell(analysis, operation).replace(' ', "\u{a0}")),
                Cell::words(words::communicator(analysis, operation.communicator, 40)),
                known(operation.root, |root| count(u64::from(root))),
                known(operation.bytes_max, |bytes| {
                    Cell::number(words::bytes(operation), key(bytes))
                }),
                count(operation.calls),
                instances(operation),
                known(time, |time| duration(time.median)),
                known(operation.algorithm.as_deref(), |name| {
                    let name = collbench_text::inert::line(name, MAX_ALGORITHM);
                    Cell::words(if name.len() <= MAX_UNBROKEN {
                        name.replace(' ', "\u{a0}")
                    } else {
                        name
                    })
                }),
            ]
        }),
    )
}

fn ranks(analysis: &Analysis) -> viz::Table {
    let columns = [
        column("rank", Align::Right),
        column("host", Align::Left),
        column("calls", Align::Right),
        column("time in calls", Align::Right),
        column("waiting", Align::Right),
        column("arrived last", Align::Right),
        column("arrived first", Align::Right),
    ];
    viz::Table::new(
        columns,
        analysis.ranks.iter().map(|rank| {
            [
                count(rank.rank.into()),
                Cell::words(collbench_text::inert::line(&rank.host, 60)),
                count(rank.calls),
                duration(rank.call_time_ns),
                known(rank.wait_ns, duration),
                count(rank.last),
                count(rank.first),
            ]
        }),
    )
}

/// The cell of a known value, else a dash.
fn known<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell) -> Cell {
    value.map_or_else(|| Cell::words("-"), cell)
}

fn key(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn count(n: u64) -> Cell {
    Cell::number(n.to_string(), key(n))
}

/// `79`, or `79 (+3 incomplete)`.
fn instances(operation: &OperationSummary) -> Cell {
    let text = match operation.incomplete {
        0 => operation.instances.to_string(),
        n => format!("{} (+{n} incomplete)", operation.instances),
    };
    Cell::number(text, key(operation.instances))
}

fn duration(ns: i64) -> Cell {
    Cell::number(quantity::duration(ns), ns)
}

/// Sorted by the time waited: of two equal shares, that of the longer time is more interesting.
fn waiting(operation: &OperationSummary) -> Cell {
    let text = words::waiting(operation);
    match &operation.wait_ns {
        Some(wait) if text != "-" => Cell::number(text, wait.total),
        _ => Cell::words(text),
    }
}
