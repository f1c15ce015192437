//! Tables of spanning trees of our own: what each stage takes, and each path.

use collbench_analyzer::Analysis;
use collbench_analyzer::compare::{Comparison, StageDifferences, TreeDifferences};
use collbench_analyzer::results::{MeanTime, OwnTreeSummary, RankPath, StageKind};
use collbench_text::{inert, quantity};
use collbench_viz as viz;
use collbench_viz::{Align, Cell};

use crate::page::cells::{count, duration, known};
use crate::words::changes::Row;
use crate::words::comparison::letter;
use crate::words::difference::verdict_on;
use crate::words::own_trees as words;
use crate::words::{sides, tree_differences};

/// Rows of a table.
const MAX_ROWS: usize = 2000;
/// Characters of the name of a tree.
const MAX_NAME: usize = 60;

/// A spanning tree of our own, and the operation that ran on it.
type Own<'a> = (&'a str, &'a OwnTreeSummary);

fn own_trees(analysis: &Analysis) -> impl Iterator<Item = Own<'_>> {
    let operations = analysis.operations.iter();
    operations.flat_map(|operation| {
        let trees = operation.trees.iter().flatten();
        let own = trees.filter_map(|tree| tree.own.as_ref());
        own.map(|own| (&*operation.operation, own))
    })
}

/// What each stage takes, over all who pass it; empty without trees of our own.
pub(super) fn stages(analysis: &Analysis) -> viz::Table {
    let rows = own_trees(analysis).flat_map(|(operation, own)| {
        own.stages.iter().map(move |stage| {
            let kind = tree_differences::stage_name(stage.kind, stage.direction.as_deref());
            let at = words::wrappers(own, &stage.wrappers);
            [
                Cell::words(operation),
                Cell::words(inert::line(&own.name, MAX_NAME)),
                Cell::words(kind),
                Cell::words(at.unwrap_or_else(|| "the root".to_owned())),
                count(stage.time.n),
                duration(stage.time.mean_ns),
                known(stage.time.sd_ns, duration),
                Cell::words(interval(&stage.time)),
            ]
        })
    });
    let rows: Vec<[Cell; 8]> = rows.take(MAX_ROWS).collect();
    let columns = [
        ("operation", Align::Left),
        ("tree", Align::Left),
        ("stage", Align::Left),
        ("at", Align::Left),
        ("times", Align::Right),
        ("mean", Align::Right),
        ("deviation", Align::Right),
        ("mean, 95 % interval", Align::Right),
    ];
    table(columns, rows)
}

/// What the path of each rank, or of each of its threads, takes.
pub(super) fn paths(analysis: &Analysis) -> viz::Table {
    let rows = own_trees(analysis).flat_map(|(operation, own)| {
        own.paths.iter().map(move |path| {
            let whole = path.path_ns.as_ref();
            let own_time = path.without_waits.as_ref();
            let slowest = own.slowest.iter();
            let slowest = slowest.filter(|it| (it.rank, it.thread) == (path.rank, path.thread));
            let [waits, to_root, core, from_root] = parts(path);
            [
                Cell::words(operation),
                Cell::words(inert::line(&own.name, MAX_NAME)),
                count(path.rank.into()),
                count(path.thread.into()),
                known(whole.map(|whole| whole.mean), duration),
                known(own_time.map(|time| time.mean_ns), duration),
                known(own_time.and_then(|time| time.sd_ns), duration),
                duration(waits),
                duration(to_root),
                duration(core),
                duration(from_root),
                count(slowest.map(|it| it.instances).sum()),
            ]
        })
    });
    let rows: Vec<[Cell; 12]> = rows.take(MAX_ROWS).collect();
    let columns = [
        ("operation", Align::Left),
        ("tree", Align::Left),
        ("rank", Align::Right),
        ("thread", Align::Right),
        ("path", Align::Right),
        ("without waits", Align::Right),
        ("deviation of that", Align::Right),
        ("waiting for others", Align::Right),
        ("to the root", Align::Right),
        ("core", Align::Right),
        ("from the root", Align::Right),
        ("slowest path in", Align::Right),
    ];
    table(columns, rows)
}

/// Mean times of a path: waits for those that arrive later, and the rest of it to the root, at it, and
/// from it.
fn parts(path: &RankPath) -> [i64; 4] {
    let mut parts = [0i64; 4];
    for stage in &path.stages {
        let part = match (stage.kind, stage.direction.as_deref()) {
            (StageKind::ArrivalWait, _) => 0,
            (_, Some("down")) => 1,
            (_, Some("up")) => 3,
            _ => 2,
        };
        parts[part] = parts[part].saturating_add(stage.mean_ns);
    }
    parts
}

/// The stages of the trees of two traces or more, and how they differ from the first; of two sides how these differ.
pub(super) fn differences(comparison: &Comparison) -> viz::Table {
    let rows: Vec<Row<'_>> = match &comparison.sides {
        Some(sides) => (sides.operations.iter())
            .map(|of| sides::row(comparison, of))
            .collect(),
        None => (comparison.operations.iter())
            .flat_map(|operation| operation.differences.iter().map(move |of| (operation, of)))
            .collect(),
    };
    let all = rows.into_iter().flat_map(|(operation, differences)| {
        let trees = differences.trees.iter();
        let stages = trees.flat_map(|trees| trees.stages.iter().map(move |stage| (trees, stage)));
        let name = match &comparison.sides {
            Some(_) => "B".to_owned(),
            None => letter(differences.trace),
        };
        stages.map(move |(trees, stage)| compared(&operation.operation, &name, trees, stage))
    });
    let rows: Vec<[Cell; 10]> = all.take(MAX_ROWS).collect();
    let columns = [
        ("operation", Align::Left),
        ("trace", Align::Left),
        ("stage", Align::Left),
        ("at", Align::Left),
        ("configuration", Align::Left),
        ("mean in A", Align::Right),
        ("deviation", Align::Right),
        ("mean there", Align::Right),
        ("deviation", Align::Right),
        ("change from A (?: not distinguishable)", Align::Left),
    ];
    table(columns, rows)
}

fn compared(
    operation: &str,
    name: &str,
    trees: &TreeDifferences,
    stage: &StageDifferences,
) -> [Cell; 10] {
    let mean = |time: &Option<MeanTime>| known(time.as_ref().map(|time| time.mean_ns), duration);
    let deviation =
        |time: &Option<MeanTime>| known(time.as_ref().and_then(|time| time.sd_ns), duration);
    let difference = stage.difference.as_ref();
    [
        Cell::words(operation),
        Cell::words(name),
        Cell::words(tree_differences::kind(stage)),
        Cell::words(tree_differences::place(trees, stage)),
        Cell::words(tree_differences::configuration(stage.configuration)),
        mean(&stage.baseline),
        deviation(&stage.baseline),
        mean(&stage.other),
        deviation(&stage.other),
        Cell::words(difference.map_or_else(|| "-".to_owned(), verdict_on)),
    ]
}

/// The table; empty without rows, so that the page has none.
fn table<const N: usize>(columns: [(&str, Align); N], rows: Vec<[Cell; N]>) -> viz::Table {
    if rows.is_empty() {
        return viz::Table::default();
    }
    viz::Table::new(columns, rows)
}

fn interval(time: &MeanTime) -> String {
    match time.interval_ns {
        Some((low, high)) => format!(
            "{} to {}",
            quantity::duration(low),
            quantity::duration(high)
        ),
        None => "too few".to_owned(),
    }
}
