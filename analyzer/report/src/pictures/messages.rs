//! Pictures of the messages inside a collective, of its most frequent tree.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    Join, OperationSummary, PathLine, PathStage, StageKind, TreeFigures, TreeSummary,
};
use collbench_stats::distribution::Summary;
use collbench_viz as viz;
use collbench_viz::{Departure, Heading, Line, MessageMatrix, StageTime, Stages, Traffic};

use super::title;
use crate::words::inside as words;

/// Caption of the timemap.
pub(super) const TIMEMAP: &str = "One line per rank runs from top to bottom through the stages of the \
     most frequent tree. How far it moves to the right in a row is the mean time in that stage. At \
     x = 0 the rank's data are at the root: left of it is the path to the root, right of it the path \
     from the root. Level 1 is next to the root. A row of a hop has the time from sending until the \
     receiver has the data, also if it was late for them. Serialization is waiting behind siblings while the \
     parent serves them. Ranks of one class have paths with the same stages and similar times.";
/// Caption of the curves of nodes.
pub(super) const NODES: &str = "x is the order in which a node serves its children. y is the mean \
     time that a child waits behind its siblings, from when the node sends to the first of them. The \
     slope is how much longer each further child waits. A node with many children has a long curve; \
     the node itself is in none.";
/// Caption of the matrix.
pub(super) const MATRIX: &str = "One row per sender, one column per receiver. A cell is filled where \
     messages were sent; it is darker where the mean transfer time of a message, once both ends are \
     ready, is longer than is usual within a host or between hosts. Processes of one host are adjacent; lines separate the hosts.";

/// Most nodes with curves: those that serve the most processes.
const MAX_CURVES: usize = 8;
/// Least number of points of a curve.
const MIN_CHILDREN: usize = 2;
/// Trees with more levels have one row for all of them.
const MAX_LEVELS: usize = 4;
/// Most classes that distinguish lines.
const MAX_CLASSES: usize = 8;

/// The most frequent tree with its figures.
pub(super) fn first(operation: &OperationSummary) -> Option<(&TreeSummary, &TreeFigures)> {
    let tree = operation.trees.as_ref()?.first()?;
    Some((tree, tree.figures.as_ref()?))
}

pub(super) fn heading(
    analysis: &Analysis,
    operation: &OperationSummary,
    figures: &TreeFigures,
    finding: String,
) -> Heading {
    let algorithm = operation.algorithm.as_deref();
    let algorithm = algorithm.map_or(String::new(), |name| format!(", {name}"));
    Heading {
        finding: finding.into(),
        operation: format!("{}{algorithm}", title(analysis, operation)).into(),
        n_instances: figures.n,
    }
}

pub(super) fn host(analysis: &Analysis, rank: u32) -> &str {
    let mut ranks = analysis.ranks.iter();
    ranks
        .find(|found| found.rank == rank)
        .map_or("unknown", |found| &found.host)
}

pub(super) fn time(summary: Option<&Summary>) -> Option<StageTime> {
    let summary = summary?;
    let error_ns = summary.uncertainty_ns.map(i64::unsigned_abs);
    Some(StageTime::new(summary.mean, summary.n)?.with_error(error_ns))
}

/// The message matrix; `None` if no messages were recorded, as over trees of the recorder.
pub(super) fn matrix(analysis: &Analysis, operation: &OperationSummary) -> Option<MessageMatrix> {
    let (tree, figures) = first(operation).filter(|(tree, _)| !tree.edges.is_empty())?;
    let communicator = analysis.communicators.get(operation.communicator?)?;
    let ranks: Vec<u32> = communicator.ranks.iter().copied().flatten().collect();
    let processes = ranks
        .iter()
        .map(|&rank| (format!("rank {rank}").into(), host(analysis, rank).into()));
    let index = |rank: u32| ranks.iter().position(|&other| other == rank);
    let traffic = tree.edges.iter().filter_map(|edge| {
        let measured = edge.measured.as_ref();
        Some(Traffic {
            from: index(edge.from)?,
            to: index(edge.to)?,
            messages: edge.messages,
            bytes: edge.bytes,
            transfer: time(measured.and_then(|measured| measured.transfer_ns.as_ref())),
        })
    });
    let finding = words::slowest_edge(analysis, tree);
    Some(MessageMatrix::new(
        heading(analysis, operation, figures, finding),
        processes.collect(),
        traffic,
    ))
}

/// A child of a node: how long it waits behind its siblings.
struct Child {
    rank: u32,
    wait: Summary,
}

/// The children of a node whose waits are known, in the order in which it serves them on average.
fn children(node: &Join) -> Vec<Child> {
    let others = node.departures.iter().filter(|of| of.rank != node.rank);
    let mut children: Vec<Child> = others
        .filter_map(|of| {
            Some(Child {
                rank: of.rank,
                wait: of.wait_ns.clone()?,
            })
        })
        .collect();
    children.sort_by_key(|child| (child.wait.mean, child.rank));
    children
}

