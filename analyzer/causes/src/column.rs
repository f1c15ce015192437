//! What is charged for something that a process that was waited for did more.

use crate::cause::Cause;

/// What is charged for the shares of waits that are in one column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// Charged for what is above the median.
    pub(crate) late: Cause,
    /// Charged for as much of that as the partner of a communication had more work.
    pub(crate) partner: Cause,
    pub(crate) cell: Cell,
}

/// The numbers of a column, ns, as exact as numbers of 53 bits are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cell {
    /// How much of it the process that was waited for did.
    pub(crate) last_ns: i64,
    /// How much more than the median that is.
    pub(crate) above: f64,
    /// How much of that the partner of a communication had more work.
    pub(crate) of_partner: f64,
    /// How much more the process that was waited for did than the one that waited.
    pub(crate) more: f64,
    /// The shares of waits, together.
    pub(crate) shares: f64,
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

/// Of the share of a wait: how much more than the median it is for, and how much is charged to whom that made late, and to a
/// partner, ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Charged {
    pub(crate) late: f64,
    pub(crate) partner: f64,
}

impl Charge {
    #[inline(always)]
    fn add(&mut self, ns: f64, in_proportion: f64) {
        self.longest = largest(self.longest, ns);
        self.direct += ns * in_proportion;
    }
}

impl Cell {
    /// Charges the share of a wait that is in a proportion to how much more the process that was waited for did; gives for how
    /// much more each is charged.
    #[inline(always)]
    pub(crate) fn charge(&mut self, in_proportion: f64) -> Charged {
        // Not more than what it did more than the median is its own fault. Who waits for a partner that has more work is late
        // because of that.
        let above = smallest(self.more, self.above);
        self.shares += self.more * in_proportion;
        let partner = if self.of_partner > 0.0 {
            smallest(above, self.of_partner)
        } else {
            0.0
        };
        if partner > 0.0 {
            self.partner.add(partner, in_proportion);
        }
        self.late.add(above - partner, in_proportion);
        Charged {
            late: above - partner,
            partner,
        }
    }
}

/// The larger one of two numbers.
#[inline(always)]
pub(crate) fn largest(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smallest(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}
