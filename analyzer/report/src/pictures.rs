//! Makes pictures of results: which ones there are, the names of their files, and their captions.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::OperationSummary;
use collbench_formats::Operation;
use collbench_text::quantity;
use collbench_viz::{Figure, Order, Picture, Text};

use crate::pictures::instances::Instances;
use crate::words;
use crate::words::export::{self, Format, Part};

mod adaptation;
mod clocks;
pub(crate) mod comparison;
mod durations;
mod imbalance;
pub(crate) mod instances;
mod messages;
mod orders;
mod serialization;
pub(crate) mod timemap;
mod tree;
mod waits;

/// Prefixes of the file names of pictures of one operation, and what is exported of these.
const KINDS: [(&str, Format); 12] = [
    (ADAPTATION, Format::Parquet),
    ("timeline", Format::Perfetto),
    ("timemap", Format::Parquet),
    ("arrival-order", Format::Parquet),
    ("departure-order", Format::Parquet),
    ("serialization", Format::Parquet),
    ("imbalance", Format::Parquet),
    ("durations", Format::Parquet),
    ("tree", Format::Parquet),
    ("timemap-inside", Format::Parquet),
    ("node-serialization", Format::Parquet),
    ("messages", Format::Parquet),
];
/// Suffix of the file name of a timemap without waits.
const WITHOUT_WAITS: &str = "-without-waits";
/// File names of pictures of the whole run, and what is exported of these.
const OF_RUN: [(&str, Format); 3] = [
    (WAITS, Format::Perfetto),
    (CLOCK, Format::Parquet),
    (TIMELINE, Format::Perfetto),
];
/// Prefix of the file names of pictures of several candidates.
const ADAPTATION: &str = "adaptation";
const TIMELINE: &str = "timeline.svg";
const WAITS: &str = "waits-over-time.svg";
const CLOCK: &str = "clock.svg";

/// A picture and its own file.
pub(crate) struct PictureFile {
    /// Name of the file: `timemap-3-MPI_Bcast.svg`.
    pub(crate) file: String,
    /// The picture with its texts.
    pub(crate) figure: Figure,
    /// The graph in Graphviz' language, for a file of the same name with the extension `.dot`.
    pub(crate) dot: Option<String>,
}

impl PictureFile {
    /// A picture of `kind` for the operation with number `number` among those with pictures, called
    /// `operation`.
    pub(crate) fn of(
        (number, operation): (usize, &str),
        kind: &str,
        heading: &str,
        caption: &str,
        picture: impl Into<Picture>,
    ) -> Self {
        Self {
            file: format!("{kind}-{number}-{operation}.svg"),
            figure: Figure {
                heading: heading.into(),
                caption: caption.into(),
                export: Text::default(),
                on_demand: false,
                picture: picture.into(),
            },
            dot: None,
        }
    }

    /// With the command that exports what it shows.
    fn exporting(mut self, analysis: &Analysis, part: Part<'_>) -> Self {
        let command = |format| export::command(analysis, part, format);
        self.figure.export = format_of(&self.file).map(command).unwrap_or_default();
        self
    }

    /// Shown on demand only.
    fn on_demand(mut self) -> Self {
        self.figure.on_demand = true;
        self
    }

    /// Whether it shows how times were measured, and belongs at the end of the page.
    pub(crate) fn is_closing(&self) -> bool {
        self.file == CLOCK
    }
}

/// The first `top` operations, each with its pictures in reading order.
pub(crate) fn of_operations<'a>(
    analysis: &'a Analysis,
    top: usize,
    instances: &'a Instances<'a>,
) -> impl Iterator<Item = (&'a OperationSummary, Vec<PictureFile>)> {
    let drawn = drawn(analysis, top).zip(1..);
    drawn.map(|(operation, number)| {
        let pictures = of_operation(analysis, number, operation, instances);
        let part = Part::Operation(number, operation);
        let pictures = pictures.into_iter();
        let pictures = pictures.map(|picture| picture.exporting(analysis, part));
        (operation, pictures.collect())
    })
}

