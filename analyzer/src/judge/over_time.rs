//! From sums to results: sections of the run, changes of lateness between them, and outliers.

use std::collections::BTreeMap;

use collbench_stats::bins::doublings_to_cover;
use collbench_stats::integers::sum_ns;

use crate::judge::change::{Parties, Party, Section, phases};
use crate::judge::inputs::Inputs;
use crate::results::over_time::{
    ChangeSummary, Culprit, LatenessSectionSummary, OperationSectionSummary, OutlierSummary,
    PhaseSummary,
};
use crate::sums::lateness::Lateness;
use crate::sums::operation::{OperationKey, OperationTally};
use crate::sums::outliers::LongInstance;
use crate::sums::sections::{LatenessSections, MAX_SECTIONS, TimesLast};

/// Fewest instances for which sections and outliers are shown.
const MIN_INSTANCES: u64 = 32;
/// Resolved instances per section, in the mean, that are needed to show a change.
const PER_SECTION: u64 = 16;
/// An outlier took longer than the upper quartile plus this many times the interquartile range, and
/// longer than this many times the median.
const QUARTILE_DISTANCES: i64 = 3;
const MEDIANS: i64 = 2;

/// Length of sections, in doublings; equal for the whole run.
fn section_doublings(inputs: &Inputs<'_>) -> u32 {
    doublings_to_cover(inputs.sums.end_ns.max(0), MAX_SECTIONS)
}

/// Begin and end of a section, ns.
fn bounds(section: usize, section_ns: i64) -> (i64, i64) {
    let at = |section: usize| section_ns.saturating_mul(section as i64);
    (at(section), at(section + 1))
}

/// Times of an operation, section by section.
pub(crate) fn operation_sections(
    inputs: &Inputs<'_>,
    tally: &OperationTally,
) -> Option<Vec<OperationSectionSummary>> {
    if tally.instances < MIN_INSTANCES {
        return None;
    }
    let mut sections = tally.sections.0.clone();
    sections.widen(section_doublings(inputs));
    let summary = |(section, sums): (usize, &crate::sums::sections::OperationSection)| {
        let (from_ns, to_ns) = bounds(section, sections.bin_ns());
        OperationSectionSummary {
            from_ns,
            to_ns,
            instances: sums.instances,
            calls: sums.calls,
            call_time_ns: sums.call_ns,
            wait_ns: (sums.n_waits > 0).then_some(sums.wait_ns),
        }
    };
    Some(sections.iter().map(summary).collect())
}

/// The longest instances that are outliers; `apart_ns`: stamps that are further apart than this
/// have an order.
pub(crate) fn outliers(
    inputs: &Inputs<'_>,
    key: &OperationKey,
    tally: &OperationTally,
    apart_ns: i64,
) -> Vec<OutlierSummary> {
    let Some(usual) = tally.duration.summary(None) else {
        return Vec::new();
    };
    if tally.instances < MIN_INSTANCES {
        return Vec::new();
    }
    // Quartiles to the step of the histogram, on the outer side.
    let buckets = tally.duration.buckets();
    let quartile = |quarters: u64| {
        let mut before = 0;
        buckets.iter().find(|bucket| {
            before += bucket.n;
            4 * before >= quarters * tally.instances
        })
    };
    let lower = quartile(1).map_or(0, |bucket| bucket.from_ns);
    let upper = quartile(3).map_or(i64::MAX, |bucket| bucket.to_ns);
    let distance = upper.saturating_sub(lower);
    let least_ns = upper
        .saturating_add(distance.saturating_mul(QUARTILE_DISTANCES))
        .max(usual.median.saturating_mul(MEDIANS));
    let ranks = key
        .entry
        .map(|entry| &inputs.communicators.entries[entry].ranks);
    let rank = |position: usize| ranks?[position];
    let summary = |instance: &LongInstance| {
        let late = instance.late.as_ref();
        let resolved = late.filter(|late| late.by_ns > apart_ns);
        let positions = resolved.map_or(&[][..], |late| &late.positions);
        let mut late_ranks: Vec<u32> = positions.iter().filter_map(|at| rank(*at)).collect();
        late_ranks.sort_unstable();
        OutlierSummary {
            sequence: instance.sequence,
            at_ns: instance.at_ns,
            duration_ns: instance.duration_ns,
            last_rank: instance.last.and_then(rank),
            excess_ns: instance.last.map(|_| instance.excess_ns),
            late_ranks,
            late_by_ns: resolved.map(|late| late.by_ns),
            spread_ns: late.map(|late| late.spread_ns),
        }
    };
    tally.longest.beyond(least_ns).map(summary).collect()
}

fn rank_at(inputs: &Inputs<'_>, lateness: &Lateness, position: u32) -> Option<u32> {
    let process = lateness.members[position as usize].process?;
    Some(inputs.run.processes[process].rank())
}

