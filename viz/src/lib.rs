//! Pictures from plain data.
//!
//! The last step of a datum's journey: what the analysis or a measurement found, as small owned
//! structs, becomes an SVG picture or an HTML page in a `String`. This crate reads and writes no
//! files, knows no MPI and no traces, and cannot fail: its inputs cannot hold nonsense. The same
//! input gives the same bytes.
//!
//! A picture (a [`Timemap`], an [`OrderMap`] ...) is drawn to a file of its own by
//! [`Picture::to_svg`], and a [`Report`] shows any number of pictures in one page by
//! [`Report::to_html`]. The pictures go into the report as data, not as finished SVG: only so can
//! the report give each its own ids and keep its style from leaking into the next.
//!
//! Every string from outside passes through [`Text`], which makes control characters inert.
#![forbid(unsafe_code)]

mod axes;
mod clock_offsets;
mod curves;
mod durations;
mod frame;
mod heat_map;
mod imbalance;
mod labels;
mod message_matrix;
mod order_map;
mod picture;
mod report;
mod serialization;
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
pub use message_matrix::{MessageMatrix, Traffic};
pub use order_map::{Order, OrderMap, Positions};
pub use picture::Picture;
pub use report::{Align, Cell, Column, Fact, Figure, FigureGroup, Remark, Report, Table};
pub use serialization::{Departure, Serialization, StraightLine};
pub use text::Text;
pub use timemap::{Comparison, Heading, Line, SideBySide, StageTime, Stages, Timemap};
pub use tree::{Tree, TreeNode, Waits};
pub use waits_over_time::{TimeBin, WaitsOverTime};
