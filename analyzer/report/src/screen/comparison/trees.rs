//! The stages of spanning trees of our own that differ, on the screen.

use collbench_analyzer::compare::{ComparisonVerdict, StageDifferences, TreeDifferences};
use collbench_text::{inert, quantity};

use crate::screen::lines::{Screen, cell, fitting_lines, table_lines};
use crate::words::changes::{Row, is_named};
use crate::words::difference::verdict_on;
use crate::words::tree_differences as words;

/// Operations whose trees are shown, for one comparison and for each of several.
const TREES: [usize; 2] = [2, 1];
/// Stages that are shown of each.
const ROWS: [usize; 2] = [6, 3];
/// Columns for the wrappers of a stage: on wider screens, and on narrow ones.
const PLACES: [usize; 4] = [44, 36, 28, 20];

/// What was reconfigured, what changed though it was not, and the stages that differ most, in what is called `other`.
pub(super) fn trees(screen: &mut Screen, rows: &[&Row<'_>], (other, is_one): (&str, bool)) {
    let at = usize::from(!is_one);
    let trees = rows.iter().flat_map(|(operation, differences)| {
        let trees = differences.trees.iter();
        trees.map(move |trees| (*operation, trees))
    });
    let all: Vec<_> = trees.collect();
    for (operation, trees) in all.iter().take(TREES[at]) {
        screen.item(&words::headline(trees));
        let names = words::names(trees);
        let counts = counts(&trees.stages);
        screen.item(&format!(
            "stages of {} over {names}: {counts}",
            operation.operation
        ));
        stages(screen, other, trees, ROWS[at]);
    }
    if let Some(n @ 1..) = all.len().checked_sub(TREES[at]) {
        let more = quantity::counted(n as u64, "more tree");
        screen.item(&format!("and {more}: see trees in comparison.json"));
    }
}

/// How many stages have which verdict.
fn counts(stages: &[StageDifferences]) -> String {
    let kinds = [
        (ComparisonVerdict::Slower, "slower"),
        (ComparisonVerdict::Faster, "faster"),
        (
            ComparisonVerdict::NotDistinguishable,
            "not distinguishable (?)",
        ),
        (ComparisonVerdict::NotResolvable, "not resolvable"),
        (ComparisonVerdict::TooFew, "with too few instances"),
    ];
    let n = |wanted: Option<ComparisonVerdict>| {
        let those = stages.iter().filter(|stage| stage.verdict() == wanted);
        those.count()
    };
    let mut words: Vec<String> = kinds
        .into_iter()
        .map(|(verdict, name)| (n(Some(verdict)), name))
        .filter(|(n, name)| *n > 0 || *name == "slower")
        .map(|(n, name)| format!("{n} {name}"))
        .collect();
    let n_alone = n(None);
    if n_alone > 0 {
        words.push(format!("{n_alone} in one of the trees only"));
    }
    words.join(", ")
}

/// The stages that differ most.
fn stages(screen: &mut Screen, other: &str, trees: &TreeDifferences, most: usize) {
    let mut rows: Vec<&StageDifferences> = trees.stages.iter().collect();
    rows.retain(|stage| stage.difference.is_some());
    // Stable: of equal changes the stage that comes first on a path.
    rows.sort_by_key(|stage| {
        let is_certain = stage.verdict().is_some_and(is_named);
        std::cmp::Reverse((is_certain, stage.is_cost(), stage.change_ns()))
    });
    let n_more = rows.len().saturating_sub(most);
    rows.truncate(most);
    let lines = fitting_lines(&PLACES, screen.columns(), |width, is_narrow| {
        table(other, trees, &rows, (width, is_narrow))
    });
    for line in lines {
        screen.row(&line);
    }
    if n_more > 0 {
        let more = quantity::counted(n_more as u64, "more stage");
        screen.item(&format!("and {more}: see trees in comparison.json"));
    }
}

fn table(
    other: &str,
    trees: &TreeDifferences,
    rows: &[&StageDifferences],
    (place_width, is_narrow): (usize, bool),
) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let cell = |text| cell(text, is_narrow);
    let heads = [
        "stage".to_owned(),
        "at".to_owned(),
        "configuration".to_owned(),
        "A's mean".to_owned(),
        cell(format!("{other} vs A (95 % interval)")),
    ];
    let rows = rows.iter().map(|stage| {
        let mean = stage.baseline.as_ref().map(|time| time.mean_ns);
        let difference = stage.difference.as_ref();
        [
            words::kind(stage).to_owned(),
            inert::line(&words::place(trees, stage), place_width),
            words::configuration(stage.configuration).to_owned(),
            mean.map_or_else(|| "-".to_owned(), quantity::duration),
            cell(difference.map_or_else(|| "-".to_owned(), verdict_on)),
        ]
    });
    table_lines(heads, rows, |column| column == 3, Some(3))
}
