//! How right predictions were: compared with recorded runs of what was predicted.

use std::fmt::Write as _;

use collbench_formats::Operation;
use collbench_stats::median::Median;
use collbench_text::inert;
use collbench_text::quantity::{counted, duration, size};
use serde::{Deserialize, Serialize};

use super::Band;
use super::benchmarked::Benchmarked;
use super::candidates::MessagesOf;
use super::document;
use super::recorded::{Class, Recorded};
use crate::words::sized;

/// Instances that a measurement needs, at least.
const LEAST: usize = 20;

/// The predictions, as they were written.
#[derive(Debug, Clone, Deserialize)]
pub struct Written {
    schema: String,
    operations: Vec<WrittenClass>,
}

#[derive(Debug, Clone, Deserialize)]
struct WrittenClass {
    operation: String,
    processes: usize,
    root: usize,
    bytes: u64,
    candidates: Vec<WrittenCandidate>,
}

#[derive(Debug, Clone, Deserialize)]
struct WrittenCandidate {
    #[serde(flatten)]
    method: WrittenMethod,
    messages: usize,
    message_bytes_max: u64,
    pairs_crc32: String,
    predicted_ns: Band,
}

/// An algorithm, or a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum WrittenMethod {
    /// An algorithm of the library.
    Algorithm {
        /// Its name.
        algorithm: String,
        /// Length of a segment, bytes; 0: none.
        segment_bytes: u64,
    },
    /// A spanning tree of our own.
    Tree {
        /// Where it is: file and line.
        tree: String,
        /// A number for its paths.
        tree_crc32: String,
    },
}

/// What predictions are compared with.
struct Measured<'m> {
    recorded: &'m [Recorded],
    benchmarked: &'m [Benchmarked],
}

/// Why there is no score.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    /// It is no document of predictions.
    #[error("no predictions: {0}; expected what collbench-tune predict -o has written")]
    Json(#[from] serde_json::Error),
    /// It has another schema.
    #[error("schema \"{}\"; expected \"collbench.tune/1\"", inert::line(.0, 60))]
    Schema(String),
    /// Nothing that was predicted was measured.
    #[error(
        "none of the runs has an algorithm, or a tree, that was predicted, {LEAST} times at least, for the same operation, \
         processes, root and bytes"
    )]
    Nothing,
}

/// A prediction and its measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Compared {
    /// The algorithm, or the tree.
    #[serde(flatten)]
    pub method: WrittenMethod,
    /// The predicted median and its band, ns.
    pub predicted_ns: f64,
    /// The 5th percentile of that.
    pub p05_ns: f64,
    /// The 95th percentile of that.
    pub p95_ns: f64,
    /// The median of the measured instances, ns.
    pub measured_ns: f64,
    /// Its 95 % interval.
    pub interval_ns: (f64, f64),
    /// How many instances were measured.
    pub instances: usize,
}

/// The compared algorithms of one class of calls.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClassScore {
    /// What was called.
    pub operation: String,
    /// Processes of the communicator.
    pub processes: usize,
    /// The root, where there is one; else 0.
    pub root: usize,
    /// Bytes of one process.
    pub bytes: u64,
    /// By algorithm.
    pub compared: Vec<Compared>,
    /// How much longer than the fastest one takes that was predicted to be the fastest; `None` of one.
    pub regret: Option<f64>,
}

/// How right predictions were.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Score {
    schema: &'static str,
    /// By class of calls.
    pub classes: Vec<ClassScore>,
    /// The geometric mean of predicted by measured times.
    pub ratio: f64,
    /// Kendall's tau of the orders in each class, over pairs whose measured intervals do not overlap; `None` if there is none.
    pub tau: Option<f64>,
    /// The mean of the regrets.
    pub regret_mean: Option<f64>,
    /// The worst of them.
    pub regret_worst: Option<f64>,
    /// The part of the measured medians that is in the band.
    pub coverage: f64,
    /// The median width of the bands, as a part of the prediction.
    pub width: f64,
}

impl Written {
    /// The document.
    ///
    /// # Errors
    /// [`ScoreError`] if it is none.
    pub fn parse(text: &[u8]) -> Result<Self, ScoreError> {
        let written: Self = serde_json::from_slice(text)?;
        if written.schema == super::document::SCHEMA {
            Ok(written)
        } else {
            Err(ScoreError::Schema(written.schema))
        }
    }
}

