//! The length of windows: how far apart repetitions start.
//!
//! # Source
//! The window-based scheme of SKaMPI (Worsch et al. 2002; Hoefler et al. 2007, section 1.1): all
//! processes start at one global instant, a repetition whose start is missed is invalid, and the
//! window grows when too many are.

use serde::{Deserialize, Serialize};

/// How a process met the start of a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartState {
    /// Within the tolerance.
    InTime,
    /// It came to wait after the start had passed: the repetition before took longer than its
    /// window.
    Missed,
    /// It waited for the start, and continued too late, because it had lost its core.
    Delayed,
}

impl StartState {
    /// As a number in a message.
    #[must_use]
    pub fn word(self) -> i64 {
        match self {
            Self::InTime => 0,
            Self::Missed => 1,
            Self::Delayed => 2,
        }
    }

    /// From a number in a message.
    #[must_use]
    pub fn of_word(word: i64) -> Self {
        match word {
            0 => Self::InTime,
            1 => Self::Missed,
            _ => Self::Delayed,
        }
    }

    /// Of all processes of a repetition: missed if any missed the start, else delayed if any was.
    #[must_use]
    pub fn of_all(states: impl IntoIterator<Item = Self>) -> Self {
        let rank = |state: Self| match state {
            Self::InTime => 0,
            Self::Delayed => 1,
            Self::Missed => 2,
        };
        let worst = states.into_iter().max_by_key(|&state| rank(state));
        worst.unwrap_or(Self::InTime)
    }
}

/// Windows are not shorter than this, ns.
const SHORTEST: i64 = 5_000;
/// Windows are not longer than this, ns: a minute.
const LONGEST: i64 = 60_000_000_000;
/// Share of missed starts above which the window grows.
const MISSED: f64 = 0.1;

/// Distance of the starts of successive repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    length_ns: i64,
}

impl Window {
    /// The first window of an operation that takes about `duration_ns`.
    #[must_use]
    pub fn for_duration(duration_ns: i64) -> Self {
        Self {
            length_ns: duration_ns.saturating_mul(3).clamp(SHORTEST, LONGEST),
        }
    }

    /// Its length, ns.
    #[must_use]
    pub fn length_ns(self) -> i64 {
        self.length_ns
    }

    /// Adapts to a batch: `missed` of `made` starts were missed, where several in a row count once,
    /// and of the valid repetitions nine in ten ended `ended_ns` after their start (`None` if none
    /// was valid).
    ///
    /// It doubles if more than a tenth were missed. It becomes three times `ended_ns` if none was
    /// missed and it is more than six times that.
    pub fn adapt(&mut self, made: usize, missed: usize, ended_ns: Option<i64>) {
        if missed as f64 > MISSED * made as f64 {
            self.length_ns = self.length_ns.saturating_mul(2).min(LONGEST);
        } else if let Some(ended_ns) = ended_ns
            && missed == 0
            && self.length_ns / 6 > ended_ns.max(SHORTEST / 3)
        {
            *self = Self::for_duration(ended_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use collbench_stats::random::Random;

    use super::*;

    /// A batch of repetitions of an operation, of which one in fifty takes forty times as long.
    /// Returns how many were counted and missed, with several in a row as one, and the end.
    fn batch(window: Window, random: &mut Random, duration: u64) -> (usize, usize, Option<i64>) {
        let (mut free, mut missed, mut ended) = (0, 0, Vec::new());
        let mut has_missed = false;
        for i in 0..100 {
            let start = i * window.length_ns();
            let mut takes = random.normal(duration, duration / 20) as i64;
            if random.unit() < 0.02 {
                takes *= 40;
            }
            if free > start {
                missed += usize::from(!has_missed);
            } else {
                ended.push(takes);
            }
            has_missed = free > start;
            free = free.max(start) + takes;
        }
        ended.sort_unstable();
        let ninth = ended.get(ended.len() * 9 / 10).copied();
        (missed + ended.len(), missed, ninth)
    }

    #[test]
    fn a_window_settles_where_few_starts_are_missed_from_above_and_below() {
        let mut random = Random::from_state(4);
        for first in [1, 100, 30_000, 10_000_000] {
            let mut window = Window::for_duration(first);
            for _ in 0..40 {
                let (made, missed, ended) = batch(window, &mut random, 20_000);
                window.adapt(made, missed, ended);
            }
            let length = window.length_ns();
            assert!((40_000..=2_000_000).contains(&length), "{first}: {length}");
            let missed: usize = (0..20).map(|_| batch(window, &mut random, 20_000).1).sum();
            assert!(missed <= 200, "{first}: {missed} of 2000");
        }
    }

    #[test]
    fn delayed_starts_do_not_change_the_window() {
        let mut window = Window::for_duration(10_000);
        window.adapt(100, 0, None);
        assert_eq!(window, Window::for_duration(10_000));
        window.adapt(100, 11, Some(10_000));
        assert_eq!(window.length_ns(), 60_000);
    }

    #[test]
    fn a_repetition_is_as_invalid_as_its_worst_process() {
        use StartState::{Delayed, InTime, Missed};
        assert_eq!(
            StartState::of_all([InTime, Delayed, Missed, InTime]),
            Missed
        );
        assert_eq!(StartState::of_all([InTime, Delayed]), Delayed);
        assert_eq!(StartState::of_all([]), InTime);
        for state in [InTime, Delayed, Missed] {
            assert_eq!(StartState::of_word(state.word()), state);
        }
    }
}
