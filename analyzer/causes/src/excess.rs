//! How much more the members of communicators did than the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_stats::student::two_sided_p;
use rustc_hash::FxHashMap;

use crate::amounts::largest;
use crate::instance::Instance;

/// How many times the variance of others is much more than that, and no matter of chance.
const MUCH_MORE: f64 = 3.0;
/// Instances of an operation on a communicator of which it is retained who did the most, and how much: the largest.
const MOST_LARGEST: usize = 32;

/// No time.
const NO_SPAN_NS: [i64; 2] = [i64::MAX, i64::MIN];

/// How much more the members of a communicator did than the others, before one operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Excesses {
    /// The processes, by slot.
    pub members: Arc<[u32]>,
    /// Of each of them.
    pub by_slot: Vec<Excess>,
    /// The instances in which one did the most by most, the largest first; at most 32.
    pub largest: Vec<Most>,
    /// When one did the most for the first and for the last time, ns.
    pub span_ns: [i64; 2],
}

/// An instance in which one process did more than every other member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// How much more than the mean of the members, ns.
    pub more_ns: i64,
    /// When it entered, ns.
    pub at_ns: i64,
    /// The slot of the process.
    pub slot: u32,
}

/// How much more a process did than the other members of a communicator: own work, point-to-point
/// communication, files and windows, since they were last inside of a collective together. Over all
/// instances, also of those to which it was not late.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Excess {
    /// Instances.
    pub n: u64,
    /// Sum of what it did more than the mean of the members, less where it did less, ns.
    pub sum_ns: f64,
    /// Sum of the squares of that, ns².
    pub squares: f64,
    /// Instances in which it did more than every other member.
    pub n_most: u64,
    /// Sum of what it did in those more than the mean of the members, ns.
    pub most_ns: f64,
    /// Sum of the squares of that, ns².
    pub most_squares: f64,
}

impl Excess {
    /// How much more it did on average, ns.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.sum_ns / self.n.max(1) as f64
    }

    /// The standard error of that, ns; at least one of the steps in which times are counted.
    #[must_use]
    pub fn error_of_mean_ns(&self) -> f64 {
        let n = self.n.max(2) as f64;
        let squares = (self.squares - self.sum_ns * self.mean_ns()) / (n - 1.0);
        (squares.max(1.0) / n).sqrt()
    }

    /// Several processes together.
    #[must_use]
    pub fn of_all(excesses: impl IntoIterator<Item = Self>) -> Self {
        excesses
            .into_iter()
            .fold(Self::default(), |sum, other| Self {
                n: sum.n + other.n,
                sum_ns: sum.sum_ns + other.sum_ns,
                squares: sum.squares + other.squares,
                n_most: sum.n_most + other.n_most,
                most_ns: sum.most_ns + other.most_ns,
                most_squares: sum.most_squares + other.most_squares,
            })
    }

    /// The chance that its mean is so far above that of `others` if all do the same (Student, one-sided); 1 where
    /// it is not above, and in fewer than three instances. `self` is of `n_own` processes together, `others` of
    /// `n_others`.
    ///
    /// Two tests, of which the smaller chance is given: by its own scatter, and, where that is about the same as that
    /// of the others, by the larger one of both. The first does not mind how disturbed the others are; the second
    /// knows the scatter better, by as many times more values as there are others, which is what few instances need.
    ///
    /// An excess is measured from the mean of all `n_own` + `n_others` members, to which the process itself belongs:
    /// its distance from the others varies by that much more. Processes of one host are not independent of each
    /// other, so that instances count, not processes times instances.
    #[must_use]
    pub fn chance_above(&self, others: &Self, n_own: usize, n_others: usize) -> f64 {
        let n_instances = self.n / n_own.max(1) as u64;
        let mean_ns = |of: &Self| of.sum_ns / of.n as f64;
        if n_instances < 3 || others.n < 2 || n_others == 0 || mean_ns(self) <= mean_ns(others) {
            return 1.0;
        }
        // Times are whole nanoseconds: nothing varies by less.
        let variance = |of: &Self| {
            let squares = of.squares - of.sum_ns * mean_ns(of);
            (squares / (of.n as f64 - 1.0)).max(1.0)
        };
        let (own, theirs) = (variance(self), variance(others));
        let n = n_instances as f64;
        let chance = |variance: f64, df: f64| {
            let of_difference = (variance / n).sqrt() * (n_own + n_others) as f64 / n_others as f64;
            let t = (mean_ns(self) - mean_ns(others)) / of_difference;
            0.5 * two_sided_p(t, df)
        };
        let by_own = chance(own, n - 1.0);
        if own > MUCH_MORE * theirs {
            return by_own;
        }
        let as_many = (n_others / n_own.max(1)).max(1) as f64;
        by_own.min(chance(own.max(theirs), (n - 1.0) * as_many))
    }

    /// How many equal events have the sum and the squares of those in which a process did the most.
    #[must_use]
    pub fn equal_events(&self) -> f64 {
        if self.most_squares > 0.0 {
            self.most_ns * self.most_ns / self.most_squares
        } else {
            0.0
        }
    }
}

