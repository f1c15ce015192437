//! Checks hosts, their clocks, and the exchanges between these.

use collbench_formats::ClockSource;
use toml::Spanned;

use super::file::{Check, MAX_DELAY_NS, MAX_NS};
use crate::clock::{HostClock, Wander};
use crate::scenario::written::{
    Placement, WrittenExchanges, WrittenHost, WrittenSource, WrittenWander,
};
use crate::scenario::{Exchanges, Host, ScenarioError};

/// Most ranks of a scenario.
const MAX_RANKS: u64 = 1 << 20;
/// Most changes of the rate of one clock.
const MAX_RATE_STEPS: usize = 10_000;

impl Check<'_> {
    pub(super) fn read_hosts(
        &mut self,
        written: Vec<Spanned<WrittenHost>>,
        placement: Placement,
        uptime_ns: u64,
        started_unix_ns: u64,
    ) -> Result<(), ScenarioError> {
        let mut ranks_on = Vec::new();
        for host in written {
            let span = host.span();
            let host = host.into_inner();
            if host.name.is_empty() || self.hosts.iter().any(|other| other.name == host.name) {
                let found = format!("a host named \"{}\"", host.name);
                return self.wrong(span, found, "a unique name that is not empty");
            }
            let n = self.number("ranks", Some(host.ranks), 0, 1..=MAX_RANKS)?;
            self.n_ranks += n;
            if self.n_ranks > MAX_RANKS {
                let found = format!("{} ranks in total", self.n_ranks);
                return self.wrong(span, found, format!("at most {MAX_RANKS}"));
            }
            ranks_on.push(n);
            let source = match host.clock {
                WrittenSource::Tsc => ClockSource::Tsc,
                WrittenSource::Raw => ClockSource::MonotonicRaw,
                WrittenSource::Monotonic => ClockSource::Monotonic,
            };
            let rate_khz = self.read_rate_khz(source, host.ghz)?;
            let drift_ppb = self.read_drift_ppb(host.drift_ppm)?;
            if host.offset_ns < 0 && host.offset_ns.unsigned_abs() >= uptime_ns {
                let found = format!("offset_ns = {}", host.offset_ns);
                return self.wrong(span, found, format!("more than -uptime_ns = -{uptime_ns}"));
            }
            if host.offset_ns.unsigned_abs() > MAX_NS {
                let found = format!("offset_ns = {}", host.offset_ns);
                return self.wrong(span, found, format!("at most {MAX_NS}"));
            }
            let granularity_ticks =
                self.number("granularity_ticks", host.granularity_ticks, 1, 1..=1 << 32)?;
            let anchor_width_ns = self.number(
                "anchor_width_ns",
                host.anchor_width_ns,
                100,
                0..=1_000_000_000,
            )?;
            self.hosts.push(Host {
                name: host.name,
                clock: HostClock {
                    source,
                    rate_khz,
                    granularity_ticks,
                    uptime_ns,
                    offset_ns: host.offset_ns,
                    drift_ppb,
                    wander: self.read_wander(host.wander)?,
                    started_unix_ns,
                    anchor_width_ns,
                    anchor_jitter_ns: host.anchor_jitter_ns,
                },
            });
        }
        if self.hosts.is_empty() {
            return self.wrong(0..0, "no hosts", "at least one [[hosts]]");
        }
        self.host_of = placed(&ranks_on, placement);
        Ok(())
    }

    fn read_rate_khz(
        &self,
        source: ClockSource,
        ghz: Option<Spanned<f64>>,
    ) -> Result<u64, ScenarioError> {
        let Some(ghz) = ghz else {
            let is_tsc = source == ClockSource::Tsc;
            return Ok(if is_tsc { 2_000_000 } else { 1_000_000 });
        };
        let value = *ghz.get_ref();
        if source != ClockSource::Tsc {
            let found = "ghz for a clock that counts nanoseconds";
            return self.wrong(ghz.span(), found, "clock = \"tsc\", or no ghz");
        }
        if !(0.001..=10.0).contains(&value) {
            let found = format!("ghz = {value}");
            return self.wrong(ghz.span(), found, "0.001 to 10");
        }
        Ok((value * 1e6).round() as u64)
    }

    fn read_drift_ppb(&self, ppm: Option<Spanned<f64>>) -> Result<i64, ScenarioError> {
        match ppm {
            None => Ok(0),
            Some(ppm) if ppm.get_ref().abs() <= 1000.0 => {
                Ok((ppm.get_ref() * 1000.0).round() as i64)
            }
            Some(ppm) => {
                let found = format!("drift_ppm = {}", ppm.get_ref());
                self.wrong(ppm.span(), found, "-1000 to 1000")
            }
        }
    }

    pub(super) fn read_exchanges(
        &self,
        written: WrittenExchanges,
    ) -> Result<Exchanges, ScenarioError> {
        // Longer than on any network, and short enough that no burst outlasts every run.
        let limits = 0..=MAX_DELAY_NS;
        let every_ns = match written.every_ns {
            None => None,
            // Bounds the number of bursts in a run of any length.
            Some(every) => Some(self.number("every_ns", Some(every), 0, 1_000_000..=MAX_NS)?),
        };
        Ok(Exchanges {
            n: self.number("n", written.n, 100, 1..=100_000)?,
            one_way_ns: self.number("one_way_ns", written.one_way_ns, 20_000, limits.clone())?,
            is_over_network: written.over_network.unwrap_or(false),
            asymmetry_ns: self.number("asymmetry_ns", written.asymmetry_ns, 0, limits.clone())?,
            jitter_ns: self.number("jitter_ns", written.jitter_ns, 0, limits)?,
            every_ns,
            at_end: written.at_end.unwrap_or(true),
        })
    }

    fn read_wander(
        &self,
        written: Option<Spanned<WrittenWander>>,
    ) -> Result<Wander, ScenarioError> {
        let Some(written) = written else {
            return Ok(Wander::default());
        };
        let span = written.span();
        let written = written.into_inner();
        let rates = written.steps.iter().map(|step| step.ppm);
        let mut rates = rates.chain([written.amplitude_ppm]);
        let has_times = written.steps.iter().all(|step| step.at_ns <= MAX_NS)
            && written.period_ns <= MAX_NS
            && written.steps.len() <= MAX_RATE_STEPS;
        if !has_times || !rates.all(|ppm| ppm.abs() <= 1000.0) {
            let found = "a wander with times or rates out of range";
            return self.wrong(
                span,
                found,
                format!(
                    "rates of -1000 to 1000 ppm, times up to {MAX_NS} ns, at most \
                     {MAX_RATE_STEPS} steps"
                ),
            );
        }
        let ppb = |ppm: f64| (ppm * 1e3).round() as i64;
        let steps = written.steps.iter();
        Ok(Wander {
            amplitude_ppb: ppb(written.amplitude_ppm),
            period_ns: written.period_ns,
            steps: steps.map(|step| (step.at_ns, ppb(step.ppm))).collect(),
        })
    }
}

/// Index of the host of each world rank.
fn placed(ranks_on: &[u64], placement: Placement) -> Vec<usize> {
    let mut host_of = Vec::new();
    match placement {
        Placement::Block => {
            for (host, &n) in ranks_on.iter().enumerate() {
                host_of.extend(std::iter::repeat_n(host, n as usize));
            }
        }
        Placement::RoundRobin => {
            let most = ranks_on.iter().copied().max().unwrap_or(0);
            for round in 0..most {
                let with_room = ranks_on.iter().enumerate().filter(|&(_, &n)| round < n);
                host_of.extend(with_room.map(|(host, _)| host));
            }
        }
    }
    host_of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_placed_in_blocks_or_round_robin() {
        assert_eq!(placed(&[2, 3], Placement::Block), [0, 0, 1, 1, 1]);
        assert_eq!(placed(&[2, 3], Placement::RoundRobin), [0, 1, 0, 1, 1]);
    }
}
