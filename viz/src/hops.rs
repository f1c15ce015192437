//! The colours of hops: a hop is compared with the usual one of its kind, not with the slowest.
//!
//! A message within a host and one between hosts take times of different magnitudes, so each kind
//! has a median of its own. Only hops that take clearly longer than that differ from the others. If
//! colours were parts of the longest time, the longest of equal hops would look like a fault.

use collbench_text::quantity::duration;

use crate::timemap::StageTime;

/// Whether a hop stays within a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    WithinHost,
    BetweenHosts,
}

impl Kind {
    /// The kind of a hop between processes of these hosts.
    pub(crate) fn of<T: PartialEq>(from: &T, to: &T) -> Kind {
        if from == to {
            Kind::WithinHost
        } else {
            Kind::BetweenHosts
        }
    }
}

/// How the time of a hop compares with the median of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grade {
    /// At most [`FACTORS`]`[0]` times the median, or not further from it than the clock error.
    Usual,
    /// More than [`FACTORS`]`[n]` times the median.
    Above(usize),
    /// Not known, or not longer than the clock error.
    Unresolved,
}

/// The median is multiplied by these, in tenths.
const FACTORS: [i64; 3] = [15, 30, 100];

impl Grade {
    pub(crate) const ALL: [Grade; 5] = [
        Grade::Usual,
        Grade::Above(0),
        Grade::Above(1),
        Grade::Above(2),
        Grade::Unresolved,
    ];

    /// Number of its colour; `None`: hatched or dashed.
    pub(crate) fn color(self) -> Option<usize> {
        match self {
            Grade::Usual => Some(0),
            Grade::Above(n) => Some(n + 1),
            Grade::Unresolved => None,
        }
    }
}

/// The median time of the hops of each kind, ns.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Medians {
    within_host: Option<i64>,
    between_hosts: Option<i64>,
}

impl Medians {
    /// The medians of these hops; of an even number the lower of the two in the middle.
    pub(crate) fn of(hops: impl Iterator<Item = (Kind, StageTime)> + Clone) -> Medians {
        let median = |kind: Kind| {
            let of_kind = hops.clone().filter(|hop| hop.0 == kind);
            let mut times: Vec<i64> = of_kind.map(|(_, time)| time.mean_ns()).collect();
            times.sort_unstable();
            times.get(times.len().saturating_sub(1) / 2).copied()
        };
        Medians {
            within_host: median(Kind::WithinHost),
            between_hosts: median(Kind::BetweenHosts),
        }
    }

    pub(crate) fn grade(&self, kind: Kind, time: Option<StageTime>) -> Grade {
        let Some(time) = time.filter(|time| time.is_resolved()) else {
            return Grade::Unresolved;
        };
        let median = match kind {
            Kind::WithinHost => self.within_host,
            Kind::BetweenHosts => self.between_hosts,
        };
        let (ns, median) = (time.mean_ns(), median.unwrap_or(0).max(0));
        let excess = i64::try_from(time.error_ns().unwrap_or(0)).unwrap_or(i64::MAX);
        if ns.saturating_sub(median) <= excess {
            return Grade::Usual;
        }
        let exceeds = |factor: &i64| ns.saturating_mul(10) > median.saturating_mul(*factor);
        match FACTORS.iter().rposition(exceeds) {
            Some(n) => Grade::Above(n),
            None => Grade::Usual,
        }
    }

    /// The legend's entry for a grade.
    pub(crate) fn words(&self, grade: Grade) -> String {
        match grade {
            Grade::Usual => {
                let said = |name: &str, median: Option<i64>| {
                    median.map(|median| format!("{name} {}", duration(median)))
                };
                let medians: Vec<String> = [
                    said("within a host", self.within_host),
                    said("between hosts", self.between_hosts),
                ]
                .into_iter()
                .flatten()
                .collect();
                format!("usual for its kind (median {})", medians.join(", "))
            }
            Grade::Above(n) => {
                let factor = FACTORS.get(n).copied().unwrap_or_default() as f64 / 10.0;
                format!("more than {factor} times that")
            }
            Grade::Unresolved => "not known, or within the clock error".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(ns: i64) -> StageTime {
        StageTime::new(ns, 1).unwrap()
    }

    #[test]
    fn a_hop_is_compared_with_those_of_its_kind() {
        let between = [9_000, 9_500, 10_000, 40_000].map(|ns| (Kind::BetweenHosts, time(ns)));
        let within = [800, 900, 12_000].map(|ns| (Kind::WithinHost, time(ns)));
        let medians = Medians::of(between.into_iter().chain(within));
        let grade = |kind, ns| medians.grade(kind, Some(time(ns)));
        assert_eq!(grade(Kind::BetweenHosts, 14_000), Grade::Usual);
        assert_eq!(grade(Kind::BetweenHosts, 15_000), Grade::Above(0));
        assert_eq!(grade(Kind::BetweenHosts, 40_000), Grade::Above(1));
        assert_eq!(grade(Kind::WithinHost, 12_000), Grade::Above(2));
        assert_eq!(medians.grade(Kind::WithinHost, None), Grade::Unresolved);
        assert_eq!(
            medians.words(Grade::Usual),
            "usual for its kind (median within a host 900 ns, between hosts 9.50 us)"
        );
        assert_eq!(medians.words(Grade::Above(0)), "more than 1.5 times that");
    }

    #[test]
    fn what_the_clocks_do_not_resolve_does_not_stand_out() {
        let medians = Medians::of([(Kind::BetweenHosts, time(1_000))].into_iter());
        let grade = |ns, error| medians.grade(Kind::BetweenHosts, Some(time(ns).with_error(error)));
        assert_eq!(grade(4_000, Some(100)), Grade::Above(1));
        assert_eq!(grade(4_000, Some(3_500)), Grade::Usual);
        assert_eq!(grade(4_000, Some(4_000)), Grade::Unresolved);
    }
}
