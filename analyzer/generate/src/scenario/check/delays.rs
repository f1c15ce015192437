//! Checks durations and delays in a scenario.

use std::ops::Range;

use toml::Spanned;

use super::file::{Check, MAX_DELAY_NS};
use collbench_formats::Activity;

use crate::delay::{Amount, Delay, SpentIn};
use crate::scenario::written::{WrittenActivity, WrittenDelay, WrittenLatency};
use crate::scenario::{Latency, ScenarioError};

impl Check<'_> {
    pub(super) fn read_latency(
        &mut self,
        latency: Spanned<WrittenLatency>,
    ) -> Result<Latency, ScenarioError> {
        let span = latency.span();
        let latency = latency.into_inner();
        let default = self.latency.clone();
        let jitter = match latency.jitter {
            None => default.jitter,
            Some(jitter) => Some(self.read_delay(jitter)?),
        };
        if let Some(Amount::Noise { .. }) = jitter.as_ref().map(|jitter| &jitter.amount) {
            return self.wrong(span, "noise as jitter", "a distribution of times");
        }
        let latency = Latency {
            base_ns: latency.base_ns.unwrap_or(default.base_ns),
            departure_ns: latency.departure_ns.unwrap_or(default.departure_ns),
            across_hosts_ns: latency.across_hosts_ns.unwrap_or(default.across_hosts_ns),
            jitter,
        };
        let largest = latency
            .base_ns
            .max(latency.departure_ns)
            .max(latency.across_hosts_ns);
        if largest > MAX_DELAY_NS {
            let expected = format!("at most {MAX_DELAY_NS} ns");
            return self.wrong(span, format!("{largest} ns"), expected);
        }
        Ok(latency)
    }

    /// A delay in the work before a call, which may be spent in other calls.
    pub(super) fn read_work(
        &mut self,
        delay: Spanned<WrittenDelay>,
    ) -> Result<Delay, ScenarioError> {
        let span = delay.span();
        let mut delay = delay.into_inner();
        let Some(activity) = delay.activity.take() else {
            return self.read_delay(Spanned::new(span, delay));
        };
        let (partner, calls) = (delay.partner.take(), delay.calls.take());
        if let Some(partner) = partner.filter(|&partner| partner >= self.n_ranks) {
            let expected = format!("a rank, 0 to {}", self.n_ranks - 1);
            return self.wrong(span, format!("partner = {partner}"), expected);
        }
        let calls = calls.unwrap_or(1);
        let Some(n_calls) = u16::try_from(calls).ok().filter(|&n| n > 0) else {
            return self.wrong(span, format!("calls = {calls}"), "1 to 65535");
        };
        if delay.noise.is_some() {
            return self.wrong(span, "noise in an activity", "another amount of time");
        }
        Ok(Delay {
            spent_in: Some(SpentIn {
                activity: match activity {
                    WrittenActivity::PointToPoint => Activity::PointToPoint,
                    WrittenActivity::Polling => Activity::Polling,
                    WrittenActivity::Io => Activity::Io,
                    WrittenActivity::Rma => Activity::Rma,
                },
                partner: partner.map(|partner| partner as u32),
                n_calls,
            }),
            ..self.read_delay(Spanned::new(span, delay))?
        })
    }

    pub(super) fn read_delay(
        &mut self,
        delay: Spanned<WrittenDelay>,
    ) -> Result<Delay, ScenarioError> {
        let span = delay.span();
        let delay = delay.into_inner();
        if delay.activity.is_some() {
            return self.wrong(span, "an activity", "none: only work before calls has one");
        }
        if delay.partner.is_some() || delay.calls.is_some() {
            let expected = "an activity with them, or neither of them";
            return self.wrong(span, "partner or calls without an activity", expected);
        }
        let id = self.n_delays;
        self.n_delays += 1;
        let mut amounts = Vec::new();
        amounts.extend(delay.constant_ns.map(Amount::Constant));
        amounts.extend(delay.uniform_ns.map(|[a, b]| Amount::Uniform(a, b)));
        amounts.extend(delay.exponential_ns.map(Amount::Exponential));
        amounts.extend(delay.normal_ns.map(|[mean, sd]| Amount::Normal(mean, sd)));
        amounts.extend(delay.each_ns.map(Amount::Each));
        amounts.extend(delay.noise.map(|noise| Amount::Noise {
            period_ns: noise.period_ns,
            length_ns: noise.length_ns,
        }));
        let n = amounts.len();
        let amount = match (amounts.pop(), n) {
            (Some(amount), 1) => amount,
            _ => {
                let expected = "exactly one of constant_ns, uniform_ns, exponential_ns, \
                                normal_ns, each_ns, noise";
                return self.wrong(span, format!("{n} amounts of time"), expected);
            }
        };
        self.check_amount(&span, &amount)?;
        let share = delay.share.unwrap_or(1.0);
        if !(0.0..=1.0).contains(&share) {
            return self.wrong(span, format!("share = {share}"), "0 to 1");
        }
        if delay.moves_every == Some(0) {
            return self.wrong(span, "moves_every = 0", "a number of instances, at least 1");
        }
        let ranks = self.named_ranks(&span, delay.ranks, delay.host)?;
        let moves_over: Vec<u32> = match delay.moves_every {
            None => Vec::new(),
            Some(_) => (0..self.n_ranks as u32)
                .filter(|&rank| ranks.as_ref().is_none_or(|named| named[rank as usize]))
                .collect(),
        };
        if delay.moves_every.is_some() && moves_over.is_empty() {
            return self.wrong(span, "moves_every without ranks", "at least one rank");
        }
        Ok(Delay {
            id,
            amount,
            ranks,
            share,
            moves_every: delay.moves_every,
            moves_over,
            spent_in: None,
        })
    }

    pub(super) fn check_amount(
        &self,
        span: &Range<usize>,
        amount: &Amount,
    ) -> Result<(), ScenarioError> {
        let largest = match amount {
            Amount::Constant(ns) | Amount::Exponential(ns) => *ns,
            Amount::Uniform(low, high) if low > high => {
                let found = format!("uniform_ns = [{low}, {high}]");
                return self.wrong(span.clone(), found, "the smaller number first");
            }
            Amount::Uniform(_, high) => *high,
            Amount::Normal(mean, sd) => *mean.max(sd),
            Amount::Each(list) if list.len() as u64 != self.n_ranks => {
                let found = format!("each_ns with {} times", list.len());
                let expected = format!("one for each of the {} ranks", self.n_ranks);
                return self.wrong(span.clone(), found, expected);
            }
            Amount::Each(list) => list.iter().copied().max().unwrap_or(0),
            Amount::Noise {
                period_ns,
                length_ns,
            } if length_ns >= period_ns => {
                let found = format!("noise of {length_ns} ns every {period_ns} ns");
                return self.wrong(span.clone(), found, "a length shorter than the period");
            }
            Amount::Noise { period_ns, .. } => *period_ns,
        };
        if largest > MAX_DELAY_NS {
            let expected = format!("at most {MAX_DELAY_NS} ns");
            return self.wrong(span.clone(), format!("{largest} ns"), expected);
        }
        Ok(())
    }

    pub(super) fn named_ranks(
        &self,
        span: &Range<usize>,
        ranks: Option<Vec<u64>>,
        host: Option<String>,
    ) -> Result<Option<Vec<bool>>, ScenarioError> {
        let mut named = vec![false; self.host_of.len()];
        match (ranks, host) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return self.wrong(span.clone(), "both ranks and host", "only one of them");
            }
            (Some(ranks), None) => {
                for rank in ranks {
                    if rank >= self.n_ranks {
                        let expected = format!("0 to {}", self.n_ranks - 1);
                        return self.wrong(span.clone(), format!("rank {rank}"), expected);
                    }
                    named[rank as usize] = true;
                }
            }
            (None, Some(host)) => {
                let Some(at) = self.hosts.iter().position(|known| known.name == host) else {
                    let names: Vec<&str> =
                        self.hosts.iter().map(|host| host.name.as_str()).collect();
                    let expected = format!("one of {}", names.join(", "));
                    return self.wrong(span.clone(), format!("host = \"{host}\""), expected);
                };
                for (rank, &on) in self.host_of.iter().enumerate() {
                    named[rank] = on == at;
                }
            }
        }
        Ok(Some(named))
    }
}