/// Compares predictions with recorded runs, and with measurements of `collbench-bench collective`.
///
/// # Errors
/// [`ScoreError::Nothing`] if nothing that was predicted was measured.
pub fn score(
    written: &Written,
    recorded: &[Recorded],
    benchmarked: &[Benchmarked],
) -> Result<Score, ScoreError> {
    let measured = Measured {
        recorded,
        benchmarked,
    };
    let classes: Vec<ClassScore> = written
        .operations
        .iter()
        .map(|class| class.score(&measured))
        .filter(|class| !class.compared.is_empty())
        .collect();
    let all: Vec<&Compared> = classes.iter().flat_map(|class| &class.compared).collect();
    if all.is_empty() {
        return Err(ScoreError::Nothing);
    }
    let n = all.len() as f64;
    let logs: f64 = all
        .iter()
        .map(|of| (of.predicted_ns / of.measured_ns).ln())
        .sum();
    let is_inside = |of: &&&Compared| (of.p05_ns..=of.p95_ns).contains(&of.measured_ns);
    let widths = all
        .iter()
        .map(|of| (of.p95_ns - of.p05_ns) / of.predicted_ns);
    let regrets: Vec<f64> = classes.iter().filter_map(|class| class.regret).collect();
    Ok(Score {
        schema: "collbench.tune.score/1",
        ratio: (logs / n).exp(),
        tau: tau(&classes),
        regret_mean: (!regrets.is_empty())
            .then(|| regrets.iter().sum::<f64>() / regrets.len() as f64),
        regret_worst: regrets.iter().copied().reduce(f64::max),
        coverage: all.iter().filter(is_inside).count() as f64 / n,
        width: Median::of(widths).map_or(0.0, |median| median.value),
        classes,
    })
}

/// # Source
/// Kendall 1938; pairs that are not distinguishable count neither way.
fn tau(classes: &[ClassScore]) -> Option<f64> {
    let (mut alike, mut unlike) = (0_u64, 0_u64);
    for class in classes {
        for (at, a) in class.compared.iter().enumerate() {
            for b in &class.compared[at + 1..] {
                let is_less = a.interval_ns.1 < b.interval_ns.0;
                let is_more = b.interval_ns.1 < a.interval_ns.0;
                if is_less || is_more {
                    let is_alike = (a.predicted_ns < b.predicted_ns) == is_less;
                    alike += u64::from(is_alike);
                    unlike += u64::from(!is_alike);
                }
            }
        }
    }
    let n = alike + unlike;
    (n > 0).then(|| (alike as f64 - unlike as f64) / n as f64)
}

impl WrittenMethod {
    fn in_words(&self) -> String {
        match self {
            Self::Algorithm {
                algorithm,
                segment_bytes: 0,
            } => inert::line(algorithm, 120),
            Self::Algorithm {
                algorithm,
                segment_bytes,
            } => format!(
                "{}, segments of {}",
                inert::line(algorithm, 120),
                size(*segment_bytes)
            ),
            Self::Tree { tree, .. } => inert::line(tree, 120),
        }
    }
}

impl WrittenClass {
    fn score(&self, measured: &Measured<'_>) -> ClassScore {
        let compared = self.candidates.iter();
        let compared: Vec<Compared> = compared
            .filter_map(|candidate| candidate.compare(self, measured))
            .collect();
        let by = |time: fn(&Compared) -> f64| {
            let of = compared.iter();
            of.min_by(|a, b| time(a).total_cmp(&time(b)))
        };
        let chosen = by(|of| of.predicted_ns);
        let fastest = by(|of| of.measured_ns);
        let regret = match (chosen, fastest) {
            (Some(chosen), Some(fastest)) if compared.len() > 1 => {
                Some(chosen.measured_ns / fastest.measured_ns - 1.0)
            }
            _ => None,
        };
        ClassScore {
            operation: self.operation.clone(),
            processes: self.processes,
            root: self.root,
            bytes: self.bytes,
            compared,
            regret,
        }
    }

    fn is_of(&self, class: &Class) -> bool {
        class.operation.name() == self.operation
            && class.ranks.len() == self.processes
            && class.root == self.root
            && class.bytes == self.bytes
    }
}

