//! Arrival patterns: when each process starts after the common instant.
//!
//! No application starts its collectives together, and an algorithm that is best for a common start
//! may not be the best for its arrivals.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use collbench_stats::random::Random;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// When processes arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Pattern {
    /// Process r of P after r / (P - 1) of the delay.
    Sorted,
    /// Each process after an arbitrary part of the delay, the same in all repetitions.
    Random,
    /// This process after the delay, all others at once.
    Late(usize),
    /// As in a recorded run: the mean delays of ranks in this `analysis.json`, or those of the instances in this
    /// `predicted.json` of `collbench-tune predict`, in turn.
    Recorded(PathBuf),
}

impl Pattern {
    /// From the command line or a plan: `sorted`, `random`, `late:RANK` or the name of a file that
    /// ends with `.json`.
    ///
    /// # Errors
    /// States what is expected.
    pub(super) fn of_text(text: &str) -> Result<Self, String> {
        match (text, text.split_once(':')) {
            ("sorted", _) => Ok(Self::Sorted),
            ("random", _) => Ok(Self::Random),
            (_, Some(("late", rank))) => match rank.parse() {
                Ok(rank) => Ok(Self::Late(rank)),
                Err(_) => Err(format!(
                    "late:{rank}: expected the number of a process, as in late:0"
                )),
            },
            _ if text.ends_with(".json") => Ok(Self::Recorded(text.into())),
            _ => Err(format!(
                "{text}: expected sorted, random, late:PROCESS, an analysis.json of collbench-analyze, \
                 or a predicted.json of collbench-tune"
            )),
        }
    }

    /// In words, for tables and results.
    #[must_use]
    pub(super) fn words(&self) -> String {
        match self {
            Self::Sorted => "sorted".to_owned(),
            Self::Random => "random".to_owned(),
            Self::Late(rank) => format!("late:{rank}"),
            Self::Recorded(file) => file.display().to_string(),
        }
    }

    /// By process the delays after the common instant, ns; 0 for the first. Repetitions take them in turn: of recorded
    /// instances there are several, else one. Recorded delays do not depend on `delay_ns`.
    ///
    /// # Errors
    /// Names the file that cannot be read, and what it lacks.
    pub(super) fn delays_ns(
        &self,
        processes: usize,
        delay_ns: i64,
        call: Call<'_>,
    ) -> anyhow::Result<Vec<Vec<i64>>> {
        let part = |share: f64| (delay_ns as f64 * share).round() as i64;
        let all = match self {
            Self::Sorted => {
                let last = processes.saturating_sub(1).max(1) as f64;
                let delays = (0..processes).map(|rank| part(rank as f64 / last));
                vec![delays.collect()]
            }
            Self::Random => {
                let mut random = Random::of(&[processes as u64]);
                vec![(0..processes).map(|_| part(random.unit())).collect()]
            }
            Self::Late(late) => {
                ensure!(
                    *late < processes,
                    "{}: there are {processes} processes",
                    self.words()
                );
                let mut delays = vec![0; processes];
                delays[*late] = delay_ns;
                vec![delays]
            }
            Self::Recorded(file) => {
                let text = std::fs::read_to_string(file)
                    .with_context(|| format!("reading {}", file.display()))?;
                let document: Value = serde_json::from_str(&text)
                    .with_context(|| format!("{} is not JSON", file.display()))?;
                let delays = match document["schema"].as_str() {
                    Some("collbench.tune/1" | "collbench.arrivals/1") => {
                        in_turn(&document, processes, call)
                    }
                    _ => means(&document, processes).map(|delays| vec![delays]),
                };
                delays.with_context(|| file.display().to_string())?
            }
        };
        let from_first = all.into_iter().map(|delays: Vec<i64>| {
            let first = delays.iter().copied().min().unwrap_or(0);
            delays.into_iter().map(|delay| delay - first).collect()
        });
        Ok(from_first.collect())
    }
}

/// What is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    /// The operation.
    pub(super) operation: &'a str,
    /// Bytes of a process, where there are any.
    pub(super) bytes: Option<u64>,
}

/// The arrivals of recorded instances: of the operation among as many processes, and of the length that is the nearest.
fn in_turn(document: &Value, processes: usize, call: Call<'_>) -> anyhow::Result<Vec<Vec<i64>>> {
    let classes = document["operations"].as_array().into_iter().flatten();
    let bytes = call.bytes.unwrap_or(0);
    let mut nearest: Option<(f64, &Value)> = None;
    for class in classes {
        let is_it = class["operation"].as_str() == Some(call.operation)
            && class["processes"].as_u64() == Some(processes as u64);
        let length = class["bytes"].as_u64().filter(|_| is_it);
        if let Some(length) = length {
            let distance = ((length + 1) as f64 / (bytes + 1) as f64).ln().abs();
            if nearest.is_none_or(|(least, _)| distance < least) {
                nearest = Some((distance, class));
            }
        }
    }
    let (_, class) = nearest.with_context(|| {
        format!(
            "has no {} among {processes} processes; measure what was recorded",
            call.operation
        )
    })?;
    let instances = class["arrivals_ns"].as_array().into_iter().flatten();
    let delays: Option<Vec<Vec<i64>>> = instances
        .map(|instance| {
            let of_ranks = instance.as_array()?.iter().map(Value::as_i64);
            let delays: Vec<i64> = of_ranks.collect::<Option<_>>()?;
            (delays.len() == processes).then_some(delays)
        })
        .collect();
    let delays = delays.filter(|delays| !delays.is_empty());
    delays.with_context(|| format!("has no arrivals of {processes} ranks of {}", call.operation))
}

