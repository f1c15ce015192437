//! Ratios over a grid of two quantities, and ratios as bars.
//!
//! A [`RatioMap`] has one or more grids of the same axes side by side, such as the communication
//! ratio beside the slowdown of the computation. A [`RatioBars`] has one group of bars for each
//! value of a quantity, with a line at 1.
//!
//! # Source
//! Denis et al. 2022, section 5.2: the colours of [`Palette::Published`], figures 6, 7 and 9.

mod bars;
mod color;
mod map;

use crate::Text;
use crate::frame::Head;
use crate::svg::at;

/// Which ratio a grid shows: which values are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatioScale {
    /// 0 is good, 1 is none of it, above 1 is harm, below 0 is imprecise.
    Overhead,
    /// 0 is good, 1 and more is bad.
    FromZero,
    /// 1 is good, more is bad.
    FromOne,
}

/// Colours of the ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// Those of Denis et al.: green, yellow and red with blue below 0 for overheads, blue to red for
    /// the other ratios.
    Published,
    /// Colours that differ in lightness, for all readers and for print without colour.
    Lightness,
}

/// One cell of a grid.
#[derive(Debug, Clone, Default)]
pub struct RatioCell {
    /// The ratio; `None` if the cell is empty. A value that is not finite is not shown either.
    pub value: Option<f64>,
    /// Whether the cell is marked as one that says little.
    pub is_doubtful: bool,
    /// What is shown at the pointer.
    pub tooltip: Text,
}

/// An axis of a grid.
#[derive(Debug, Clone)]
pub struct RatioAxis {
    /// Its title.
    pub title: Text,
    /// Name of each column or row, from the left or from below.
    pub names: Vec<Text>,
}

/// Grids of ratios side by side.
#[derive(Debug, Clone)]
pub struct RatioMap {
    finding: Text,
    subtitle: Text,
    x: RatioAxis,
    y: RatioAxis,
    palette: Palette,
    panels: Vec<Panel>,
}

#[derive(Debug, Clone)]
struct Panel {
    title: Text,
    scale: RatioScale,
    /// By column, then by row from below.
    cells: Vec<RatioCell>,
}

impl RatioMap {
    /// A picture without a grid yet.
    pub fn new(
        finding: impl Into<Text>,
        subtitle: impl Into<Text>,
        x: RatioAxis,
        y: RatioAxis,
        palette: Palette,
    ) -> RatioMap {
        RatioMap {
            finding: finding.into(),
            subtitle: subtitle.into(),
            x,
            y,
            palette,
            panels: Vec::new(),
        }
    }

    /// Adds a grid at the right; `cell` gives the cell of a column and a row, the lowest row first.
    pub fn push(
        &mut self,
        title: impl Into<Text>,
        scale: RatioScale,
        mut cell: impl FnMut(usize, usize) -> RatioCell,
    ) {
        let (n_columns, n_rows) = (self.x.names.len(), self.y.names.len());
        let places = (0..n_columns).flat_map(|column| (0..n_rows).map(move |row| (column, row)));
        self.panels.push(Panel {
            title: title.into(),
            scale,
            cells: places.map(|(column, row)| cell(column, row)).collect(),
        });
    }

    fn head(&self) -> Head {
        Head::new(&self.finding, self.subtitle.as_str())
    }
}

/// Greatest ratio that is drawn as a bar.
const MOST: f64 = 1e6;

/// Ratios as bars, in groups.
#[derive(Debug, Clone)]
pub struct RatioBars {
    finding: Text,
    subtitle: Text,
    /// Title of the axis of the groups.
    axis: Text,
    /// Title of the axis of the ratios.
    ratio: Text,
    /// Name of each series.
    series: Vec<Text>,
    groups: Vec<BarGroup>,
}

#[derive(Debug, Clone)]
struct BarGroup {
    name: Text,
    /// By series; `None` if it was not measured.
    values: Vec<Option<f64>>,
}

impl RatioBars {
    /// A picture without groups yet, with a bar for each of these series in a group.
    pub fn new(
        finding: impl Into<Text>,
        subtitle: impl Into<Text>,
        [axis, ratio]: [Text; 2],
        series: Vec<Text>,
    ) -> RatioBars {
        RatioBars {
            finding: finding.into(),
            subtitle: subtitle.into(),
            axis,
            ratio,
            series,
            groups: Vec::new(),
        }
    }

    /// Adds a group at the right; `value` gives the ratio of a series. Values below 0 or
    /// above a million are not drawn.
    pub fn push(&mut self, name: impl Into<Text>, value: impl FnMut(usize) -> Option<f64>) {
        let is_drawn = |value: &f64| (0.0..=MOST).contains(value);
        let values = (0..self.series.len()).map(value);
        self.groups.push(BarGroup {
            name: name.into(),
            values: values.map(|value| value.filter(is_drawn)).collect(),
        });
    }
}
