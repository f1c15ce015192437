//! State of checking a scenario file, and its errors.

use std::ops::Range;

use toml::Spanned;

use super::super::{CalledAt, Host, Latency, ScenarioError};

/// Times in a scenario, ns, are below 285 years.
pub(super) const MAX_NS: u64 = 1 << 53;
/// The longest single delay: 11 days, so that sums of many do not overflow.
pub(super) const MAX_DELAY_NS: u64 = 1_000_000_000_000_000;

pub(super) fn line_of(text: &str, span: Range<usize>) -> usize {
    let before = &text.as_bytes()[..span.start.min(text.len())];
    1 + before.iter().filter(|&&b| b == b'\n').count()
}

/// State of checking one file.
pub(super) struct Check<'a> {
    pub(super) text: &'a str,
    pub(super) n_ranks: u64,
    pub(super) hosts: Vec<Host>,
    pub(super) host_of: Vec<usize>,
    /// Latency of steps without their own.
    pub(super) latency: Latency,
    /// Names of the spanning trees of our own.
    pub(super) own_trees: Vec<String>,
    /// The places in the program from which steps are called.
    pub(super) call_sites: Vec<CalledAt>,
    pub(super) n_calls: usize,
    pub(super) n_delays: u64,
}

impl Check<'_> {
    pub(super) fn wrong<T>(
        &self,
        span: Range<usize>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Result<T, ScenarioError> {
        Err(ScenarioError {
            line: line_of(self.text, span),
            found: found.into(),
            expected: expected.into(),
        })
    }

    /// A number within limits, or the default if it is missing.
    pub(super) fn number(
        &self,
        what: &str,
        value: Option<Spanned<u64>>,
        default: u64,
        within: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, ScenarioError> {
        let Some(value) = value else {
            return Ok(default);
        };
        if !within.contains(value.get_ref()) {
            let found = format!("{what} = {}", value.get_ref());
            let expected = format!("{} to {}", within.start(), within.end());
            return self.wrong(value.span(), found, expected);
        }
        Ok(value.into_inner())
    }
}