/// Mean delays of the ranks in an analysis: by rank, the largest mean lag less its own. All ranks of
/// a class have the mean lag of their class.
fn means(document: &Value, processes: usize) -> anyhow::Result<Vec<i64>> {
    let classes = document["classes"].as_array();
    let classes =
        classes.context("has no classes of ranks; give an analysis.json of collbench-analyze")?;
    let mut lags = vec![None; processes];
    for class in classes {
        let lag = class["mean_lag_ns"].as_f64().map(|lag| lag.round() as i64);
        for rank in class["ranks"].as_array().into_iter().flatten() {
            let rank = rank.as_u64().and_then(|rank| usize::try_from(rank).ok());
            match rank.and_then(|rank| lags.get_mut(rank)) {
                Some(place) => *place = lag,
                None => bail!("has more ranks than {processes}: measure with as many processes"),
            }
        }
    }
    let lags: Option<Vec<i64>> = lags.into_iter().collect();
    let lags = lags.with_context(|| {
        format!("does not say of each of {processes} ranks when it enters; measure with as many processes")
    })?;
    let largest = lags.iter().copied().max().unwrap_or(0);
    Ok(lags.into_iter().map(|lag| largest - lag).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BCAST: Call<'static> = Call {
        operation: "MPI_Bcast",
        bytes: Some(100),
    };

    #[test]
    fn patterns_are_read_as_they_are_shown() {
        for text in ["sorted", "random", "late:3", "a:b/analysis.json"] {
            assert_eq!(Pattern::of_text(text).unwrap().words(), text);
        }
        for wrong in ["sort", "late:", "late:-1", "analysis.svg"] {
            let said = Pattern::of_text(wrong).unwrap_err();
            assert!(said.contains(wrong), "{said}");
        }
    }

    #[test]
    fn delays_begin_with_zero_and_end_with_the_delay() {
        let delays = |pattern: Pattern, n| {
            let mut delays = pattern.delays_ns(n, 9_000, BCAST).unwrap();
            assert_eq!(delays.len(), 1);
            delays.remove(0)
        };
        assert_eq!(delays(Pattern::Sorted, 4), [0, 3_000, 6_000, 9_000]);
        assert_eq!(delays(Pattern::Late(1), 3), [0, 9_000, 0]);
        assert_eq!(delays(Pattern::Sorted, 1), [0]);
        let random = delays(Pattern::Random, 8);
        assert_eq!(random, delays(Pattern::Random, 8));
        assert!(random.iter().all(|delay| (0..=9_000).contains(delay)));
        assert!(random.contains(&0));
        assert!(Pattern::Late(3).delays_ns(3, 1, BCAST).is_err());
    }

    #[test]
    fn recorded_delays_are_differences_of_mean_lags() {
        let document = json!({
            "classes": [
                { "ranks": [0, 2], "mean_lag_ns": 800 },
                { "ranks": [1], "mean_lag_ns": 50 },
            ],
        });
        assert_eq!(means(&document, 3).unwrap(), [0, 750, 0]);
        let said = |n| means(&document, n).unwrap_err().to_string();
        assert!(said(2).contains("more ranks than 2"));
        assert!(said(4).contains("each of 4 ranks"));
        assert!(means(&json!({}), 1).is_err());
    }

    #[test]
    fn recorded_instances_are_those_of_the_operation_with_the_nearest_length() {
        let class = |bytes: u64, arrivals: Value| json!({ "operation": "MPI_Bcast", "processes": 2, "bytes": bytes, "arrivals_ns": arrivals });
        let document = json!({
            "schema": "collbench.tune/1",
            "operations": [class(8, json!([[5, 0]])), class(128, json!([[0, 7], [3, 0]])), class(4096, json!([[9, 9]]))],
        });
        assert_eq!(in_turn(&document, 2, BCAST).unwrap(), [[0, 7], [3, 0]]);
        let said = |n, call| in_turn(&document, n, call).unwrap_err().to_string();
        assert!(said(3, BCAST).contains("no MPI_Bcast among 3 processes"));
        let operation = "MPI_Reduce";
        assert!(said(2, Call { operation, ..BCAST }).contains("no MPI_Reduce"));
        let wrong = json!({ "operations": [class(8, json!([[5]]))] });
        assert!(
            in_turn(&wrong, 2, BCAST)
                .unwrap_err()
                .to_string()
                .contains("no arrivals of 2 ranks")
        );
    }
}