/// The instances that the page has, whose operations with pictures are the first `top`.
pub(crate) fn instances(analysis: &Analysis, top: usize) -> Instances<'_> {
    let drawn: Vec<usize> = drawn(analysis, top)
        .filter_map(|operation| index_of(analysis, operation))
        .collect();
    Instances::of(analysis, &drawn)
}

/// Index of an operation in the results.
pub(crate) fn index_of(analysis: &Analysis, operation: &OperationSummary) -> Option<usize> {
    let mut operations = analysis.operations.iter();
    operations.position(|other| std::ptr::eq(other, operation))
}

/// The operations with pictures: the first by time among those with a complete instance.
fn drawn(analysis: &Analysis, top: usize) -> impl Iterator<Item = &OperationSummary> {
    let operations = analysis.operations.iter();
    operations.filter(|o| !o.threads().is_empty()).take(top)
}

/// The pictures of one operation, which has the number `number` among those with pictures.
fn of_operation(
    analysis: &Analysis,
    number: usize,
    operation: &OperationSummary,
    instances: &Instances<'_>,
) -> Vec<PictureFile> {
    let shown = |kind: &str, heading: &str, caption: &str, picture: Picture| {
        PictureFile::of(
            (number, &*operation.operation),
            kind,
            heading,
            caption,
            picture,
        )
    };
    let with_waits = timemap::timemap(analysis, operation);
    let without_waits = timemap::without_waits(operation, &with_waits);
    let mut pictures = vec![shown(
        "timemap",
        "Timemap: mean time of each rank in each stage",
        timemap::caption(operation),
        with_waits.into(),
    )];
    pictures.extend(tree::picture(analysis, operation).map(|picture| {
        let mut shown = shown(
            "tree",
            "The most frequent tree",
            &tree::caption(operation),
            picture.into(),
        );
        shown.dot = tree::dot(analysis, operation);
        shown
    }));
    pictures.extend(imbalance::of_operation(analysis, operation).map(|summary| {
        let is_last = words::arrivals::is_last(&operation.operation);
        let heading = format!("Load imbalance: which rank {is_last}");
        let graph = imbalance::picture(analysis, summary);
        let mut shown = shown("imbalance", &heading, imbalance::CAPTION, graph.into());
        shown.dot = Some(imbalance::dot(analysis, summary));
        shown
    }));
    let order_map = |order, kind, heading| {
        let map = orders::order_map(analysis, operation, order);
        map.map(|map| shown(kind, heading, &orders::caption(order), map.into()))
    };
    let arrival = order_map(Order::Arrival, "arrival-order", "Order of arrival");
    pictures.extend(arrival);
    pictures.extend(messages::matrix(analysis, operation).map(|matrix| {
        let heading = "Messages between processes";
        shown("messages", heading, messages::MATRIX, matrix.into())
    }));
    pictures.extend(messages::timemap(analysis, operation).map(|timemap| {
        let heading = "Timemap over the stages of this tree";
        shown("timemap-inside", heading, messages::TIMEMAP, timemap.into())
    }));
    pictures.extend(messages::nodes(analysis, operation).map(|nodes| {
        let heading = "Serialization at the nodes of this tree";
        shown("node-serialization", heading, messages::NODES, nodes.into())
    }));
    pictures.extend(
        durations::durations(analysis, operation, instances).map(|durations| {
            let heading = "Durations of the instances";
            shown("durations", heading, durations::CAPTION, durations.into())
        }),
    );
    // What seldom says more than the others is shown on demand.
    pictures.extend(without_waits.map(|timemap| {
        let heading = "Timemap without the waits";
        let mut shown = shown("timemap", heading, timemap::CAPTION_WITHOUT, timemap.into());
        shown.file = shown.file.replace(".svg", &format!("{WITHOUT_WAITS}.svg"));
        shown.on_demand()
    }));
    let departure = order_map(Order::Departure, "departure-order", "Order of departure");
    pictures.extend(departure.map(PictureFile::on_demand));
    pictures.extend(
        serialization::serialization(analysis, operation).map(|curve| {
            let heading = "Serialization: how much later each further rank leaves";
            let caption = serialization::CAPTION;
            shown("serialization", heading, caption, curve.into()).on_demand()
        }),
    );
    pictures
}

