//! Rules of a file to be written: keys with what is inside, without what no call could come to.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::test::atoi;
use crate::json::{Data, Value};

/// Keys, tests or choices, with what is inside.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules(pub(super) Vec<(String, Rules)>);

impl Rules {
    /// Those of a file, keys without spaces.
    pub(super) fn of(value: &Value) -> Self {
        match &value.data {
            Data::Object(members) => {
                let of = |member: &crate::json::Member| {
                    (member.key.replace(' ', ""), Self::of(&member.value))
                };
                Self(members.iter().map(of).collect())
            }
            _ => Self::default(),
        }
    }

    pub(super) fn one(key: &str, inside: Self) -> Self {
        Self(vec![(key.to_owned(), inside)])
    }

    /// Puts `<=` for `<` in tests of the communicator's size: before a test of the call, the library
    /// reads `<N` as less than N, and after it as at most N. Then they can be moved.
    pub(super) fn make_movable(&mut self, of_communicator: bool) {
        for (key, inside) in &mut self.0 {
            if let Some(number) = key
                .strip_prefix("comm_size<")
                .filter(|rest| !rest.starts_with('='))
            {
                let value = i64::from(atoi(number).value) - i64::from(of_communicator);
                *key = format!("comm_size<={value}");
            }
            let of_communicators = ["comm_", "is_node_consecutive", "collective="];
            let is_still =
                of_communicator && of_communicators.iter().any(|begin| key.starts_with(begin));
            inside.make_movable(is_still);
        }
    }

    /// The same for the calls of `calls` alone: without tests of which they all come to the same
    /// outcome.
    pub(super) fn for_calls(&self, calls: &Calls) -> Self {
        let mut left = calls.clone();
        let mut kept = Vec::new();
        for (key, inside) in &self.0 {
            match left.outcome(key) {
                Some(false) => {}
                Some(true) => {
                    let inside = inside.for_calls(&left);
                    if kept.is_empty() {
                        return inside;
                    }
                    kept.push((passing_all(key), inside));
                    break;
                }
                None => {
                    kept.push((key.clone(), inside.for_calls(&left.after(key, true))));
                    left = left.after(key, false);
                }
            }
        }
        Self(kept)
    }

    /// As JSON.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text.push('\n');
        text
    }

    fn write(&self, indent: usize, to: &mut String) {
        if self.0.is_empty() {
            to.push_str("{}");
            return;
        }
        to.push_str("{\n");
        for (nth, (key, inside)) in self.0.iter().enumerate() {
            let comma = if nth + 1 < self.0.len() { "," } else { "" };
            let _ = write!(
                to,
                "{:1$}{2}: ",
                "",
                indent + 2,
                serde_json::Value::from(key.as_str())
            );
            inside.write(indent + 2, to);
            let _ = writeln!(to, "{comma}");
        }
        let _ = write!(to, "{:1$}}}", "", indent);
    }
}

/// The key that passes all in the place of one that all calls pass which come to it.
fn passing_all(key: &str) -> String {
    match key.split(['<', '=']).next() {
        Some(
            name @ ("comm_size" | "count" | "avg_msg_size" | "total_msg_size" | "comm_hierarchy"),
        ) => {
            format!("{name}=any")
        }
        _ => key.to_owned(),
    }
}

/// What is known of calls: numbers within bounds, and outcomes of other tests.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    /// By what is before the sign: least and most.
    numbers: BTreeMap<String, (i64, i64)>,
    /// `x=yes` by its outcome; others as they are.
    outcomes: BTreeMap<String, bool>,
}

impl Calls {
    /// Of these only those with `name` within bounds.
    pub(super) fn within(&self, name: &str, least: i64, most: i64) -> Self {
        let mut calls = self.clone();
        let bounds = calls
            .numbers
            .entry(name.to_owned())
            .or_insert((0, i64::MAX));
        *bounds = (bounds.0.max(least), bounds.1.min(most));
        calls
    }

    /// Of these only those with this outcome of `key`.
    pub(super) fn after(&self, key: &str, outcome: bool) -> Self {
        if let Some((name, most)) = bound(key) {
            return if outcome {
                self.within(name, 0, most)
            } else {
                self.within(name, most.saturating_add(1), i64::MAX)
            };
        }
        let mut calls = self.clone();
        let (key, outcome) = of_yes(key, outcome);
        calls.outcomes.insert(key, outcome);
        calls
    }

    /// The outcome of `key`, if it is the same for all.
    fn outcome(&self, key: &str) -> Option<bool> {
        if key.ends_with("=any") {
            return Some(true);
        }
        if let Some((name, most)) = bound(key) {
            let (least, greatest) = *self.numbers.get(name)?;
            return (greatest <= most)
                .then_some(true)
                .or((least > most).then_some(false));
        }
        if let Some(&(least, most)) = self.numbers.get("comm_size") {
            let is_power = |size: i64| u64::try_from(size).is_ok_and(u64::is_power_of_two);
            match key {
                "comm_size=pow2" if least == most => return Some(is_power(least)),
                "comm_size=pow2" if least >= 1 && most <= 2 => return Some(true),
                "comm_hierarchy=parent" | "is_node_consecutive=yes" if most <= 1 => {
                    return Some(false);
                }
                "is_node_consecutive=no" if most <= 1 => return Some(true),
                _ => {}
            }
        }
        let (yes, is_yes) = of_yes(key, true);
        self.outcomes.get(&yes).map(|outcome| *outcome == is_yes)
    }
}

/// What is before the sign of a test of a number, and the most that passes.
fn bound(key: &str) -> Option<(&str, i64)> {
    let (name, rest) = key.split_once('<')?;
    // The mean number of processes per host is no number of its own.
    if name == "comm_avg_ppn" || rest == "pow2" {
        return None;
    }
    let (number, less) = match rest.strip_prefix('=') {
        Some(number) => (number, 0),
        None => (rest, 1),
    };
    Some((name, i64::from(atoi(number).value) - less))
}

/// `x=no` as the opposite of `x=yes`.
fn of_yes(key: &str, outcome: bool) -> (String, bool) {
    match key.strip_suffix("=no") {
        Some(name) => (format!("{name}=yes"), !outcome),
        None => (key.to_owned(), outcome),
    }
}