/// How much more than the mean of the members each process did since its last collective, in some instances of an operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gaps {
    /// How many instances these are.
    pub n: u64,
    /// Of each process, ns.
    pub more_ns: BTreeMap<u32, f64>,
}

/// What the members of communicators did since their last collectives.
#[derive(Debug, Default)]
pub(crate) struct GapSums(FxHashMap<(u64, u32), GapsOfMembers>);

#[derive(Debug)]
struct GapsOfMembers {
    members: Arc<[u32]>,
    n: u64,
    /// By slot, ns.
    sums: Vec<i64>,
}

impl GapsOfMembers {
    fn new(members: &Arc<[u32]>) -> Self {
        Self {
            members: Arc::clone(members),
            n: 0,
            sums: vec![0; members.len()],
        }
    }
}

impl GapSums {
    /// The sums of the members of an instance before its operation, ns by slot, which is counted.
    #[inline]
    pub(crate) fn of(&mut self, instance: &Instance) -> &mut [i64] {
        let key = (instance.operation, instance.communicator);
        let known = self.0.entry(key);
        let of = known.or_insert_with(|| GapsOfMembers::new(&instance.members));
        of.n += 1;
        &mut of.sums
    }

    /// Takes over others; their buffers are retained if anything was noted in them.
    pub(crate) fn merge(&mut self, others: &mut Self) {
        others.0.retain(|key, of| {
            let is_any = of.n > 0;
            if is_any {
                let known = self.0.entry(*key);
                let own = known.or_insert_with(|| GapsOfMembers::new(&of.members));
                own.n += std::mem::take(&mut of.n);
                for (own, sum) in own.sums.iter_mut().zip(&mut of.sums) {
                    *own += std::mem::take(sum);
                }
            }
            is_any
        });
    }

    /// By operation and communicator.
    pub(crate) fn finish(self) -> BTreeMap<(u64, u32), Gaps> {
        let sums = self.0.into_iter();
        sums.map(|(key, GapsOfMembers { members, n, sums })| {
            let mean = sums.iter().map(|&ns| ns as f64).sum::<f64>() / sums.len().max(1) as f64;
            let more = sums.iter().map(|&ns| ns as f64 - mean);
            let more_ns = members.iter().copied().zip(more).collect();
            (key, Gaps { n, more_ns })
        })
        .collect()
    }
}

/// By operation and communicator.
#[derive(Debug, Default)]
pub(crate) struct ExcessSums(FxHashMap<(u64, u32), OfMembers>);

/// The sums of the members of one communicator, by slot.
#[derive(Debug)]
struct OfMembers {
    members: Arc<[u32]>,
    /// Instances in which it is known of all members what they did.
    n_whole: u64,
    /// Other instances in which it is known of each.
    n_others: Vec<u64>,
    /// Of what each did more than the mean: the sum, ns, and the sum of the squares, ns².
    sums: Vec<f64>,
    squares: Vec<f64>,
    /// The instances in which each did the most, and their sums.
    most: Vec<(u64, [f64; 2])>,
    /// The largest of what was the most, descending.
    largest: Vec<Most>,
    /// When one did the most for the first and for the last time, ns.
    span_ns: [i64; 2],
}

impl OfMembers {
    fn new(members: &Arc<[u32]>) -> Self {
        let n = members.len();
        Self {
            members: Arc::clone(members),
            n_whole: 0,
            n_others: vec![0; n],
            sums: vec![0.0; n],
            squares: vec![0.0; n],
            most: vec![(0, [0.0; 2]); n],
            largest: Vec::new(),
            span_ns: NO_SPAN_NS,
        }
    }

    /// Whether anything was noted.
    fn is_any(&self) -> bool {
        self.n_whole > 0 || self.n_others.iter().any(|&n| n > 0)
    }

