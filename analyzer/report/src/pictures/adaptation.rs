//! Which of several candidates was used when.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::AdaptationSummary;
use collbench_text::quantity::counted_grouped;
use collbench_viz::{CurveAxis, Curves, Quantity, Stroke};

use crate::words;
use crate::words::adaptations::title;

/// Caption of the picture.
pub(super) const CAPTION: &str = "The line is the time in a call with the candidate that was in use, the mean over \
     the ranks, at each control point: where processes agreed on which candidates the next calls have. Points are of \
     all candidates that had calls since the last one; those off the line were tried. Where the line goes on \
     at the points of another colour, the candidate in use has changed.";

/// Most pictures: of the calls with the most control points.
const MAX_PICTURES: usize = 6;

/// The pictures, with the name of the operation.
pub(super) fn of_run(analysis: &Analysis) -> Vec<(&str, Curves)> {
    let mut all: Vec<&AdaptationSummary> = analysis.adaptations.iter().collect();
    all.retain(|of| of.points.len() > 1);
    all.sort_by_key(|of| std::cmp::Reverse(of.points.len()));
    all.truncate(MAX_PICTURES);
    all.iter()
        .map(|of| (&*of.operation, curves(analysis, of)))
        .collect()
}

fn curves(analysis: &Analysis, of: &AdaptationSummary) -> Curves {
    let changes = of
        .points
        .iter()
        .filter(|point| point.in_use != point.before);
    let changes: Vec<String> = changes
        .map(|point| {
            format!(
                "{} from call {} on",
                &*of.candidates[point.in_use].name, point.calls
            )
        })
        .collect();
    let finding = match &changes[..] {
        [] => format!("{} stayed in use", &*of.candidates[of.in_use].name),
        [.., last] if changes.len() > 3 => {
            format!("{} changes, the last one: {last}", changes.len())
        }
        _ => changes.join("; "),
    };
    let finding = words::capitalized(&finding);
    let mut curves = Curves::new(
        finding,
        format!(
            "{}; {}, {}",
            title(analysis, of),
            counted_grouped(of.calls, "call"),
            counted_grouped(of.points.len() as u64, "control point")
        ),
        CurveAxis::new("time since the start of the run", Quantity::Time),
        CurveAxis::new("time in a call", Quantity::Time).logarithmic(),
    );
    // At a control point the one in use is known that was used up to there.
    let in_use = of.points.iter().filter_map(|point| {
        let ns = point.call_ns[point.before]?;
        Some((point.at_ns as f64, ns as f64))
    });
    curves.push("in use", Stroke::Line, in_use);
    for (nth, candidate) in of.candidates.iter().enumerate() {
        let points = of.points.iter().filter_map(|point| {
            let ns = (*point.call_ns.get(nth)?)?;
            Some((point.at_ns as f64, ns as f64))
        });
        curves.push(&*candidate.name, Stroke::Points, points);
    }
    curves
}