/// Who arrived last, section by section.
pub(crate) fn lateness_sections(
    inputs: &Inputs<'_>,
    lateness: &Lateness,
) -> Vec<LatenessSectionSummary> {
    let mut sections = lateness.sections.0.clone();
    sections.widen(section_doublings(inputs));
    sections
        .iter()
        .map(|(section, sums)| {
            let (from_ns, to_ns) = bounds(section, sections.bin_ns());
            // Among equals the first.
            let most = sums
                .by_position
                .iter()
                .rev()
                .max_by_key(|(_, times)| times.last);
            LatenessSectionSummary {
                from_ns,
                to_ns,
                instances: sums.instances,
                resolved: sums.resolved(),
                rank: most.and_then(|(position, _)| rank_at(inputs, lateness, *position)),
                last: most.map_or(0, |(_, times)| times.last),
                wait_caused_ns: most.map_or(0, |(_, times)| times.caused_ns),
                all_waits_caused_ns: sum_ns(sums.by_position.iter().map(|(_, t)| t.caused_ns)),
            }
        })
        .collect()
}

/// How lateness changed over the run: of one rank, or else of one host.
pub(crate) fn change(
    inputs: &Inputs<'_>,
    lateness: &Lateness,
    collectives_ns: i64,
    n_judged: usize,
) -> Option<ChangeSummary> {
    let mut sections = lateness.sections.clone();
    // As many sections as have enough instances each.
    let mut doublings = section_doublings(inputs);
    sections.0.widen(doublings);
    let n_told = |sections: &LatenessSections| {
        sections
            .0
            .iter()
            .filter(|(_, sums)| sums.resolved() > 0)
            .count() as u64
    };
    while n_told(&sections) > 1 && lateness.resolved < PER_SECTION * n_told(&sections) {
        doublings += 1;
        sections.0.widen(doublings);
    }
    let lateness_of = Changing {
        inputs,
        lateness,
        sections,
        collectives_ns,
        n_judged,
    };
    let of_rank = lateness_of.among(&|position| Some(position as usize), &|position| {
        rank_at(inputs, lateness, position as u32).map(Culprit::Rank)
    });
    let host_of = |position: u32| {
        let process = lateness.members[position as usize].process?;
        Some(inputs.clocks.processes[process].host)
    };
    of_rank.or_else(|| {
        lateness_of.among(&host_of, &|host| {
            Some(Culprit::Host(inputs.clocks.hosts[host].name.clone()))
        })
    })
}

/// Lateness in sections that have enough instances each.
struct Changing<'a> {
    inputs: &'a Inputs<'a>,
    lateness: &'a Lateness,
    sections: LatenessSections,
    collectives_ns: i64,
    n_judged: usize,
}

impl Changing<'_> {
    /// The change among parties; `party_of` says to which a position belongs, `culprit` what a
    /// party is called.
    fn among(
        &self,
        party_of: &dyn Fn(u32) -> Option<usize>,
        culprit: &dyn Fn(usize) -> Option<Culprit>,
    ) -> Option<ChangeSummary> {
        let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
        let members = self.lateness.members.iter().enumerate();
        for (position, _) in members.filter(|(_, member)| member.process.is_some()) {
            *sizes.entry(party_of(position as u32)?).or_default() += 1;
        }
        if sizes.len() < 2 {
            return None;
        }
        let mut ever_last: BTreeMap<usize, TimesLast> = BTreeMap::new();
        for (_, sums) in self.sections.0.iter() {
            for (position, times) in &sums.by_position {
                ever_last
                    .entry(party_of(*position)?)
                    .or_default()
                    .add(*times);
            }
        }
        let indexes: Vec<usize> = ever_last.keys().copied().collect();
        let parties: Vec<Party> = indexes
            .iter()
            .map(|party| Party {
                n_processes: sizes[party],
            })
            .collect();
        let n_sections = self
            .sections
            .0
            .iter()
            .last()
            .map_or(0, |(section, _)| section + 1);
        let mut by_section = vec![
            Section {
                times: vec![TimesLast::default(); parties.len()]
            };
            n_sections
        ];
        for (section, sums) in self.sections.0.iter() {
            for (position, times) in &sums.by_position {
                if let Ok(index) = indexes.binary_search(&party_of(*position)?) {
                    by_section[section].times[index].add(*times);
                }
            }
        }
        let among = Parties {
            ever_last: &parties,
            n_parties: sizes.len(),
            n_processes: sizes.values().sum(),
            n_judged: self.n_judged,
        };
        let (kind, phases) = phases(among, &by_section, self.collectives_ns)?;
        let section_ns = self.sections.0.bin_ns();
        let begin = |at: usize| match at {
            0 => 0,
            at => bounds(phases[at].first, section_ns).0,
        };
        let end_ns = self
            .inputs
            .sums
            .end_ns
            .max(bounds(phases.last()?.last, section_ns).0);
        let summaries = phases.iter().enumerate().map(|(at, phase)| {
            let late = phase.party.and_then(|index| culprit(indexes[index]));
            let times = late.is_some().then(|| phase.of_party());
            PhaseSummary {
                from_ns: begin(at),
                to_ns: if at + 1 < phases.len() {
                    begin(at + 1)
                } else {
                    end_ns
                },
                share: times.map(|times| times.last as f64 / phase.resolved() as f64),
                wait_caused_ns: times.map(|times| times.caused_ns),
                resolved: phase.resolved(),
                late,
            }
        });
        Some(ChangeSummary {
            kind,
            phases: summaries.collect(),
            growth: None,
        })
    }
}
