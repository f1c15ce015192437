//! Gaps of several senders and receivers.
//!
//! The model has one gap for all links, so only links of one class are compared: an arrangement whose
//! links are of several classes would be measured against a pair that is like some of them only.

use std::collections::BTreeMap;

use super::super::messages::{Job, Pattern, Ranks, Timed, Transfer};
use super::super::model::{Arrangement, Check, Estimate, Links};
use super::sampler::Sampler;
use super::signature::Subject;

/// Costs that an arrangement is expected to need: those of two gaps, and of a window.
const COSTS: usize = 10;

/// Senders and receivers all of whose links are of one class.
#[derive(Debug, Clone, PartialEq)]
struct Arranged {
    arrangement: Arrangement,
    /// Name of the class.
    links: String,
    /// Numbers of senders and receivers.
    among: (usize, usize),
    pattern: Pattern,
    /// One of its links: from, to.
    pair: (usize, usize),
}

impl<J: Job> Sampler<'_, J> {
    /// All arrangements of links of one class, compared with one of these links; `window` is that of
    /// the first attempt to see the gap of that link.
    pub(in crate::logp) fn checks(
        &mut self,
        transfer: Transfer,
        window: usize,
        links: &Links,
    ) -> Vec<Check> {
        let mut windows = BTreeMap::new();
        let mut checks = Vec::new();
        for one in Arranged::all(self.job.n_processes(), links) {
            let part = one.words(transfer);
            self.progress.begin(part, COSTS, self.job.elapsed_ns());
            let (from, to) = one.pair;
            let mut subject = Subject {
                pattern: Pattern::Pair(from, to),
                transfer,
                window,
            };
            let known = windows.get(&one.pair).copied();
            let Some(adapted) = known.or_else(|| self.window_of(subject)) else {
                continue;
            };
            windows.insert(one.pair, adapted);
            subject.window = adapted;
            let of_pattern = Subject {
                pattern: one.pattern,
                ..subject
            };
            let gaps: Option<(Estimate, Estimate)> = self.gap(of_pattern).zip(self.gap(subject));
            if let Some(gaps) = gaps {
                let bytes = transfer.bytes();
                let check = Check::of(one.arrangement, one.links, one.among, bytes, gaps.into());
                checks.push(check);
            }
        }
        checks
    }

    /// The least window with which the gap is visible, as far as there is one.
    fn window_of(&mut self, subject: Subject) -> Option<usize> {
        let round_trip = self.differing(subject.repeated(1), Timed::RoundTrip)?;
        Some(self.window(subject, round_trip.mean.ns)?.window)
    }
}

/// How many costs all arrangements of processes are expected to need, for one kind of transfer.
pub(in crate::logp) fn checked(n: usize, links: &Links) -> usize {
    COSTS * Arranged::all(n, links).len()
}

impl Arranged {
    /// What is measured, for the person who waits.
    fn words(&self, transfer: Transfer) -> String {
        let (senders, receivers) = self.among;
        let messages = match transfer.bytes() {
            0 => "small messages".to_owned(),
            bytes => format!("messages of {bytes} bytes"),
        };
        format!(
            "{}, {messages} of {senders} to {receivers} processes",
            self.links
        )
    }

    /// All of a job of `n` processes: several pairs at once, process 0 to others, others to process 0.
    fn all(n: usize, links: &Links) -> Vec<Self> {
        let mut all: Vec<Self> = Self::pairs(n, links).into_iter().collect();
        let stars = stars(n, links);
        for (class, ranks) in &stars {
            all.push(Self {
                arrangement: Arrangement::OneToMany,
                links: (*class).to_owned(),
                among: (1, ranks.count()),
                pattern: Pattern::OneToMany(*ranks),
                pair: (0, ranks.first()),
            });
        }
        for (class, ranks) in &stars {
            for k in counts(ranks.count()) {
                all.push(Self {
                    arrangement: Arrangement::ManyToOne,
                    links: (*class).to_owned(),
                    among: (k, 1),
                    pattern: Pattern::ManyToOne(ranks.begin(k)),
                    pair: (ranks.first(), 0),
                });
            }
        }
        all
    }

    /// Each process of the first half to one of the second half.
    fn pairs(n: usize, links: &Links) -> Option<Self> {
        let half = n / 2;
        let class = links.class(0, half).filter(|_| half >= 2)?;
        let is_alike = (0..half).all(|own| links.class(own, own + half) == Some(class));
        is_alike.then(|| Self {
            arrangement: Arrangement::ManyPairs,
            links: class.to_owned(),
            among: (half, half),
            pattern: Pattern::Halves(half),
            pair: (0, half),
        })
    }
}

/// Of each class with several links to process 0, in the order of their names: processes at the other
/// ends, as many as stand at equal distances.
fn stars(n: usize, links: &Links) -> BTreeMap<&str, Ranks> {
    let mut others: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for other in 1..n {
        if let Some(class) = links.class(0, other) {
            others.entry(class).or_default().push(other);
        }
    }
    let stars = others
        .into_iter()
        .filter_map(|(class, ranks)| Some((class, Ranks::most_of(&ranks)?)));
    stars.filter(|(_, ranks)| ranks.count() >= 2).collect()
}

/// Numbers of senders: 2, 4, 8 ... and `most`.
fn counts(most: usize) -> Vec<usize> {
    let powers = (1..usize::BITS).map(|exponent| 1 << exponent);
    powers.take_while(|k| *k < most).chain([most]).collect()
}

/// Which checks cannot be made with `n` processes because links are of several classes, as sentences
/// without a full stop.
pub(in crate::logp) fn not_checked(n: usize, links: &Links) -> Vec<String> {
    let mut skipped = Vec::new();
    let half = n / 2;
    if half >= 2 && Arranged::pairs(n, links).is_none() {
        skipped.push(format!(
            "the gap of {half} pairs at once: links of processes 0 to {} to those {half} ranks higher \
             are not of one class",
            half - 1
        ));
    }
    if n >= 3 && stars(n, links).is_empty() {
        skipped.push(
            "the gap of one process to several and of several to one: no two links of process 0 are \
             of one class; start more processes, or place them in another order (--map-by)"
                .to_owned(),
        );
    }
    skipped
}
