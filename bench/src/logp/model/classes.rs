//! Classes of links, found from their latencies.

use std::collections::BTreeMap;

use serde::Serialize;

/// The round trip between two processes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Pair {
    pub(in crate::logp) from: usize,
    pub(in crate::logp) to: usize,
    /// Whether both are on one host.
    pub(in crate::logp) is_on_one_host: bool,
    /// ns, > 0.
    pub(in crate::logp) round_trip_ns: f64,
}

/// Links of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Class {
    /// `same host`, `LAN`, `WAN`; numbered if there are several of a kind, the fastest first.
    pub(in crate::logp) name: String,
    /// The shortest and the longest round trip of its pairs, ns.
    pub(in crate::logp) from_ns: f64,
    pub(in crate::logp) to_ns: f64,
    /// Indexes of its pairs, by round trip, ascending.
    pub(in crate::logp) pairs: Vec<usize>,
}

/// Links are of different classes where the next longer round trip is longer by this factor.
const APART: f64 = 2.5;
/// A round trip that is longer, ns, takes longer than light takes over any distance of a site.
const WIDE_AREA_NS: f64 = 1e6;

impl Class {
    /// The classes of all pairs, from the fastest to the slowest; those of one host are one class.
    pub(in crate::logp) fn of(pairs: &[Pair]) -> Vec<Self> {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by(|&a, &b| {
            let key = |pair: &Pair| (!pair.is_on_one_host, pair.round_trip_ns);
            let (a, b) = (key(&pairs[a]), key(&pairs[b]));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let is_alike = |&a: &usize, &b: &usize| {
            let (a, b) = (&pairs[a], &pairs[b]);
            let is_near = b.round_trip_ns <= APART * a.round_trip_ns;
            a.is_on_one_host == b.is_on_one_host && (is_near || a.is_on_one_host)
        };
        let mut classes: Vec<Self> = Vec::new();
        for members in order.chunk_by(is_alike) {
            let at = |idx: usize| pairs[members[idx]].round_trip_ns;
            let kind = if pairs[members[0]].is_on_one_host {
                "same host"
            } else if at(0) < WIDE_AREA_NS {
                "LAN"
            } else {
                "WAN"
            };
            let is_same = |class: &&Self| class.name.starts_with(kind);
            let name = match classes.iter().filter(is_same).count() {
                0 => kind.to_owned(),
                n => format!("{kind} {}", n + 1),
            };
            classes.push(Self {
                name,
                from_ns: at(0),
                to_ns: at(members.len() - 1),
                pairs: members.to_vec(),
            });
        }
        classes
    }

    /// The pair with the median round trip, which represents the class.
    pub(in crate::logp) fn median_pair(&self) -> usize {
        self.pairs[(self.pairs.len() - 1) / 2]
    }
}

/// The class of each link.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::logp) struct Links {
    /// By both processes, the lower rank first.
    names: BTreeMap<(usize, usize), String>,
}

impl Links {
    /// Of the links that were measured.
    pub(in crate::logp) fn of(pairs: &[Pair], classes: &[Class]) -> Self {
        let mut names = BTreeMap::new();
        for class in classes {
            for &idx in &class.pairs {
                let Pair { from, to, .. } = pairs[idx];
                names.insert((from.min(to), from.max(to)), class.name.clone());
            }
        }
        Self { names }
    }

    /// The name of the class of the link between two processes; `None` if it is unknown.
    pub(in crate::logp) fn class(&self, a: usize, b: usize) -> Option<&str> {
        self.names.get(&(a.min(b), a.max(b))).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(is_on_one_host: bool, round_trip_ns: f64) -> Pair {
        Pair {
            from: 0,
            to: 1,
            is_on_one_host,
            round_trip_ns,
        }
    }

    fn names(pairs: &[Pair]) -> Vec<(String, usize)> {
        let classes = Class::of(pairs).into_iter();
        classes
            .map(|class| (class.name, class.pairs.len()))
            .collect()
    }

    #[test]
    fn hosts_a_local_network_and_another_site_are_three_classes() {
        let pairs = [
            pair(false, 10_100_000.0),
            pair(true, 700.0),
            pair(false, 61_000.0),
            pair(false, 10_300_000.0),
            pair(true, 4_000.0),
            pair(false, 90_000.0),
        ];
        let expected = [("same host", 2), ("LAN", 2), ("WAN", 2)];
        assert_eq!(
            names(&pairs),
            expected.map(|(name, n)| (name.to_owned(), n))
        );
        let classes = Class::of(&pairs);
        assert_eq!(classes[1].pairs, [2, 5]);
        assert_eq!((classes[1].from_ns, classes[1].to_ns), (61_000.0, 90_000.0));
        assert_eq!(classes[2].median_pair(), 0);
    }

    #[test]
    fn two_local_networks_are_numbered() {
        let pairs = [pair(false, 3_000.0), pair(false, 60_000.0)];
        let expected = [("LAN", 1), ("LAN 2", 1)];
        assert_eq!(
            names(&pairs),
            expected.map(|(name, n)| (name.to_owned(), n))
        );
        assert_eq!(names(&[]), []);
    }
}
