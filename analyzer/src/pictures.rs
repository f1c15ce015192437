//! Results to pictures: which there are, what their files are called, how each is read.

use collbench_formats::Operation;
use collbench_viz::{Figure, Picture};

use crate::analysis::{Analysis, OperationSummary};
use crate::words;

mod timemap;

/// What the names of files begin with, for pictures of one operation.
const KINDS: [&str; 1] = ["timemap"];

/// A picture, and the file for it alone.
pub(crate) struct Shown {
    /// Name of the file: `timemap-3-MPI_Bcast.svg`.
    pub(crate) file: String,
    /// The picture, with what stands beside it.
    pub(crate) figure: Figure,
}

/// The `top` first operations, each with its pictures in the order in which they are to be read.
pub(crate) fn of_operations(
    analysis: &Analysis,
    top: usize,
) -> impl Iterator<Item = (&OperationSummary, Vec<Shown>)> {
    let drawn = drawn(analysis, top).zip(1..);
    drawn.map(|(operation, number)| (operation, of_operation(analysis, number, operation)))
}

/// The operations that get pictures: the first ones by time of which there is a whole instance.
fn drawn(analysis: &Analysis, top: usize) -> impl Iterator<Item = &OperationSummary> {
    let operations = analysis.operations.iter();
    operations.filter(|o| !o.threads.is_empty()).take(top)
}

/// The pictures of one operation, the `number`-th that gets some.
fn of_operation(analysis: &Analysis, number: usize, operation: &OperationSummary) -> Vec<Shown> {
    let shown = |kind: &str, heading: &str, caption: &str, picture: Picture| Shown {
        file: format!("{kind}-{number}-{}.svg", operation.operation),
        figure: Figure {
            heading: heading.into(),
            caption: caption.into(),
            picture,
        },
    };
    vec![shown(
        "timemap",
        "Timemap: mean time of each rank in each stage",
        timemap::caption(operation),
        timemap::timemap(analysis, operation).into(),
    )]
}

/// Whether a file has the name of a picture: `timemap-3-MPI_Bcast.svg`.
pub(crate) fn is_picture(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".svg") else {
        return false;
    };
    KINDS.iter().any(|kind| {
        let parts = stem
            .strip_prefix(kind)
            .and_then(|rest| rest.strip_prefix('-'))
            .and_then(|rest| rest.split_once('-'));
        parts.is_some_and(|(number, operation)| {
            number.parse::<usize>().is_ok()
                && Operation::ALL.iter().any(|known| known.name() == operation)
        })
    })
}

/// An operation with what else tells it apart.
pub(crate) fn title(analysis: &Analysis, operation: &OperationSummary) -> String {
    let mut title = format!(
        "{}, {}",
        operation.operation,
        words::communicator(analysis, operation.communicator, 60)
    );
    if let Some(root) = operation.root {
        title.push_str(&format!(", root {root}"));
    }
    if operation.bytes_max.is_some_and(|bytes| bytes > 0) {
        title.push_str(&format!(", {} bytes", words::bytes(operation)));
    }
    title
}
