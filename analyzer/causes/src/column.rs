//! What is charged for something that a process that was waited for did more.

use crate::amounts::{largest, smallest};
use crate::cause::Cause;

/// Who is charged for the shares of waits that are in one column, and for how much at most: numbers of ns, as exact as those of
/// 53 bits are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// Charged for what is above the median.
    pub(crate) late: Cause,
    /// Charged for as much of that as the partner of a communication had more work.
    pub(crate) partner: Cause,
    /// How much more than the median the process did that was waited for.
    pub(crate) above: f64,
    /// How much of that the partner of a communication had more work.
    pub(crate) of_partner: f64,
}

/// What is charged for a column.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shares {
    /// The shares of waits, together, ns.
    pub(crate) all: f64,
    /// What of them is charged for what is above the median, and to the partner.
    pub(crate) late: Charge,
    pub(crate) partner: Charge,
}

/// What is charged to one cause, ns.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Charge {
    pub(crate) direct: f64,
    /// By how much it made the process late, at most.
    pub(crate) longest: f64,
}

impl Charge {
    #[inline(always)]
    fn add(&mut self, ns: f64, in_proportion: f64) {
        self.longest = largest(self.longest, ns);
        self.direct += ns * in_proportion;
    }
}

impl Column {
    /// For how much of what the process that was waited for did more, ns, who made it late is charged, and a partner.
    #[inline(always)]
    pub(crate) fn charged(&self, more: f64) -> [f64; 2] {
        // Not more than what it did more than the median is its own fault. Who waits for a partner that has more work is late
        // because of that.
        let above = smallest(more, self.above);
        let partner = smallest(above, self.of_partner);
        [above - partner, partner]
    }

    /// Charges waits for a process that did something for so long, ns: how much more than each that waited, ns, and how much of the
    /// wait is for each of these.
    pub(crate) fn charge(&self, last_ns: i64, more: &[f64], in_proportion: &[f64]) -> Shares {
        let mut shares = Shares::default();
        let waits = more.iter().zip(in_proportion);
        if self.of_partner > 0.0 {
            for (&more, &in_proportion) in waits {
                let [late, partner] = self.charged(more);
                shares.all += more * in_proportion;
                shares.late.add(late, in_proportion);
                shares.partner.add(partner, in_proportion);
            }
        } else if self.above <= 0.0 {
            for (&more, &in_proportion) in waits {
                shares.all += more * in_proportion;
            }
        } else if self.above >= last_ns as f64 {
            for (&more, &in_proportion) in waits {
                shares.late.add(more, in_proportion);
            }
            shares.all = shares.late.direct;
        } else {
            for (&more, &in_proportion) in waits {
                shares.all += more * in_proportion;
                shares.late.add(smallest(more, self.above), in_proportion);
            }
        }
        shares
    }
}
