//! Curves: one measured quantity over another, as lines or as points.
//!
//! For measurements whose axes differ from picture to picture: time over time, a count over a time,
//! a share over a number. Values that cannot be drawn (NaN; zero and below on a logarithmic axis)
//! are left out, and the legend gives their number.

mod draw;

use crate::Text;

/// How the numbers of an axis are formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Times in ns, with ticks in a suitable unit.
    Time,
    /// Numbers without a unit, or with one that the title of the axis gives.
    Number,
}

/// An axis.
#[derive(Debug, Clone)]
pub struct CurveAxis {
    /// Its title, without the unit of times.
    pub words: Text,
    /// How its numbers are formatted.
    pub quantity: Quantity,
    /// Whether the scale is logarithmic.
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

    /// This axis with a logarithmic scale.
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

/// One quantity over another, for one or several curves.
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
    /// Ascending by x.
    points: Vec<(f64, f64)>,
    n_left_out: usize,
}

impl Curves {
    /// A picture without curves yet.
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
