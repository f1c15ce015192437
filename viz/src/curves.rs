//! Curves: one measured quantity against another, as lines or as points.
//!
//! For measurements whose every axis is different: time against time, a count against a time, a part
//! against a number. What cannot be drawn (no number; on a logarithmic axis zero and below) is left
//! out, and the legend says how much.

mod draw;

use crate::Text;

/// How the numbers of an axis are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Times in ns: ticks in the unit that suits them.
    Time,
    /// Numbers without a unit, or with one that the words of the axis say.
    Number,
}

/// What one axis shows.
#[derive(Debug, Clone)]
pub struct CurveAxis {
    /// What it is, without the unit of times.
    pub words: Text,
    /// How its numbers are to be read.
    pub quantity: Quantity,
    /// Whether equal distances are equal ratios.
    pub is_logarithmic: bool,
}

impl CurveAxis {
    /// A linear axis.
    pub fn new(words: impl Into<Text>, quantity: Quantity) -> CurveAxis {
        CurveAxis {
            words: words.into(),
            quantity,
            is_logarithmic: false,
        }
    }

    /// The same, logarithmic.
    #[must_use]
    pub fn logarithmic(self) -> CurveAxis {
        CurveAxis {
            is_logarithmic: true,
            ..self
        }
    }
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// A line through the points, in the order of x.
    Line,
    /// Points alone.
    Points,
}

/// One quantity against another, for one or several things.
#[derive(Debug, Clone)]
pub struct Curves {
    finding: Text,
    subtitle: Text,
    x: CurveAxis,
    y: CurveAxis,
    curves: Vec<Curve>,
}

#[derive(Debug, Clone)]
struct Curve {
    name: Text,
    stroke: Stroke,
    /// By x.
    points: Vec<(f64, f64)>,
    n_left_out: usize,
}

impl Curves {
    /// A picture with these words above it, without a curve yet.
    pub fn new(
        finding: impl Into<Text>,
        subtitle: impl Into<Text>,
        x: CurveAxis,
        y: CurveAxis,
    ) -> Curves {
        Curves {
            finding: finding.into(),
            subtitle: subtitle.into(),
            x,
            y,
            curves: Vec::new(),
        }
    }

    /// Adds a curve.
    pub fn push(
        &mut self,
        name: impl Into<Text>,
        stroke: Stroke,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) {
        let fits = |axis: &CurveAxis, v: f64| {
            v.abs() < 1e18 && (!axis.is_logarithmic || v >= 1e-9) && v.is_finite()
        };
        let (mut points, left_out): (Vec<_>, Vec<_>) = points
            .into_iter()
            .partition(|&(x, y)| fits(&self.x, x) && fits(&self.y, y));
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.curves.push(Curve {
            name: name.into(),
            stroke,
            points,
            n_left_out: left_out.len(),
        });
    }
}