impl WrittenCandidate {
    /// Whether it is what ran: the same tree, as its event collectors show it; or the first algorithm that was reported, with
    /// as many messages between the same processes, as long as those.
    fn is_of(&self, class: &Class) -> bool {
        let algorithm = match &self.method {
            WrittenMethod::Algorithm { algorithm, .. } => algorithm,
            WrittenMethod::Tree { tree_crc32, .. } => {
                return class.tree_crc32().map(document::crc32).as_ref() == Some(tree_crc32);
            }
        };
        let mut instances = class.instances.iter().filter(|of| !of.messages.is_empty());
        let Some(instance) = instances.next() else {
            return false;
        };
        let messages = instance.messages.iter();
        let messages =
            MessagesOf::of(messages.map(|of| (of.from as usize, of.to as usize, of.bytes)));
        class.reports(algorithm)
            && (messages.n, messages.longest_bytes) == (self.messages, self.message_bytes_max)
            && document::crc32(messages.pairs_crc32) == self.pairs_crc32
    }

    /// The name by which it is benchmarked; `None` for segments, whose lengths a benchmark does not say.
    fn benchmarked(&self) -> Option<&str> {
        match &self.method {
            WrittenMethod::Algorithm {
                algorithm,
                segment_bytes: 0,
            } => Some(algorithm),
            WrittenMethod::Algorithm { .. } => None,
            WrittenMethod::Tree { tree, .. } => Some(tree.rsplit_once(':')?.0),
        }
    }

    fn compare(&self, of: &WrittenClass, measured: &Measured<'_>) -> Option<Compared> {
        let classes = measured.recorded.iter().flat_map(|run| &run.classes);
        let classes = classes.filter(|class| of.is_of(class) && self.is_of(class));
        let recorded_ns = classes
            .flat_map(|class| &class.instances)
            .map(|of| of.took_ns);
        let asked = Operation::from_name(&of.operation).zip(self.benchmarked());
        let benchmarked_ns = asked.into_iter().flat_map(|(operation, name)| {
            let call = (operation, of.bytes, of.processes, of.root);
            let all = measured.benchmarked.iter();
            all.flat_map(move |of| of.times_ns(call, Some(name)))
        });
        let median = Median::of(recorded_ns.chain(benchmarked_ns).map(|ns| ns.max(1.0)))?;
        let interval_ns = median.interval.filter(|_| median.n >= LEAST)?;
        Some(Compared {
            method: self.method.clone(),
            predicted_ns: self.predicted_ns.median_ns,
            p05_ns: self.predicted_ns.p05_ns,
            p95_ns: self.predicted_ns.p95_ns,
            measured_ns: median.value,
            interval_ns,
            instances: median.n,
        })
    }
}

impl Score {
    /// One JSON document.
    ///
    /// # Panics
    /// Never: it has no maps with other keys than texts.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("texts and numbers");
        text.push('\n');
        text
    }

    /// What a user reads.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let time = |ns: f64| duration(ns.max(0.0) as i64);
        for class in &self.classes {
            let _ = writeln!(
                text,
                "{}, {}",
                class.operation,
                sized(class.processes, class.bytes)
            );
            for of in &class.compared {
                let _ = writeln!(
                    text,
                    "  {}: predicted {} ({} to {}), measured {} ({} to {}), ratio {:.2}",
                    of.method.in_words(),
                    time(of.predicted_ns),
                    time(of.p05_ns),
                    time(of.p95_ns),
                    time(of.measured_ns),
                    time(of.interval_ns.0),
                    time(of.interval_ns.1),
                    of.predicted_ns / of.measured_ns,
                );
            }
            if let Some(regret) = class.regret {
                let _ = writeln!(text, "  regret {:.1} %", 100.0 * regret);
            }
        }
        let n: usize = self.classes.iter().map(|class| class.compared.len()).sum();
        let optional = |value: Option<f64>, factor: f64, unit: &str| match value {
            Some(value) => format!("{:.2}{unit}", value * factor),
            None => "unknown".to_owned(),
        };
        let _ = writeln!(
            text,
            "{}: ratio {:.3} (geometric mean), tau {}, regret {} on average and {} at most, {:.0} % of the medians in their band, \
             bands {:.0} % wide",
            counted(n as u64, "prediction"),
            self.ratio,
            optional(self.tau, 1.0, ""),
            optional(self.regret_mean, 100.0, " %"),
            optional(self.regret_worst, 100.0, " %"),
            100.0 * self.coverage,
            100.0 * self.width,
        );
        text
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::Score>("collbench.tune.score/1");
    }
}
