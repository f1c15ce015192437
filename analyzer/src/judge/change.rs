//! Change over time: lateness that starts, ends, moves, or comes and goes.
//!
//! In each section of the run there is a late party (a process, or a host) where one arrived last
//! more often than chance allows, by the exact binomial tail, corrected for the number of parties,
//! sections, and operations judged; sections with too few instances are skipped. Neighbouring
//! sections with the same late party, or with none, are one phase. Then the boundaries are tested:
//! of two neighbouring phases the parts of instances that their late parties arrived last to must
//! differ by more than chance allows (Fisher's exact test, with the same correction) and by a fifth
//! at least; else they are one phase, the least different first. A late party whose arrival cost
//! less than a hundredth of the time of all collectives is ignored. What is left, if more than one
//! phase, is a change.

use collbench_stats::chance::{binomial_tail, fisher_exact_p};
use collbench_stats::integers::add_ns;

use crate::results::over_time::ChangeKind;
use crate::sums::sections::TimesLast;

/// Largest probability of a false statement.
const MAX_P: f64 = 0.01;
/// Smallest share of the time of all collectives that is worth a statement.
const MIN_TIME_SHARE: f64 = 0.01;
/// The least difference between phases in the part of instances.
const MIN_DIFFERENCE: f64 = 0.2;

/// Parties in one section of the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    /// By index of those that ever arrived last.
    pub(crate) times: Vec<TimesLast>,
}

/// A party of processes: one, or those of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Party {
    /// Its processes.
    pub(crate) n_processes: usize,
}

/// Neighbouring sections with the same late party, or with none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Phase {
    /// First section, of those that can tell.
    pub(crate) first: usize,
    /// Last section, of those that can tell.
    pub(crate) last: usize,
    /// Who is late in it.
    pub(crate) party: Option<usize>,
    times: Vec<TimesLast>,
}

impl Phase {
    /// Instances of which it is known who arrived last.
    pub(crate) fn resolved(&self) -> u64 {
        self.times.iter().map(|times| times.last).sum()
    }

    /// How often its late party arrived last, and the waits that this caused.
    pub(crate) fn of_party(&self) -> TimesLast {
        self.party
            .map_or_else(TimesLast::default, |party| self.times[party])
    }
}

/// Among whom the late ones are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parties<'a> {
    /// Those that ever arrived last.
    pub(crate) ever_last: &'a [Party],
    /// All, also those that never did.
    pub(crate) n_parties: usize,
    /// Their processes.
    pub(crate) n_processes: usize,
    /// Number of operations on communicators that are judged in the run.
    pub(crate) n_judged: usize,
}

/// The phases of a run, if there is more than one; `collectives_ns` is the time of all collectives.
pub(crate) fn phases(
    parties: Parties<'_>,
    sections: &[Section],
    collectives_ns: i64,
) -> Option<(ChangeKind, Vec<Phase>)> {
    let judge = Judge {
        parties: parties.ever_last,
        n_processes: parties.n_processes,
        n_trials: (parties.n_parties * sections.len() * parties.n_judged) as f64,
        least_ns: MIN_TIME_SHARE * collectives_ns as f64,
    };
    let mut phases: Vec<Phase> = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        let phase = Phase {
            first: index,
            last: index,
            party: judge.late(&section.times),
            times: section.times.clone(),
        };
        // Sections with too few instances are skipped.
        if judge.can_tell(phase.resolved()) {
            phases.push(phase);
        }
    }
    judge.unite_alike(&mut phases);
    judge.unite_where_chance_explains_it(&mut phases);
    for phase in &mut phases {
        if (phase.of_party().caused_ns as f64) < judge.least_ns {
            phase.party = None;
        }
    }
    judge.unite_alike(&mut phases);
    kind(&phases).map(|kind| (kind, phases))
}

fn kind(phases: &[Phase]) -> Option<ChangeKind> {
    let mut late: Vec<usize> = phases.iter().filter_map(|phase| phase.party).collect();
    late.sort_unstable();
    late.dedup();
    let party = |at: usize| phases.get(at).map(|phase| phase.party);
    match (phases.len(), late.len()) {
        (0 | 1, _) | (_, 0) => None,
        (_, 2..) => Some(ChangeKind::Moves),
        (2, _) if party(0) == Some(None) => Some(ChangeKind::Starts),
        (2, _) => Some(ChangeKind::Ends),
        _ => Some(ChangeKind::ComesAndGoes),
    }
}

struct Judge<'a> {
    parties: &'a [Party],
    n_processes: usize,
    /// Number of tests, by which a probability is multiplied.
    n_trials: f64,
    least_ns: f64,
}