/// Curves of the nodes that serve the most children; `None` if none serves several.
pub(super) fn nodes(
    analysis: &Analysis,
    operation: &OperationSummary,
) -> Option<viz::Serialization> {
    let (_, figures) = first(operation)?;
    let points = figures.joining_points.iter();
    let mut serving: Vec<(u32, Vec<Child>)> = points
        .map(|node| (node.rank, children(node)))
        .filter(|(_, children)| children.len() >= MIN_CHILDREN)
        .collect();
    serving.sort_by_key(|(rank, children)| (std::cmp::Reverse(children.len()), *rank));
    let most = serving.first()?.1.len();
    let costliest = serving.iter().max_by_key(|(rank, children)| {
        let rank = std::cmp::Reverse(*rank);
        (words::longer_behind_siblings(waits(children)), rank)
    });
    let (rank, served) = costliest?;
    let finding = format!(
        "At rank {rank} {}",
        words::behind_siblings(waits(served)).unwrap_or_default()
    );
    let heading = heading(analysis, operation, figures, finding);
    let mut curves = viz::Serialization::new(heading, u32::try_from(most).ok()?).of_nodes();
    for (rank, children) in serving.into_iter().take(MAX_CURVES) {
        let departures = (0..).zip(&children).filter_map(|(position, child)| {
            Some(Departure {
                position,
                time: time(Some(&child.wait))?,
                rank: Some(child.rank),
            })
        });
        curves.push(format!("rank {rank}").into(), departures, None);
    }
    Some(curves)
}

fn waits(children: &[Child]) -> impl Iterator<Item = i64> {
    children.iter().map(|child| child.wait.mean)
}

/// The row of a stage in the timemap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    /// Waiting at nodes of this level, counted from the root.
    Wait(usize),
    Node(usize),
    /// The edges between this level and the one closer to the root.
    Edge(usize),
}

/// The timemap over the stages of the tree; `None` for an exchange.
pub(super) fn timemap(analysis: &Analysis, operation: &OperationSummary) -> Option<viz::Timemap> {
    let (_, figures) = first(operation)?;
    if figures.joining_points.is_empty() {
        return None;
    }
    let rows = TimemapRows::of(&figures.lines)?;
    let finding = words::headline(analysis, operation)?;
    let heading = heading(analysis, operation, figures, finding);
    let mut timemap = viz::Timemap::new(heading, rows.names()).through_a_tree();
    for line in &figures.lines {
        let sums = rows.sums(&line.stages);
        // With many classes, hosts are more informative.
        let mut classes = figures.ways.iter();
        let class = if figures.ways.len() > MAX_CLASSES {
            None
        } else {
            classes.position(|class| class.ranks.contains(&line.rank))
        };
        let rank = Line {
            name: format!("rank {}", line.rank).into(),
            host: host(analysis, line.rank).into(),
            class: class.map(|class| format!("class {}", class + 1).into()),
        };
        // A path passes through a level that it is not on without spending time there.
        timemap.push(rank, |at| {
            let (ns, n) = sums[at];
            StageTime::new(ns, n.max(u64::from(ns == 0) * figures.n))
        });
    }
    Some(timemap)
}

/// The rows of a timemap, from top to bottom: those to the root, the root, those from the root.
struct TimemapRows {
    /// Whether each level has its own rows; if there are many, all levels share one.
    by_level: bool,
    down: Vec<Row>,
    up: Vec<Row>,
}

impl TimemapRows {
    /// `None` without paths.
    fn of(lines: &[PathLine]) -> Option<Self> {
        let has = |direction: &str| {
            let mut stages = lines.iter().flat_map(|line| &line.stages);
            stages.any(|stage| stage.direction.as_deref() == Some(direction))
        };
        let n_levels = lines.iter().map(|line| levels(&line.stages)).max()?;
        let by_level = n_levels <= MAX_LEVELS;
        let levels = if by_level { 0..=n_levels } else { 0..=0 };
        let rows_of = |level: usize| match (level, by_level) {
            (0, true) => vec![Row::Wait(0)],
            _ => vec![Row::Wait(level), Row::Node(level), Row::Edge(level)],
        };
        let down = if has("down") {
            levels.clone().rev().flat_map(rows_of).collect()
        } else {
            Vec::new()
        };
        let up = if has("up") {
            let rows = levels.flat_map(|level| rows_of(level).into_iter().rev());
            rows.collect()
        } else {
            Vec::new()
        };
        Some(Self { by_level, down, up })
    }

    fn names(&self) -> Stages {
        let named = |rows: &[Row], waits, serves, edge| {
            let names = rows
                .iter()
                .map(|&row| self.name(row, waits, serves, edge).into());
            names.collect()
        };
        Stages {
            down: named(&self.down, "wait for others", "processing", "hop to root"),
            core: Some("root".into()),
            up: named(&self.up, "serialization", "forwarding", "hop from root"),
        }
    }

