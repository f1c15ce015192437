//! The page around the pictures: facts, verdict, remarks, tables.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::OperationSummary;
use collbench_text::quantity;
use collbench_viz as viz;
use collbench_viz::{Align, Cell, Fact, FigureGroup, Findings, InstanceLink};

use crate::page::cells::{count, duration, key, known};
use crate::page::own_trees;
use crate::pictures::instances::Instances;
use crate::pictures::{self, PictureFile};
use crate::words;
use crate::words::findings;
use crate::words::inside::Paragraph;

/// Most characters of the name of an algorithm.
const MAX_ALGORITHM: usize = 80;
/// Operations in the table.
const MAX_OPERATIONS: usize = 1_000;
/// Names up to this length are not broken, even on a narrow page.
const MAX_UNBROKEN: usize = 32;
/// Most sentences on unfinished operations at the end, and on what files lack.
const MAX_AT_END: usize = 8;

/// The page; `of_run` are the pictures of the whole run, `groups` the operations with pictures, by
/// time.
pub(super) fn page(
    analysis: &Analysis,
    (inside, instances): (&[Paragraph], &Instances<'_>),
    of_run: Vec<PictureFile>,
    groups: Vec<FigureGroup>,
) -> viz::Report {
    let (closing, of_run): (Vec<PictureFile>, Vec<PictureFile>) =
        of_run.into_iter().partition(PictureFile::is_closing);
    let command = analysis.trace.command.join(" ");
    let remarks = analysis.remarks.iter();
    let remarks = remarks.filter(|remark| !findings::is_said_elsewhere(analysis, remark));
    let verdict = verdict(analysis);
    let findings = all_findings(analysis, inside, &groups);
    viz::Report {
        title: format!("collbench: {}", collbench_text::inert::line(&command, 200)).into(),
        lead: format!(
            "{}. Collective calls: {}.",
            words::ran(analysis),
            words::calls(analysis)
        )
        .into(),
        facts: facts_of_run(analysis),
        worst: worst(analysis, &verdict, instances),
        verdict: verdict.join("\n").into(),
        on_instances: on_instances(&findings, instances),
        findings,
        remarks: remarks
            .map(|remark| viz::Remark {
                code: remark.code().into(),
                text: words::remarks::remark(analysis, remark).into(),
            })
            .collect(),
        operations: operations(analysis),
        sites: sites(analysis),
        stages: own_trees::stages(analysis),
        paths: own_trees::paths(analysis),
        ranks: ranks(analysis),
        figures: of_run.into_iter().map(|shown| shown.figure).collect(),
        links: links(&groups, instances),
        instances: instances.figures(),
        instances_caption: pictures::instances::CAPTION.into(),
        groups,
        closing: closing.into_iter().map(|shown| shown.figure).collect(),
    }
}

/// The run in detail.
fn facts_of_run(analysis: &Analysis) -> Vec<Fact> {
    let trace = &analysis.trace;
    let mut facts = vec![
        ("command", trace.command.join(" ")),
        ("ranks", trace.ranks.to_string()),
        ("hosts", hosts(&trace.hosts)),
        ("MPI library", trace.mpi_library.clone()),
        ("duration", quantity::duration(trace.duration_ns)),
        (
            "collectives",
            format!(
                "{}, {} summed over all ranks",
                quantity::counted(trace.calls, "call"),
                quantity::duration(analysis.collectives_ns())
            ),
        ),
    ];
    facts.extend(
        words::efficiencies::sentence(analysis).map(|sentence| ("POP efficiencies", sentence)),
    );
    facts.extend(words::restriction(analysis).map(|part| ("part", part)));
    facts.extend(words::kept(analysis).map(|kept| ("kept", kept)));
    facts.push(("clock", words::clock(analysis)));
    if analysis.clock.hosts.len() > 1 {
        facts.push(("alignment of the clocks", words::alignment(&analysis.clock)));
    }
    facts.extend(words::phases(analysis).map(|phases| ("phase", phases)));
    let names = words::names_by_library(analysis, usize::MAX);
    facts.extend(
        names
            .into_iter()
            .map(|names| ("names by the library", names)),
    );
    let fact = |(name, value): (&str, String)| Fact {
        name: name.into(),
        value: value.into(),
    };
    facts.into_iter().map(fact).collect()
}

/// What is wrong: who hung, what is missing, what the program does wrong, who is late.
fn verdict(analysis: &Analysis) -> Vec<String> {
    let mut verdict = Vec::new();
    if !analysis.trace.complete {
        let sentence = |sentence: String| words::capitalized(&sentence) + ".";
        verdict.extend(limited(words::hang::sentences(analysis)).map(sentence));
        verdict.push(findings::covers(analysis));
        verdict.extend(limited(findings::what_lacks(&analysis.trace.damage)).map(sentence));
    }
    verdict.extend(findings::errors_of_the_program(analysis));
    verdict.extend(words::verdict(analysis));
    verdict.extend(words::faster::sentence(analysis));
    verdict
}

/// Lines of the verdict that name a cause, and the instance that shows best what it costs.
fn worst(
    analysis: &Analysis,
    verdict: &[String],
    instances: &Instances<'_>,
) -> Vec<(usize, usize)> {
    let causes = analysis.causes.iter().filter(|cause| cause.matters);
    let worst: Vec<(String, usize)> = causes
        .filter_map(|cause| {
            let instance = instances.worst_of(cause)?;
            Some((words::causes::sentence(analysis, cause), instance))
        })
        .collect();
    let lines = verdict.iter().enumerate().filter_map(|(line, words)| {
        let found = worst
            .iter()
            .find(|(sentence, _)| words.contains(sentence))?;
        Some((line, found.1))
    });
    lines.collect()
}

/// The first sentences, and how many others there are.
fn limited(mut sentences: Vec<String>) -> impl Iterator<Item = String> {
    let n_more = sentences.len().saturating_sub(MAX_AT_END);
    sentences.truncate(MAX_AT_END);
    let more = (n_more > 0).then(|| format!("and {n_more} more, see analysis.json"));
    sentences.into_iter().chain(more)
}

/// What else was found; what was found inside an operation with pictures stands beside these.
fn all_findings(
    analysis: &Analysis,
    inside: &[Paragraph],
    groups: &[FigureGroup],
) -> Vec<Findings> {
    let is_in_group = |paragraph: &&Paragraph| {
        paragraph
            .operation
            .is_some_and(|of| groups.iter().any(|group| group.row == Some(of)))
    };
    let inside = inside.iter().filter(|paragraph| !is_in_group(paragraph));
    let (mut also, _) = findings::also(analysis);
    also.extend(not_shown(analysis));
    let kinds: [(&str, Vec<String>); 4] = [
        ("Algorithms", words::algorithms::sentences(analysis)),
        (
            "Inside collectives",
            inside.map(|paragraph| paragraph.text.clone()).collect(),
        ),
        ("Also", also),
        ("Adaptation", words::adaptations::sentences(analysis)),
    ];
    let findings = kinds.into_iter().map(|(heading, sentences)| Findings {
        heading: heading.into(),
        sentences: sentences
            .iter()
            .map(|sentence| words::capitalized(sentence).into())
            .collect(),
    });
    findings.collect()
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

/// Sentences on a single instance that the page has.
fn on_instances(findings: &[Findings], instances: &Instances<'_>) -> Vec<(usize, usize, usize)> {
    let findings = findings.iter().enumerate();
    let sentences = findings.flat_map(|(of, findings)| {
        let sentences = findings.sentences.iter().enumerate();
        sentences.map(move |(at, sentence)| (of, at, sentence))
    });
    let on_instances = sentences
        .filter_map(|(of, at, words)| Some((of, at, instances.outlier_in(words.as_str())?)));
    on_instances.collect()
}

/// Links to instances of the operations with pictures.
fn links(groups: &[FigureGroup], instances: &Instances<'_>) -> Vec<InstanceLink> {
    let groups = groups.iter().enumerate();
    let of_operation = groups.filter_map(|(group, figures)| Some((group, figures.row?)));
    let links = of_operation.flat_map(|(group, operation)| {
        let links = instances.links(operation).into_iter();
        links.map(move |(instance, words)| InstanceLink {
            group,
            instance,
            words,
        })
    });
    links.collect()
}

/// The section of the page on one operation.
pub(super) fn group(
    analysis: &Analysis,
    inside: &[Paragraph],
    operation: &OperationSummary,
    shown: Vec<PictureFile>,
) -> FigureGroup {
    let row = pictures::index_of(analysis, operation);
    let paragraph = inside
        .iter()
        .find(|paragraph| row.is_some() && paragraph.operation == row);
    let seen = match paragraph {
        Some(paragraph) => Some(paragraph.text.clone()),
        None => words::inside::paragraph(analysis, operation),
    };
    FigureGroup {
        heading: heading(analysis, operation).into(),
        row,
        finding: words::finding(operation).into(),
        facts: facts(analysis, operation, seen),
        figures: shown.into_iter().map(|shown| shown.figure).collect(),
    }
}

/// An operation with what identifies it, and with its algorithm where another operation differs in nothing else.
fn heading(analysis: &Analysis, operation: &OperationSummary) -> String {
    let title = pictures::title(analysis, operation);
    let of = |operation: &OperationSummary| {
        let name = operation.operation.clone();
        let place = (operation.communicator, operation.root);
        (name, place, words::bytes(operation))
    };
    let is_same = |other: &&OperationSummary| of(other) == of(operation);
    let n_same = analysis.operations.iter().filter(is_same).count();
    match &operation.algorithm {
        Some(algorithm) if n_same > 1 => {
            let algorithm = collbench_text::inert::line(algorithm, MAX_ALGORITHM);
            format!("{title}, {algorithm}")
        }
        _ => title,
    }
}

fn facts(analysis: &Analysis, operation: &OperationSummary, seen: Option<String>) -> Vec<Fact> {
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
    let overlapped = words::overlap::of_operation(operation);
    let rows = (rows.into_iter())
        .chain(seen.map(|seen| ("inside", seen)))
        .chain(overlapped.map(|overlapped| ("overlap", overlapped)));
    let fact = |(name, value): (&str, String)| Fact {
        name: name.into(),
        value: value.into(),
    };
    rows.map(fact).collect()
}

/// The operations that the table has: of thousands the ones with the most time.
fn shown_operations(analysis: &Analysis) -> &[OperationSummary] {
    &analysis.operations[..analysis.operations.len().min(MAX_OPERATIONS)]
}

/// How many operations the table has, if not all.
fn not_shown(analysis: &Analysis) -> Option<String> {
    let (n, shown) = (analysis.operations.len(), shown_operations(analysis).len());
    (shown < n).then(|| {
        format!(
            "The table has the {shown} operations with the most time, of {n}: collbench-analyze --full \
             writes all to analysis.json"
        )
    })
}

fn operations(analysis: &Analysis) -> viz::Table {
    let columns = [
        // First what narrow screens should show.
        ("operation", Align::Left),
        ("total time", Align::Right),
        ("waiting", Align::Right),
        ("arrives last", Align::Left),
        ("communicator", Align::Left),
        ("root", Align::Right),
        ("bytes", Align::Right),
        ("calls", Align::Right),
        ("instances", Align::Right),
        ("median call", Align::Right),
        ("algorithm", Align::Left),
    ];
    let table = viz::Table::new(
        columns,
        shown_operations(analysis).iter().map(|operation| {
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
                    Cell::words(if name.len() <= MAX_UNBROKEN && analysis.sites.is_empty() {
                        name.replace(' ', "\u{a0}")
                    } else {
                        name
                    })
                }),
            ]
        }),
    );
    if analysis.sites.is_empty() {
        return table;
    }
    let of_rows = shown_operations(analysis).iter();
    let of_rows: Vec<Vec<String>> = of_rows
        .map(|operation| words::call_sites::of_operation(analysis, operation))
        .collect();
    let cells = of_rows.iter().map(|places| match &places[..] {
        [] => Cell::words("-"),
        [place] => Cell::words(&**place),
        [place, others @ ..] => Cell::words(format!("{place} and {} more", others.len())),
    });
    let table = table.with_column(("called at", Align::Left), cells);
    let texts = |places: &Vec<String>| places.iter().map(|place| place.as_str().into()).collect();
    table.with_sites(of_rows.iter().map(texts).collect())
}

