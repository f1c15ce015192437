//! Pictures of documents: overhead ratios, pairs of concurrency ratios, impact of idle MPI.
//!
//! # Source
//! Denis et al. 2022, section 5.2, figures 6, 7 and 9.

use collbench_stats::spread::Spread;
use collbench_text::quantity::duration;
use collbench_viz::{
    Palette, Picture, RatioAxis, RatioBars, RatioCell, RatioMap, RatioScale, Text,
};

use super::document::{Document, Grid, MeasuredCell};
use super::journal::Plan;
use super::operation::Operation;
use super::summary::Summary;
use super::table::ratio;
use super::words;

/// A picture with the name of its file, its heading, and how it is read.
pub(super) struct Named {
    pub(super) file: String,
    pub(super) heading: &'static str,
    pub(super) caption: &'static str,
    pub(super) picture: Picture,
}

/// A figure of a cell with its title and scale.
type Figure = (&'static str, RatioScale, fn(&MeasuredCell) -> f64);

const OVERHEAD: Figure = ("overhead ratio", RatioScale::Overhead, |cell| {
    cell.ratios.overhead
});
const CONCURRENCY: [Figure; 2] = [
    ("communication ratio", RatioScale::FromZero, |cell| {
        cell.ratios.communication
    }),
    ("slowdown of the computation", RatioScale::FromOne, |cell| {
        cell.ratios.computation_slowdown
    }),
];

/// The pictures of an operation: overheads of all documents side by side, then a pair for each
/// document.
pub(super) fn of_operation(
    documents: &[Document],
    operation: Operation,
    palette: Palette,
) -> Vec<Named> {
    let grids: Vec<(usize, &Document, &Grid)> = documents
        .iter()
        .enumerate()
        .filter_map(|(idx, document)| {
            let mut grids = document.grids.iter();
            Some((
                idx,
                document,
                grids.find(|grid| grid.operation == operation)?,
            ))
        })
        .collect();
    let short = operation
        .name()
        .trim_start_matches("MPI_")
        .to_ascii_lowercase();
    let mut pictures = Vec::new();
    // Grids with the same axes share a picture.
    for alike in grids.chunk_by(|a, b| axes(a.1) == axes(b.1)) {
        let Some(&(first, ..)) = alike.first() else {
            continue;
        };
        let shown: Vec<&Document> = alike.iter().map(|grid| grid.1).collect();
        let mut map = map(&shown, finding(documents, operation, alike), palette);
        for (_, document, grid) in alike {
            let title = match alike.len() {
                1 => OVERHEAD.0.to_owned(),
                _ => format!("{}: {}", document.plan.configuration, OVERHEAD.0),
            };
            push(&mut map, &document.plan, grid, &title, OVERHEAD);
        }
        pictures.push(Named {
            file: format!("overhead-{short}{}", number(documents, first)),
            heading: "Overhead ratio",
            caption: "Communication alone to the right, computation alone upward: on the diagonal \
                      both take the same time. 0 is perfect overlap, 1 is one after the other, \
                      above 1 is slower than that, and below 0 a reference is imprecise. Cells with \
                      a dashed frame say little: one time is 100 times the other or more.",
            picture: map.into(),
        });
    }
    for (idx, document, grid) in grids {
        let alone = [(idx, document, grid)];
        let mut map = map(&[document], finding(documents, operation, &alone), palette);
        for figure in CONCURRENCY {
            push(&mut map, &document.plan, grid, figure.0, figure);
        }
        pictures.push(Named {
            file: format!("concurrency-{short}{}", number(documents, idx)),
            heading: "Concurrency ratios",
            caption: "On the left the time in calls of MPI by that of the communication alone: 0 is \
                      hidden, 1 is not hidden, above 1 is slower than alone. On the right the time \
                      of the computation by that without MPI: 1 is as fast as alone.",
            picture: map.into(),
        });
    }
    pictures
}

/// The impact of idle MPI on the computation, in all documents.
pub(super) fn impact(documents: &[Document]) -> Named {
    let mut wanted: Vec<u64> = documents
        .iter()
        .flat_map(|document| &document.plan.computation_ns)
        .copied()
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    let impact = |document: &Document, wanted_ns: u64| {
        let mut all = document.computations.iter();
        all.find(|one| one.computation.wanted_ns == wanted_ns)?
            .impact
    };
    let all = documents.iter().flat_map(|document| &document.computations);
    let finding = match Spread::of(all.filter_map(|one| one.impact)) {
        None => "Impact of idle MPI on the computation: not measured".to_owned(),
        Some(spread) => format!(
            "With idle MPI the computation takes {} to {} times as long as without",
            ratio(spread.min),
            ratio(spread.max)
        ),
    };
    let series = documents
        .iter()
        .map(|document| document.plan.configuration.as_str().into());
    let mut bars = RatioBars::new(
        finding,
        subtitle(documents),
        ["time of the computation".into(), "MPI impact ratio".into()],
        series.collect(),
    );
    for wanted_ns in wanted {
        bars.push(words(wanted_ns), |idx| {
            impact(documents.get(idx)?, wanted_ns)
        });
    }
    Named {
        file: "impact".to_owned(),
        heading: "Impact of idle MPI",
        caption: "Time of the computation with MPI initialized and idle, by that in a process \
                  without MPI. At the line, 1, there is no impact; a progress thread that polls \
                  raises it.",
        picture: bars.into(),
    }
}

fn axes(document: &Document) -> [&Vec<u64>; 2] {
    [
        &document.plan.communication_ns,
        &document.plan.computation_ns,
    ]
}

/// What is added to the name of a file where there are several documents.
fn number(documents: &[Document], idx: usize) -> String {
    if documents.len() > 1 {
        format!("-{}", idx + 1)
    } else {
        String::new()
    }
}

/// What ran, in each of some documents.
fn subtitle<'a>(documents: impl IntoIterator<Item = &'a Document>) -> String {
    let each = documents.into_iter().map(|document| {
        let busy = if document.surroundings.shares_cores {
            ", oversubscribed"
        } else {
            ""
        };
        format!(
            "{}: {} processes, {}{busy}",
            document.plan.configuration,
            document.plan.hosts.len(),
            library(&document.plan.mpi_library)
        )
    });
    each.collect::<Vec<String>>().join("; ")
}