    fn name(&self, row: Row, waits: &str, serves: &str, edge: &str) -> String {
        match (row, self.by_level) {
            (Row::Wait(_), false) => waits.to_owned(),
            (Row::Node(_), false) => serves.to_owned(),
            (Row::Edge(_), false) => edge.to_owned(),
            (Row::Wait(0), true) => format!("{waits}, root"),
            (Row::Wait(level), true) => format!("{waits}, level {level}"),
            (Row::Node(level), true) => format!("{serves}, level {level}"),
            (Row::Edge(level), true) => format!("{edge}, level {level}"),
        }
    }

    /// For each row the mean time of a path there, ns, and its number of instances.
    fn sums(&self, stages: &[PathStage]) -> Vec<(i64, u64)> {
        let level = |row: Row| if self.by_level { row } else { flat(row) };
        let root = self.down.len();
        let mut sums = vec![(0_i64, 0_u64); root + 1 + self.up.len()];
        for (stage, row) in rows(stages) {
            let at = match (stage.direction.as_deref(), row) {
                (Some("down"), Some(row)) => {
                    self.down.iter().position(|&other| other == level(row))
                }
                (Some("up"), Some(row)) => {
                    let at = self.up.iter().position(|&other| other == level(row));
                    at.map(|at| root + 1 + at)
                }
                _ => Some(root),
            };
            if let Some(at) = at {
                sums[at].0 = sums[at].0.saturating_add(stage.mean_ns);
                sums[at].1 = sums[at].1.max(stage.n);
            }
        }
        sums
    }
}

fn flat(row: Row) -> Row {
    match row {
        Row::Wait(_) => Row::Wait(0),
        Row::Node(_) => Row::Node(0),
        Row::Edge(_) => Row::Edge(0),
    }
}

/// Whether it is a path through a spanning tree of our own, whose levels are its wrappers: from one to
/// the next there need not be a hop.
fn is_through_wrappers(stages: &[PathStage]) -> bool {
    stages.iter().any(|stage| !stage.wrappers.is_empty())
}

/// Whether a path through a spanning tree of our own comes to its next level with this stage.
fn begins_level(stage: &PathStage) -> bool {
    match stage.direction.as_deref() {
        Some("down") => stage.kind == StageKind::ArrivalWait,
        _ => matches!(stage.kind, StageKind::NodeUp | StageKind::Exit),
    }
}

/// Number of edges of the longer of the two directions.
fn levels(stages: &[PathStage]) -> usize {
    if is_through_wrappers(stages) {
        let of = |direction: &str| {
            let stages = stages.iter().filter(|stage| begins_level(stage));
            let of = stages.filter(|stage| stage.direction.as_deref() == Some(direction));
            of.count()
        };
        return of("down").max(of("up"));
    }
    let hops = |direction: &str| {
        let hops = stages.iter().filter(|stage| {
            stage.direction.as_deref() == Some(direction)
                && matches!(stage.kind, StageKind::Transfer | StageKind::TwoWay)
        });
        hops.count()
    };
    hops("down").max(hops("up"))
}

/// The stages of a path, each with its row; `None`: the stage of the root.
fn rows(stages: &[PathStage]) -> Vec<(&PathStage, Option<Row>)> {
    let is_own = is_through_wrappers(stages);
    let is_down = |stage: &&PathStage| stage.direction.as_deref() == Some("down");
    // To the root the level decreases with each edge, from the root it increases.
    let n_down = stages
        .iter()
        .filter(is_down)
        .filter(|stage| {
            if is_own {
                begins_level(stage)
            } else {
                is_hop(stage)
            }
        })
        .count();
    let (mut level, mut rows) = (n_down, Vec::new());
    for stage in stages {
        let is_up = stage.direction.as_deref() == Some("up");
        if is_own && begins_level(stage) {
            level = if is_up {
                level + 1
            } else {
                level.saturating_sub(1)
            };
        }
        let is_edge = matches!(
            stage.kind,
            StageKind::Transfer | StageKind::TwoWay | StageKind::LateReceiver
        ) || stage.kind == StageKind::LateProgress && stage.from.is_some();
        let row = match stage.kind {
            StageKind::Core => None,
            _ if is_edge => Some(Row::Edge(level + usize::from(is_up))),
            StageKind::ArrivalWait | StageKind::DepartureWait | StageKind::LateProgress => {
                Some(Row::Wait(level))
            }
            _ => Some(Row::Node(level)),
        };
        rows.push((stage, row));
        if is_hop(stage) && !is_own {
            level = if is_up {
                level + 1
            } else {
                level.saturating_sub(1)
            };
        }
    }
    rows
}

fn is_hop(stage: &PathStage) -> bool {
    matches!(stage.kind, StageKind::Transfer | StageKind::TwoWay)
}
