//! Any picture, for files of its own and for the report.

use crate::{
    ClockOffsets, Comparison, Curves, Durations, Imbalance, MessageMatrix, OrderMap, Serialization,
    SideBySide, Timemap, Tree, WaitsOverTime,
};

/// A picture as data, not yet drawn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Picture {
    /// Mean time in each stage, one line per thread.
    Timemap(Timemap),
    /// Time until each has left, against the order of departure.
    Serialization(Serialization),
    /// How many instances took how long.
    Durations(Durations),
    /// How often each rank was at each position of an order.
    OrderMap(OrderMap),
    /// What each rank waited when.
    WaitsOverTime(WaitsOverTime),
    /// Where the last to arrive comes from.
    Imbalance(Imbalance),
    /// One thread under several configurations.
    Comparison(Comparison),
    /// How the clocks of hosts went.
    ClockOffsets(ClockOffsets),
    /// Timemaps of several traces on the same scales.
    SideBySide(SideBySide),
    /// One measured quantity against another.
    Curves(Curves),
    /// The tree that ran.
    Tree(Tree),
    /// Who sent to whom.
    MessageMatrix(MessageMatrix),
}

impl Picture {
    /// The picture as an SVG document for a file of its own.
    pub fn to_svg(&self) -> String {
        self.draw("collbench")
    }

    /// The picture as an `svg` element whose ids and styles all lie under `id`, so that several
    /// can stand in one page. `id` must be unique in the page and made of ASCII letters, digits
    /// and hyphens.
    pub(crate) fn draw(&self, id: &str) -> String {
        match self {
            Picture::Timemap(timemap) => timemap.draw(id),
            Picture::Serialization(serialization) => serialization.draw(id),
            Picture::Durations(durations) => durations.draw(id),
            Picture::OrderMap(order_map) => order_map.draw(id),
            Picture::WaitsOverTime(waits) => waits.draw(id),
            Picture::Imbalance(imbalance) => imbalance.draw(id),
            Picture::Comparison(comparison) => comparison.draw(id),
            Picture::ClockOffsets(clocks) => clocks.draw(id),
            Picture::SideBySide(timemaps) => timemaps.draw(id),
            Picture::Curves(curves) => curves.draw(id),
            Picture::Tree(tree) => tree.draw(id),
            Picture::MessageMatrix(matrix) => matrix.draw(id),
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