    /// Keeps an instance in which one did the most if it is among the largest.
    #[inline]
    fn keep(&mut self, most: Most) {
        let [first_ns, last_ns] = self.span_ns;
        self.span_ns = [first_ns.min(most.at_ns), last_ns.max(most.at_ns)];
        if self.largest.len() == MOST_LARGEST {
            if most.more_ns <= self.largest[MOST_LARGEST - 1].more_ns {
                return;
            }
            self.largest.pop();
        }
        let at = (self.largest).partition_point(|other| other.more_ns >= most.more_ns);
        self.largest.insert(at, most);
    }

    /// Takes over what the same members did later.
    fn merge(&mut self, later: &mut Self) {
        self.n_whole += std::mem::take(&mut later.n_whole);
        for (own, n) in self.n_others.iter_mut().zip(&mut later.n_others) {
            *own += std::mem::take(n);
        }
        for (own, later) in [
            (&mut self.sums, &mut later.sums),
            (&mut self.squares, &mut later.squares),
        ] {
            for (own, later) in own.iter_mut().zip(later) {
                *own += std::mem::take(later);
            }
        }
        for ((own_n, own), later) in self.most.iter_mut().zip(&mut later.most) {
            let (n, sums) = std::mem::take(later);
            *own_n += n;
            *own = [own[0] + sums[0], own[1] + sums[1]];
        }
        for most in later.largest.drain(..) {
            self.keep(most);
        }
        let [first_ns, last_ns] = std::mem::replace(&mut later.span_ns, NO_SPAN_NS);
        self.span_ns = [self.span_ns[0].min(first_ns), self.span_ns[1].max(last_ns)];
    }

    fn finish(self) -> Excesses {
        let n = self.n_others.iter().map(|n| self.n_whole + n);
        let sums = self.sums.into_iter().zip(self.squares).zip(self.most);
        let by_slot = n.zip(sums).map(|(n, (of_all, (n_most, of_most)))| {
            let ((sum_ns, squares), [most_ns, most_squares]) = (of_all, of_most);
            Excess {
                n,
                sum_ns,
                squares,
                n_most,
                most_ns,
                most_squares,
            }
        });
        Excesses {
            by_slot: by_slot.collect(),
            members: self.members,
            largest: self.largest,
            span_ns: self.span_ns,
        }
    }
}

impl ExcessSums {
    /// Adds what the members of an instance did, ns by slot; below 0: of that one it is not known.
    pub(crate) fn note(&mut self, instance: &Instance, did_ns: &[f64]) {
        // Below 0 the first bit is set.
        let unknown = did_ns.iter().map(|ns| ns.to_bits() >> 63);
        let n = did_ns.len() - unknown.sum::<u64>() as usize;
        if n < 2 {
            return;
        }
        let (mut sum, mut most) = (0.0, 0.0);
        for &ns in did_ns {
            let ns = largest(ns, 0.0);
            sum += ns;
            most = largest(most, ns);
        }
        let key = (instance.operation, instance.communicator);
        let known = self.0.entry(key);
        let of = known.or_insert_with(|| OfMembers::new(&instance.members));
        let mean = sum / n as f64;
        let sums = of.sums.iter_mut().zip(&mut of.squares).zip(did_ns);
        if n == did_ns.len() {
            of.n_whole += 1;
            for ((sum, squares), &ns) in sums {
                let more = ns - mean;
                *sum += more;
                *squares += more * more;
            }
        } else {
            let sums = sums.zip(&mut of.n_others);
            for (((sum, squares), &ns), n) in sums.filter(|&((_, &ns), _)| ns >= 0.0) {
                *n += 1;
                let more = ns - mean;
                *sum += more;
                *squares += more * more;
            }
        }
        let mut slots = did_ns.iter().enumerate().filter(|(_, ns)| **ns == most);
        // Nobody did the most where several did as much.
        if let (Some((slot, _)), None) = (slots.next(), slots.next()) {
            let more = most - mean;
            let (n, [sum, squares]) = &mut of.most[slot];
            *n += 1;
            *sum += more;
            *squares += more * more;
            of.keep(Most {
                more_ns: more as i64,
                at_ns: instance.calls.enters_ns[slot],
                slot: slot as u32,
            });
        }
    }

    /// Takes over what was noted later; the buffers of that are retained.
    pub(crate) fn merge(&mut self, later: &mut Self) {
        later.0.retain(|key, of| {
            let is_any = of.is_any();
            if is_any {
                let known = self.0.entry(*key);
                let own = known.or_insert_with(|| OfMembers::new(&of.members));
                own.merge(of);
            }
            is_any
        });
    }

    /// The sums of all.
    pub(crate) fn finish(self) -> BTreeMap<(u64, u32), Excesses> {
        let sums = self.0.into_iter();
        sums.map(|(key, of)| (key, of.finish())).collect()
    }
}