/// The name and the version of an MPI library.
fn library(version: &str) -> String {
    let first = version.lines().next().unwrap_or_default();
    let first = first.split(',').next().unwrap_or_default();
    let words = first.split_whitespace();
    words
        .filter(|word| *word != "Version:")
        .collect::<Vec<&str>>()
        .join(" ")
}

/// The operation, and what most of its cells show.
fn finding(
    documents: &[Document],
    operation: Operation,
    of: &[(usize, &Document, &Grid)],
) -> String {
    let summaries = Summary::of_all(documents);
    let of_grid = |idx: usize| {
        let mut all = summaries.iter();
        all.find(|summary| (summary.operation, summary.document) == (operation, idx))
    };
    let verdicts = of.iter().filter_map(|(idx, document, _)| {
        let verdict = of_grid(*idx)?.verdict();
        Some(match of.len() {
            1 => verdict,
            _ => format!("{}: {verdict}", document.plan.configuration),
        })
    });
    let verdicts: Vec<String> = verdicts.collect();
    format!("{}: {}", operation.name(), verdicts.join("; "))
}

/// A picture of documents with the same axes, without grids.
fn map(documents: &[&Document], finding: String, palette: Palette) -> RatioMap {
    let plan = documents.first().map(|document| &document.plan);
    let (communication, computation) = plan.map_or((&[][..], &[][..]), |plan| {
        (&plan.communication_ns[..], &plan.computation_ns[..])
    });
    let axis = |title: &str, times: &[u64]| RatioAxis {
        title: title.into(),
        names: times.iter().map(|&ns| Text::from(words(ns))).collect(),
    };
    RatioMap::new(
        finding,
        subtitle(documents.iter().copied()),
        axis("communication alone", communication),
        axis("computation alone", computation),
        palette,
    )
}

/// Adds a grid, whose cells are by communication, then by computation.
fn push(map: &mut RatioMap, plan: &Plan, grid: &Grid, title: &str, (_, scale, figure): Figure) {
    let n_rows = plan.computation_ns.len();
    map.push(title, scale, |column, row| {
        let Some(cell) = grid.cells.get(column * n_rows + row) else {
            return RatioCell::default();
        };
        let wanted = format!(
            "communication {}, computation {}",
            words(cell.communication_ns),
            words(cell.computation_ns)
        );
        let tooltip = match (&cell.measured, cell.empty) {
            (Some(measured), _) => {
                let shown = |ns: f64| duration(ns.round() as i64);
                format!(
                    "{wanted}\nalone {} and {}, both {}\n{}\n{}",
                    shown(measured.communication_alone_ns),
                    shown(measured.computation_alone_ns),
                    shown(measured.total_ns),
                    figures_words(measured),
                    measured.diagnosis.words()
                )
            }
            (None, Some(why)) => format!("{wanted}: {}", why.words()),
            (None, None) => wanted,
        };
        RatioCell {
            value: cell.measured.as_ref().map(figure),
            is_doubtful: cell.is_far,
            tooltip: tooltip.into(),
        }
    });
}

fn figures_words(measured: &MeasuredCell) -> String {
    format!(
        "overhead ratio {}, communication ratio {}, slowdown {}",
        ratio(measured.ratios.overhead),
        ratio(measured.ratios.communication),
        ratio(measured.ratios.computation_slowdown)
    )
}