impl Judge<'_> {
    fn fair_share(&self, party: usize) -> f64 {
        self.parties[party].n_processes as f64 / self.n_processes as f64
    }

    /// The party that arrived last most often, if that is more often than chance allows.
    fn late(&self, times: &[TimesLast]) -> Option<usize> {
        let n = times.iter().map(|times| times.last).sum();
        let parties = times.iter().enumerate();
        // Among equals the first.
        let (party, most) = parties.rev().max_by_key(|(_, times)| times.last)?;
        let p = binomial_tail(n, most.last, self.fair_share(party));
        (p * self.n_trials < MAX_P).then_some(party)
    }

    /// Whether this many instances would suffice to detect a party that arrived last in all of
    /// them.
    fn can_tell(&self, n: u64) -> bool {
        let least = (0..self.parties.len()).map(|party| self.fair_share(party));
        let least = least.fold(1.0, f64::min);
        least < 1.0 && binomial_tail(n, n, least) * self.n_trials < MAX_P
    }

    /// Merges neighbouring phases with the same late party.
    fn unite_alike(&self, phases: &mut Vec<Phase>) {
        let mut at = 1;
        while at < phases.len() {
            if phases[at - 1].party == phases[at].party {
                self.unite(phases, at)
            } else {
                at += 1
            }
        }
    }

    /// Merges neighbouring phases whose difference chance explains, the most likely first.
    fn unite_where_chance_explains_it(&self, phases: &mut Vec<Phase>) {
        loop {
            let chances =
                (1..phases.len()).map(|at| (self.alike(&phases[at - 1], &phases[at]), at));
            let most = chances.reduce(|best, next| if next.0 > best.0 { next } else { best });
            let Some((chance, at)) = most else { return };
            if chance * self.n_trials < MAX_P {
                return;
            }
            self.unite(phases, at);
            let united = &mut phases[at - 1];
            united.party = self.late(&united.times);
            self.unite_alike(phases);
        }
    }

    /// Probability of such a difference between two phases if nothing changed, by their late
    /// parties.
    fn alike(&self, phase: &Phase, next: &Phase) -> f64 {
        let (n, next_n) = (phase.resolved(), next.resolved());
        let parties = [phase.party, next.party].into_iter().flatten();
        parties
            .map(|party| {
                let (k, next_k) = (phase.times[party].last, next.times[party].last);
                let difference = k as f64 / n as f64 - next_k as f64 / next_n as f64;
                if difference.abs() < MIN_DIFFERENCE {
                    1.0
                } else {
                    fisher_exact_p(k, n, next_k, next_n)
                }
            })
            .fold(1.0, f64::min)
    }

    /// Adds phase `at` to the one before it.
    fn unite(&self, phases: &mut Vec<Phase>, at: usize) {
        let next = phases.remove(at);
        let phase = &mut phases[at - 1];
        phase.last = next.last;
        for (sum, times) in phase.times.iter_mut().zip(&next.times) {
            sum.last += times.last;
            add_ns(&mut sum.caused_ns, times.caused_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collbench_stats::random::Random;

    const PARTIES: Parties<'_> = Parties {
        ever_last: &[Party { n_processes: 1 }; 4],
        n_parties: 4,
        n_processes: 4,
        n_judged: 1,
    };

    fn section(last: [u64; 4]) -> Section {
        let times = last.iter().map(|&last| TimesLast {
            last,
            caused_ns: 100 * last.cast_signed(),
        });
        Section {
            times: times.collect(),
        }
    }

    /// First section and late party of each phase.
    type Found = (ChangeKind, Vec<(usize, Option<usize>)>);

    fn found(sections: &[[u64; 4]]) -> Option<Found> {
        let sections: Vec<Section> = sections.iter().map(|&last| section(last)).collect();
        let (kind, phases) = phases(PARTIES, &sections, 10_000)?;
        let phases = phases.iter().map(|phase| (phase.first, phase.party));
        Some((kind, phases.collect()))
    }

    #[test]
    fn lateness_starts_ends_moves_comes_and_goes() {
        let (nobody, one, other) = ([5, 5, 6, 4], [0, 1, 0, 19], [20, 0, 0, 0]);
        assert_eq!(
            found(&[nobody, nobody, nobody, one, one]),
            Some((ChangeKind::Starts, vec![(0, None), (3, Some(3))]))
        );
        assert_eq!(
            found(&[one, nobody, nobody, nobody]),
            Some((ChangeKind::Ends, vec![(0, Some(3)), (1, None)]))
        );
        assert_eq!(
            found(&[one, one, other, other, one]),
            Some((
                ChangeKind::Moves,
                vec![(0, Some(3)), (2, Some(0)), (4, Some(3))]
            ))
        );
        assert_eq!(
            found(&[one, nobody, nobody, one]),
            Some((
                ChangeKind::ComesAndGoes,
                vec![(0, Some(3)), (1, None), (3, Some(3))]
            ))
        );
    }

    #[test]
    fn steady_lateness_chance_and_trifles_are_no_change() {
        let one = [0, 1, 0, 19];
        assert_eq!(found(&[one, [0, 0, 1, 19], one, one]), None);
        assert_eq!(
            found(&[[5, 5, 6, 4], [9, 3, 4, 4], [4, 8, 3, 5], [2, 6, 7, 5]]),
            None
        );
        assert_eq!(found(&[]), None);
        // One section in which the late one is late a little less often is not a phase.
        assert_eq!(found(&[one, one, [2, 2, 2, 14], one, one]), None);
        // 20 times 100 ns of 10 ms are less than a hundredth.
        let sections = [section([5, 5, 6, 4]), section([20, 0, 0, 0])];
        assert_eq!(phases(PARTIES, &sections, 10_000_000), None);
    }

    #[test]
    fn sections_too_short_to_tell_are_passed_over() {
        let (nobody, one) = ([5, 5, 6, 4], [0, 1, 0, 19]);
        assert_eq!(found(&[one, [1, 1, 0, 0], one, [0, 0, 0, 0], one]), None);
        assert_eq!(
            found(&[nobody, [0, 0, 0, 1], one, one]),
            Some((ChangeKind::Starts, vec![(0, None), (2, Some(3))]))
        );
    }

    #[test]
    fn last_by_lot_is_hardly_ever_a_change() {
        let mut random = Random::of(&[5]);
        let mut changes = 0;
        for _ in 0..300 {
            let sections: Vec<[u64; 4]> = (0..24)
                .map(|_| {
                    let mut last = [0; 4];
                    for _ in 0..25 {
                        last[random.below(4)] += 1;
                    }
                    last
                })
                .collect();
            changes += u32::from(found(&sections).is_some());
        }
        assert!(changes <= 3, "{changes} of 300");
    }
}
