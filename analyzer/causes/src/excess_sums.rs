//! How much more the members of communicators did than the others, added up.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::cause::{Excess, Excesses};
use crate::instance::Instance;

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
    sums: Vec<[f64; 2]>,
    /// The instances in which each did the most, and their sums.
    most: Vec<(u64, [f64; 2])>,
}

impl OfMembers {
    fn new(members: &Arc<[u32]>) -> Self {
        let n = members.len();
        Self {
            members: Arc::clone(members),
            n_whole: 0,
            n_others: vec![0; n],
            sums: vec![[0.0; 2]; n],
            most: vec![(0, [0.0; 2]); n],
        }
    }

    fn finish(self) -> Excesses {
        let n = self.n_others.iter().map(|n| self.n_whole + n);
        let sums = self.sums.into_iter().zip(self.most);
        let by_slot = n.zip(sums).map(|(n, (of_all, (n_most, of_most)))| {
            let ([sum_ns, squares], [most_ns, most_squares]) = (of_all, of_most);
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
        }
    }
}

impl ExcessSums {
    /// Adds what the members of an instance did, ns by slot; below 0: of that one it is not known.
    pub(crate) fn note(&mut self, instance: &Instance, did_ns: &[i64]) {
        let (mut n, mut sum) = (0_usize, 0.0);
        for &ns in did_ns.iter().filter(|&&ns| ns >= 0) {
            n += 1;
            sum += ns as f64;
        }
        if n < 2 {
            return;
        }
        let key = (instance.operation, instance.communicator);
        let known = self.0.entry(key);
        let of = known.or_insert_with(|| OfMembers::new(&instance.members));
        let mean = sum / n as f64;
        if n == did_ns.len() {
            of.n_whole += 1;
            for (sums, &ns) in of.sums.iter_mut().zip(did_ns) {
                add(sums, ns as f64 - mean);
            }
        } else {
            let sums = of.sums.iter_mut().zip(&mut of.n_others);
            for ((sums, n), &ns) in sums.zip(did_ns).filter(|&(_, &ns)| ns >= 0) {
                *n += 1;
                add(sums, ns as f64 - mean);
            }
        }
        let most_ns = did_ns.iter().fold(-1, |most, &ns| most.max(ns));
        let mut slots = (0..did_ns.len()).filter(|&slot| did_ns[slot] == most_ns);
        // Nobody did the most where several did as much.
        if let (Some(slot), None) = (slots.next(), slots.next()) {
            let (n, sums) = &mut of.most[slot];
            *n += 1;
            add(sums, most_ns as f64 - mean);
        }
    }

    /// The sums of all.
    pub(crate) fn finish(self) -> BTreeMap<(u64, u32), Excesses> {
        let sums = self.0.into_iter();
        sums.map(|(key, of)| (key, of.finish())).collect()
    }
}

/// Adds to a sum and to that of the squares.
#[inline]
fn add([sum, squares]: &mut [f64; 2], ns: f64) {
    *sum += ns;
    *squares += ns * ns;
}
