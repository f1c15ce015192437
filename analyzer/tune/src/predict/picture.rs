//! How right predictions were, as a picture: measured over predicted times.

use std::collections::BTreeMap;

use collbench_viz::{CurveAxis, Curves, Picture, Quantity, Stroke};

use super::score::Score;

impl Score {
    /// Measured over predicted times, both logarithmic: a point for each prediction, by operation, and the line on which
    /// they would be if all were right.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let axis = |words: &str| CurveAxis::new(words, Quantity::Time).logarithmic();
        let all = || self.classes.iter().flat_map(|class| &class.compared);
        let tau = match self.tau {
            Some(tau) => format!(", tau {tau:.2}"),
            None => String::new(),
        };
        let mut curves = Curves::new(
            format!(
                "Predictions are {:.2} of the measured times{tau}",
                self.ratio
            ),
            format!(
                "{} predictions; {:.0} % of the measured medians are in the predicted band",
                all().count(),
                100.0 * self.coverage
            ),
            axis("predicted"),
            axis("measured"),
        );
        let times = all().flat_map(|of| [of.predicted_ns, of.measured_ns]);
        let least = times.clone().fold(f64::MAX, f64::min);
        let most = times.fold(0.0, f64::max);
        curves.push(
            "measured as predicted",
            Stroke::Line,
            [(least, least), (most, most)],
        );
        let mut by_operation: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for class in &self.classes {
            let points = by_operation.entry(&class.operation).or_default();
            points.extend(
                class
                    .compared
                    .iter()
                    .map(|of| (of.predicted_ns, of.measured_ns)),
            );
        }
        for (operation, points) in by_operation {
            curves.push(operation, Stroke::Points, points);
        }
        Picture::Curves(curves).to_svg()
    }
}
