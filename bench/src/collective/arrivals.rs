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
    /// As in a recorded run: the mean delays of ranks in this `analysis.json`.
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
                "{text}: expected sorted, random, late:PROCESS, or an analysis.json of \
                 collbench-analyze"
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

    /// By process the delay after the common instant, ns; 0 for the first. Recorded delays do not
    /// depend on `delay_ns`.
    ///
    /// # Errors
    /// Names the file that cannot be read, and what it lacks.
    pub(super) fn delays_ns(&self, processes: usize, delay_ns: i64) -> anyhow::Result<Vec<i64>> {
        let part = |share: f64| (delay_ns as f64 * share).round() as i64;
        let delays = match self {
            Self::Sorted => {
                let last = processes.saturating_sub(1).max(1) as f64;
                (0..processes)
                    .map(|rank| part(rank as f64 / last))
                    .collect()
            }
            Self::Random => {
                let mut random = Random::of(&[processes as u64]);
                (0..processes).map(|_| part(random.unit())).collect()
            }
            Self::Late(late) => {
                ensure!(
                    *late < processes,
                    "{}: there are {processes} processes",
                    self.words()
                );
                let mut delays = vec![0; processes];
                delays[*late] = delay_ns;
                delays
            }
            Self::Recorded(file) => {
                let text = std::fs::read_to_string(file)
                    .with_context(|| format!("reading {}", file.display()))?;
                let document: Value = serde_json::from_str(&text)
                    .with_context(|| format!("{} is not JSON", file.display()))?;
                recorded(&document, processes).with_context(|| file.display().to_string())?
            }
        };
        let first = delays.iter().copied().min().unwrap_or(0);
        Ok(delays.into_iter().map(|delay| delay - first).collect())
    }
}

/// Mean delays of the ranks in an analysis: by rank, the largest mean lag less its own. All ranks of
/// a class have the mean lag of their class.
fn recorded(document: &Value, processes: usize) -> anyhow::Result<Vec<i64>> {
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
        let delays = |pattern: Pattern, n| pattern.delays_ns(n, 9_000).unwrap();
        assert_eq!(delays(Pattern::Sorted, 4), [0, 3_000, 6_000, 9_000]);
        assert_eq!(delays(Pattern::Late(1), 3), [0, 9_000, 0]);
        assert_eq!(delays(Pattern::Sorted, 1), [0]);
        let random = delays(Pattern::Random, 8);
        assert_eq!(random, delays(Pattern::Random, 8));
        assert!(random.iter().all(|delay| (0..=9_000).contains(delay)));
        assert!(random.contains(&0));
        assert!(Pattern::Late(3).delays_ns(3, 1).is_err());
    }

    #[test]
    fn recorded_delays_are_differences_of_mean_lags() {
        let document = json!({
            "classes": [
                { "ranks": [0, 2], "mean_lag_ns": 800 },
                { "ranks": [1], "mean_lag_ns": 50 },
            ],
        });
        assert_eq!(recorded(&document, 3).unwrap(), [0, 750, 0]);
        let said = |n| recorded(&document, n).unwrap_err().to_string();
        assert!(said(2).contains("more ranks than 2"));
        assert!(said(4).contains("each of 4 ranks"));
        assert!(recorded(&json!({}), 1).is_err());
    }
}
