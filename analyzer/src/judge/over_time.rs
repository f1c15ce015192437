//! From sums to results: sections of the run, changes of lateness between them, and outliers.

use std::collections::BTreeMap;

use collbench_formats::{Operation, Semantics};
use collbench_stats::bins::doublings_to_cover;
use collbench_stats::distribution::Distribution;
use collbench_stats::integers::sum_ns;

use crate::judge::change::{Parties, Party, Section, phases};
use crate::judge::growth::{CostInSection, growth};
use crate::judge::inputs::Inputs;
use crate::results::over_time::{
    ChangeKind, ChangeSummary, Culprit, GrowthSummary, LatenessSectionSummary,
    OperationSectionSummary, OutlierSummary, PhaseSummary,
};
use crate::sums::instances::operation_key::OperationKey;
use crate::sums::instances::outliers::LongInstance;
use crate::sums::lateness::Lateness;
use crate::sums::operation::OperationTally;
use crate::sums::sections::{LatenessSections, MAX_SECTIONS, TimesLast};

/// Fewest instances for which sections and outliers are shown.
const MIN_INSTANCES: u64 = 32;
/// Resolved instances per section, in the mean, that are needed to show a change.
const PER_SECTION: u64 = 16;
/// Kinds of parties whose lateness may grow: ranks, hosts.
const PARTIES: usize = 2;
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
    let Some(least_ns) = outlier_limit(&tally.duration) else {
        return Vec::new();
    };
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
            site: instance.site.map(|site| site as usize),
        }
    };
    tally.longest.beyond(least_ns).map(summary).collect()
}

/// What an outlier of some times is longer than, ns; `None` of too few.
pub(crate) fn outlier_limit(times: &Distribution) -> Option<i64> {
    let usual = times.summary(None)?;
    if usual.n < MIN_INSTANCES {
        return None;
    }
    // Quartiles to the step of the histogram, on the outer side.
    let buckets = times.buckets();
    let quartile = |quarters: u64| {
        let mut before = 0;
        buckets.iter().find(|bucket| {
            before += bucket.n;
            4 * before >= quarters * usual.n
        })
    };
    let lower = quartile(1).map_or(0, |bucket| bucket.from_ns);
    let upper = quartile(3).map_or(i64::MAX, |bucket| bucket.to_ns);
    let distance = upper.saturating_sub(lower);
    let limit = upper.saturating_add(distance.saturating_mul(QUARTILE_DISTANCES));
    Some(limit.max(usual.median.saturating_mul(MEDIANS)))
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
    operation: Operation,
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
        does_one_wait: operation.semantics() == Semantics::ManyToOne,
    };
    let of_rank = Among {
        party_of: &|position| Some(position as usize),
        culprit: &|position| rank_at(inputs, lateness, position as u32).map(Culprit::Rank),
    };
    let of_host = Among {
        party_of: &|position| {
            let process = lateness.members[position as usize].process?;
            Some(inputs.clocks.processes[process].host)
        },
        culprit: &|host| Some(Culprit::Host(inputs.clocks.hosts[host].name.clone())),
    };
    let changes = lateness_of
        .among(&of_rank)
        .or_else(|| lateness_of.among(&of_host));
    // Lateness that grows from nothing also starts when it is first seen.
    match changes.as_ref().map(|change| change.kind) {
        None | Some(ChangeKind::Starts | ChangeKind::Ends) => lateness_of
            .growth(&of_rank)
            .or_else(|| lateness_of.growth(&of_host))
            .or(changes),
        Some(_) => changes,
    }
}

/// Lateness in sections that have enough instances each.
struct Changing<'a> {
    inputs: &'a Inputs<'a>,
    lateness: &'a Lateness,
    sections: LatenessSections,
    collectives_ns: i64,
    n_judged: usize,
    /// Whether only the root waits.
    does_one_wait: bool,
}

/// Parties whose lateness is compared.
struct Among<'a> {
    /// To which party a position of the communicator's entry belongs.
    party_of: &'a dyn Fn(u32) -> Option<usize>,
    /// Rank or host of a party.
    culprit: &'a dyn Fn(usize) -> Option<Culprit>,
}

impl Changing<'_> {
    /// By party the number of its processes; `None` if there are not two parties.
    fn sizes(&self, of: &Among<'_>) -> Option<BTreeMap<usize, usize>> {
        let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
        let members = self.lateness.members.iter().enumerate();
        for (position, _) in members.filter(|(_, member)| member.process.is_some()) {
            *sizes.entry((of.party_of)(position as u32)?).or_default() += 1;
        }
        (sizes.len() > 1).then_some(sizes)
    }

    /// The growth of the lateness of the party that cost most, if that is half of all.
    fn growth(&self, of: &Among<'_>) -> Option<ChangeSummary> {
        let sizes = self.sizes(of)?;
        let mut sums: BTreeMap<usize, TimesLast> = BTreeMap::new();
        for (position, member) in (0..).zip(&self.lateness.members) {
            let times = TimesLast {
                last: member.last,
                caused_ns: member.caused_ns,
            };
            if member.last > 0 {
                sums.entry((of.party_of)(position)?).or_default().add(times);
            }
        }
        let all_ns = sum_ns(sums.values().map(|times| times.caused_ns));
        let costliest = sums
            .into_iter()
            .rev()
            .max_by_key(|(_, times)| times.caused_ns);
        let (party, times) = costliest.filter(|(_, times)| times.caused_ns >= all_ns / 2)?;
        let end_ns = self.inputs.sums.end_ns;
        let section_ns = self.sections.0.bin_ns();
        let sections = self.sections.0.iter().filter_map(|(section, sums)| {
            let (from_ns, to_ns) = bounds(section, section_ns);
            let own = sums.by_position.iter();
            let own = own.filter(|(position, _)| (of.party_of)(*position) == Some(party));
            (sums.resolved() > 0).then(|| CostInSection {
                middle_ns: from_ns.midpoint(to_ns.min(end_ns)),
                resolved: sums.resolved(),
                caused_ns: sum_ns(own.map(|(_, times)| times.caused_ns)),
            })
        });
        let n_others = sizes.values().sum::<usize>() - sizes.get(&party)?;
        let grown = growth(
            &sections.collect::<Vec<_>>(),
            if self.does_one_wait { 1 } else { n_others },
            PARTIES * self.n_judged,
            (end_ns, self.collectives_ns),
        )?;
        let late = (of.culprit)(party)?;
        Some(ChangeSummary {
            kind: if grown.slope_ns_per_s < 0 {
                ChangeKind::Shrinks
            } else {
                ChangeKind::Grows
            },
            phases: vec![PhaseSummary {
                from_ns: 0,
                to_ns: end_ns,
                late: Some(late.clone()),
                share: Some(times.last as f64 / self.lateness.resolved as f64),
                wait_caused_ns: Some(times.caused_ns),
                resolved: self.lateness.resolved,
            }],
            growth: Some(GrowthSummary {
                late,
                slope_ns_per_s: grown.slope_ns_per_s,
                at_begin_ns: grown.at_begin_ns,
                at_end_ns: grown.at_end_ns,
            }),
        })
    }

    /// The change among parties.
    fn among(&self, of: &Among<'_>) -> Option<ChangeSummary> {
        let Among { party_of, culprit } = of;
        let sizes = self.sizes(of)?;
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
