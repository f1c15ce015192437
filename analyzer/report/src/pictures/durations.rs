//! Histogram of an operation's durations.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::OperationSummary;
use collbench_stats::distribution::Summary;
use collbench_text::quantity;
use collbench_viz::{Bar, DurationMarks, Durations, Heading};

use super::{Instances, index_of, title};
use crate::words::uncertainty;

/// Caption of the picture.
pub(super) const CAPTION: &str = "How many instances took how long, from the first enter to the \
     last leave. The height of a bar is its number of instances. The time axis is logarithmic: all \
     doublings are equally wide, and each has eight bars. Median, mean, 99th percentile and maximum \
     are marked. Magnified, the picture has narrower bars, up to 64 for each doubling. Hatched bars are above the 99th percentile; a ring marks bars of few instances. \
     Durations include the arrival lag: a late \
     rank makes an instance long. Two peaks mean two kinds of instances.";

/// Least number of instances for a 99th percentile.
const MIN_FOR_HUNDREDTH: u64 = 100;

/// The picture; `None` if no duration is known.
pub(super) fn durations(
    analysis: &Analysis,
    operation: &OperationSummary,
    instances: &Instances<'_>,
) -> Option<Durations> {
    let summary = operation.duration_ns.as_ref()?;
    let heading = Heading {
        finding: finding(summary).into(),
        operation: title(analysis, operation).into(),
        n_instances: operation.instances,
    };
    let marks = DurationMarks {
        median_ns: summary.median,
        mean_ns: summary.mean,
        p99_ns: summary.p99,
        max_ns: summary.max,
    };
    let buckets = operation.duration_histogram.iter();
    let index = index_of(analysis, operation);
    let parts = operation.duration_parts.iter().copied().map(Some);
    let parts = parts.chain(std::iter::repeat(None));
    let bars = buckets.zip(parts).filter_map(|(bucket, parts)| {
        let bar = Bar::new(bucket.from_ns, bucket.to_ns, bucket.n)?;
        let leads_to =
            index.and_then(|index| instances.that_took(index, bucket.from_ns, bucket.to_ns));
        Some(bar.leading_to(leads_to).in_parts(parts))
    });
    Durations::new(heading, marks, bars)
}

fn finding(summary: &Summary) -> String {
    let max = quantity::duration(summary.max);
    let error_ns = summary.uncertainty_ns.map(i64::unsigned_abs);
    let error = uncertainty::after(summary.median, error_ns);
    if summary.n == 1 {
        return format!("The only instance takes {max}{error}");
    }
    let half = format!(
        "Half of the instances take at most {}",
        quantity::duration(summary.median)
    );
    if summary.n >= MIN_FOR_HUNDREDTH {
        format!(
            "{half}, 99 % at most {}, the longest {max}{error}",
            quantity::duration(summary.p99)
        )
    } else {
        format!("{half}, the longest {max}{error}")
    }
}
