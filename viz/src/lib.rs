//! Pictures from plain data.
//!
//! Small owned structs, filled from an analysis or a measurement, become an SVG picture or an HTML
//! page in a `String`. This crate reads and writes no files, knows neither MPI nor traces, and
//! cannot fail: its input types exclude invalid values. The same input gives the same bytes.
//!
//! A picture (a [`Timemap`], an [`OrderMap`] ...) becomes an SVG file by [`Picture::to_svg`], and a
//! [`Report`] shows any number of pictures in one page by [`Report::to_html`]. The report takes
//! pictures as data, not as finished SVG, so that it can give each its own ids and keep their
//! styles apart.
//!
//! Every string from outside passes through [`Text`], which makes control characters harmless.
#![forbid(unsafe_code)]

mod axes;
mod clock_offsets;
mod curves;
mod durations;
mod frame;
mod heat_map;
mod hops;
mod imbalance;
mod instance_timeline;
mod intervals;
mod labels;
mod message_matrix;
mod order_map;
mod picture;
mod ratios;
mod report;
mod serialization;
mod stacked_bars;
mod style;
mod svg;
mod text;
mod timemap;
mod tree;
mod waits_over_time;

pub use clock_offsets::{ClockOffsets, OffsetPoint};
pub use curves::{CurveAxis, Curves, Quantity, Stroke};
pub use durations::{Bar, DurationMarks, Durations};
pub use imbalance::{Blame, Imbalance, LateRank};
pub use instance_timeline::{InstanceTimeline, TimelineCall, TimelineInstance, TimelineMessage};
pub use intervals::{Interval, Intervals};
pub use message_matrix::{MessageMatrix, Traffic};
pub use order_map::{Order, OrderMap, Positions};
pub use picture::Picture;
pub use ratios::{Palette, RatioAxis, RatioBars, RatioCell, RatioMap, RatioScale};
pub use report::{
    Align, Cell, Column, Fact, Figure, FigureGroup, Findings, InstanceFigure, InstanceLink, Remark,
    Report, Table,
};
pub use serialization::{Departure, Serialization, StraightLine};
pub use stacked_bars::{BarPart, StackedBars};
pub use text::Text;
pub use timemap::{Comparison, Heading, Line, SideBySide, StageTime, Stages, Timemap};
pub use tree::{Messages, Tree, TreeNode, Waits};
pub use waits_over_time::{TimeBin, WaitsOverTime};
