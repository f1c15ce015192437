//! Any picture, for a file of its own or for the report.

use crate::{
    ClockOffsets, Comparison, Curves, Durations, Imbalance, InstanceTimeline, Intervals,
    MessageMatrix, OrderMap, RatioBars, RatioMap, Serialization, SideBySide, StackedBars, Timemap,
    Tree, WaitsOverTime,
};

/// Makes the pictures from a table: what each shows, and its type.
macro_rules! pictures {
    ($(#[$shows:meta] $picture:ident,)*) => {
        /// A picture as data, before it is drawn.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum Picture {
            $(#[$shows] $picture($picture),)*
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
                    $(Picture::$picture(picture) => picture.draw(id),)*
                }
            }
        }

        $(impl From<$picture> for Picture {
            fn from(picture: $picture) -> Self {
                Picture::$picture(picture)
            }
        })*
    };
}

pictures! {
    /// Mean time in each stage, one line per thread.
    Timemap,
    /// Time until each rank has left, over the order of departure.
    Serialization,
    /// Histogram of durations.
    Durations,
    /// How often each rank was at each position of an order.
    OrderMap,
    /// Waiting of each rank over time.
    WaitsOverTime,
    /// Single instances.
    InstanceTimeline,
    /// Where the last rank to arrive is.
    Imbalance,
    /// One thread in several configurations.
    Comparison,
    /// Offsets of the clocks of hosts over the run.
    ClockOffsets,
    /// Timemaps of several traces on the same scales.
    SideBySide,
    /// One measured quantity over another.
    Curves,
    /// Times made up of parts.
    StackedBars,
    /// The tree of an operation.
    Tree,
    /// Who sends to whom.
    MessageMatrix,
    /// Grids of ratios.
    RatioMap,
    /// Ratios as bars.
    RatioBars,
    /// Values with their intervals.
    Intervals,
}
