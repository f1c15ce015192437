//! Any picture, for a file of its own or for the report.

use crate::{
    ClockOffsets, Comparison, Curves, Durations, Imbalance, InstanceTimeline, Intervals,
    MessageMatrix, OrderMap, RatioBars, RatioMap, Serialization, SideBySide, StackedBars, Timemap,
    Tree, WaitsOverTime,
};

/// A picture as data, before it is drawn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Picture {
    /// Mean time in each stage, one line per thread.
    Timemap(Timemap),
    /// Time until each rank has left, over the order of departure.
    Serialization(Serialization),
    /// Histogram of durations.
    Durations(Durations),
    /// How often each rank was at each position of an order.
    OrderMap(OrderMap),
    /// Waiting of each rank over time.
    WaitsOverTime(WaitsOverTime),
    /// Single instances.
    InstanceTimeline(InstanceTimeline),
    /// Where the last rank to arrive is.
    Imbalance(Imbalance),
    /// One thread in several configurations.
    Comparison(Comparison),
    /// Offsets of the clocks of hosts over the run.
    ClockOffsets(ClockOffsets),
    /// Timemaps of several traces on the same scales.
    SideBySide(SideBySide),
    /// One measured quantity over another.
    Curves(Curves),
    /// Times made up of parts.
    StackedBars(StackedBars),
    /// The tree of an operation.
    Tree(Tree),
    /// Who sends to whom.
    MessageMatrix(MessageMatrix),
    /// Grids of ratios.
    RatioMap(RatioMap),
    /// Ratios as bars.
    RatioBars(RatioBars),
    /// Values with their intervals.
    Intervals(Intervals),
}

impl Picture {
    /// The picture as an SVG document of its own.
    pub fn to_svg(&self) -> String {
        self.draw("collbench")
    }

    /// The picture as an `svg` element whose ids and styles are all below `id`, so that a page can
    /// have several. `id` must be unique in the page and consist of ASCII letters, digits and
    /// hyphens.
    pub(crate) fn draw(&self, id: &str) -> String {
        match self {
            Picture::Timemap(timemap) => timemap.draw(id),
            Picture::Serialization(serialization) => serialization.draw(id),
            Picture::Durations(durations) => durations.draw(id),
            Picture::OrderMap(order_map) => order_map.draw(id),
            Picture::WaitsOverTime(waits) => waits.draw(id),
            Picture::InstanceTimeline(timeline) => timeline.draw(id),
            Picture::Imbalance(imbalance) => imbalance.draw(id),
            Picture::Comparison(comparison) => comparison.draw(id),
            Picture::ClockOffsets(clocks) => clocks.draw(id),
            Picture::SideBySide(timemaps) => timemaps.draw(id),
            Picture::Curves(curves) => curves.draw(id),
            Picture::StackedBars(bars) => bars.draw(id),
            Picture::Tree(tree) => tree.draw(id),
            Picture::MessageMatrix(matrix) => matrix.draw(id),
            Picture::RatioMap(map) => map.draw(id),
            Picture::RatioBars(bars) => bars.draw(id),
            Picture::Intervals(intervals) => intervals.draw(id),
        }
    }
}

impl From<Timemap> for Picture {
    fn from(timemap: Timemap) -> Self {
        Picture::Timemap(timemap)
    }
}

impl From<Serialization> for Picture {
    fn from(serialization: Serialization) -> Self {
        Picture::Serialization(serialization)
    }
}

impl From<Durations> for Picture {
    fn from(durations: Durations) -> Self {
        Picture::Durations(durations)
    }
}

impl From<OrderMap> for Picture {
    fn from(order_map: OrderMap) -> Self {
        Picture::OrderMap(order_map)
    }
}

impl From<ClockOffsets> for Picture {
    fn from(clocks: ClockOffsets) -> Self {
        Picture::ClockOffsets(clocks)
    }
}

impl From<WaitsOverTime> for Picture {
    fn from(waits: WaitsOverTime) -> Self {
        Picture::WaitsOverTime(waits)
    }
}

impl From<InstanceTimeline> for Picture {
    fn from(timeline: InstanceTimeline) -> Self {
        Picture::InstanceTimeline(timeline)
    }
}

impl From<Imbalance> for Picture {
    fn from(imbalance: Imbalance) -> Self {
        Picture::Imbalance(imbalance)
    }
}

impl From<Comparison> for Picture {
    fn from(comparison: Comparison) -> Self {
        Picture::Comparison(comparison)
    }
}

impl From<SideBySide> for Picture {
    fn from(timemaps: SideBySide) -> Self {
        Picture::SideBySide(timemaps)
    }
}

impl From<Curves> for Picture {
    fn from(curves: Curves) -> Self {
        Picture::Curves(curves)
    }
}

impl From<StackedBars> for Picture {
    fn from(bars: StackedBars) -> Self {
        Picture::StackedBars(bars)
    }
}

impl From<Tree> for Picture {
    fn from(tree: Tree) -> Self {
        Picture::Tree(tree)
    }
}

impl From<MessageMatrix> for Picture {
    fn from(matrix: MessageMatrix) -> Self {
        Picture::MessageMatrix(matrix)
    }
}

impl From<RatioMap> for Picture {
    fn from(map: RatioMap) -> Self {
        Picture::RatioMap(map)
    }
}

impl From<RatioBars> for Picture {
    fn from(bars: RatioBars) -> Self {
        Picture::RatioBars(bars)
    }
}

impl From<Intervals> for Picture {
    fn from(intervals: Intervals) -> Self {
        Picture::Intervals(intervals)
    }
}