/// The timeline of the instance of each of the first `top` operations that its links name first.
pub(crate) fn timelines(
    analysis: &Analysis,
    top: usize,
    instances: &Instances<'_>,
) -> Vec<PictureFile> {
    let drawn = drawn(analysis, top).zip(1..);
    let timelines = drawn.filter_map(|(operation, number)| {
        let timeline = instances.first_of(index_of(analysis, operation)?)?;
        let name = (number, &*operation.operation);
        Some(PictureFile::of(name, "timeline", "", "", timeline))
    });
    timelines.collect()
}

/// Pictures of the whole run.
pub(crate) fn of_run(analysis: &Analysis, instances: &Instances<'_>) -> Vec<PictureFile> {
    let all = instances::of_all(analysis).map(|timeline| PictureFile {
        file: TIMELINE.to_owned(),
        figure: Figure {
            heading: "Timeline of all collectives".into(),
            caption: instances::CAPTION_OF_ALL.into(),
            export: Text::default(),
            on_demand: false,
            picture: timeline.into(),
        },
        dot: None,
    });
    let waits = waits::waits_over_time(analysis, instances).map(|waits| PictureFile {
        file: WAITS.to_owned(),
        figure: Figure {
            heading: "Waits over time".into(),
            caption: waits::CAPTION.into(),
            export: Text::default(),
            on_demand: false,
            picture: waits.into(),
        },
        dot: None,
    });
    let clocks = clocks::clock_offsets(analysis).map(|clocks| PictureFile {
        file: CLOCK.to_owned(),
        figure: Figure {
            heading: "Clocks of the hosts".into(),
            caption: clocks::CAPTION.into(),
            export: Text::default(),
            on_demand: false,
            picture: clocks.into(),
        },
        dot: None,
    });
    let adaptations = (1..).zip(adaptation::of_run(analysis));
    let adaptations = adaptations.map(|(number, (operation, curves))| {
        let heading = "Which candidate was used when";
        PictureFile::of(
            (number, operation),
            ADAPTATION,
            heading,
            adaptation::CAPTION,
            curves,
        )
    });
    let pictures = waits.into_iter().chain(all).chain(adaptations);
    let pictures = pictures.chain(clocks);
    pictures
        .map(|picture| picture.exporting(analysis, Part::Run))
        .collect()
}

/// Whether a file has the name of a picture: `timemap-3-MPI_Bcast.svg`.
pub(crate) fn is_picture(name: &str) -> bool {
    format_of(name).is_some()
}

/// What is exported of a picture, by the name of its file; `None` if it is not that of a picture.
fn format_of(name: &str) -> Option<Format> {
    if let Some((_, format)) = OF_RUN.iter().find(|(of_run, _)| *of_run == name) {
        return Some(*format);
    }
    let is_graph = name.starts_with("imbalance-") || name.starts_with("tree-");
    let stem = match name.strip_suffix(".dot") {
        Some(stem) if is_graph => Some(stem),
        _ => name.strip_suffix(".svg"),
    };
    let stem = stem?;
    let kind = KINDS.iter().find(|(kind, _)| {
        let parts = stem
            .strip_prefix(kind)
            .and_then(|rest| rest.strip_prefix('-'))
            .and_then(|rest| rest.split_once('-'));
        parts.is_some_and(|(number, operation)| {
            let operation = match *kind {
                "timemap" => operation.strip_suffix(WITHOUT_WAITS).unwrap_or(operation),
                _ => operation,
            };
            number.parse::<usize>().is_ok()
                && Operation::ALL.iter().any(|known| known.name() == operation)
        })
    });
    kind.map(|(_, format)| *format)
}

/// An operation with everything that identifies it.
pub(crate) fn title(analysis: &Analysis, operation: &OperationSummary) -> String {
    let mut title = format!(
        "{}, {}",
        operation.operation,
        words::communicator(analysis, operation.communicator, 60)
    );
    if let Some(root) = operation.root {
        title.push_str(&format!(", root {root}"));
    }
    if let Some((least, most @ 1..)) = operation.bytes_min.zip(operation.bytes_max) {
        title.push_str(&format!(", {}", quantity::size_range(least, most)));
    }
    title
}