/// The places from which collectives are called; no table where that was not recorded.
fn sites(analysis: &Analysis) -> viz::Table {
    if analysis.sites.is_empty() {
        return viz::Table::default();
    }
    let columns = [
        ("called at", Align::Left),
        ("operation", Align::Left),
        ("ranks", Align::Right),
        ("calls", Align::Right),
        ("total time", Align::Right),
        ("wait", Align::Right),
    ];
    let rows = words::call_sites::rows(analysis);
    let places = rows
        .iter()
        .map(|((place, _), _)| vec![place.as_str().into()]);
    let places = places.collect();
    let table = viz::Table::new(
        columns,
        rows.iter().map(|((place, operation), row)| {
            [
                Cell::words(&**place),
                Cell::words(*operation),
                count(row.ranks.len() as u64),
                count(row.calls),
                duration(row.time_ns),
                known(row.wait_ns, duration),
            ]
        }),
    );
    let texts = rows.iter();
    let texts: Vec<_> = texts
        .map(|(_, row)| words::call_sites::text(analysis, row.site))
        .collect();
    let table = if texts.iter().any(Option::is_some) {
        let cells = texts.into_iter();
        let cells = cells.map(|text| Cell::words(text.unwrap_or_else(|| "-".to_owned())));
        table.with_column(("source line", Align::Left), cells)
    } else {
        table
    };
    table.with_sites(places)
}

fn ranks(analysis: &Analysis) -> viz::Table {
    let columns = [
        ("rank", Align::Right),
        ("host", Align::Left),
        ("calls", Align::Right),
        ("time in calls", Align::Right),
        ("waiting", Align::Right),
        ("arrived last", Align::Right),
        ("arrived first", Align::Right),
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

/// `79`, or `79 (+3 incomplete)`.
fn instances(operation: &OperationSummary) -> Cell {
    let text = match operation.incomplete {
        0 => operation.instances.to_string(),
        n => format!("{} (+{n} incomplete)", operation.instances),
    };
    Cell::number(text, key(operation.instances))
}

/// Sorted by the time waited: of two equal shares, that of the longer time is more interesting.
fn waiting(operation: &OperationSummary) -> Cell {
    let text = words::waiting(operation);
    match &operation.wait_ns {
        Some(wait) if text != "-" => Cell::number(text, wait.total),
        _ => Cell::words(text),
    }
}
