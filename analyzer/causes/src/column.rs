//! What is charged for something that a process that was waited for did more.

use crate::amounts::in_proportion;
use crate::cause::{Cause, UnitCost};

/// What is charged for the shares of waits that are in one column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// Charged for what is above the median.
    pub(crate) late: Cause,
    /// How much more than the median the process that was waited for did, ns.
    pub(crate) above_ns: i64,
    /// Charged for as much of that as the partner of a communication had more work, ns.
    pub(crate) partner: Cause,
    pub(crate) of_partner_ns: i64,
    pub(crate) of_late: UnitCost,
    pub(crate) of_partner: UnitCost,
    pub(crate) imbalance_ns: i64,
}

/// To whom the share of a wait is charged, ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Charged {
    pub(crate) late_ns: i64,
    pub(crate) partner_ns: i64,
    pub(crate) imbalance_ns: i64,
}

impl Column {
    /// Charges the share of a wait, ns; how much more the process that was waited for did, ns.
    #[inline(always)]
    pub(crate) fn charge(&mut self, share: i64, more: i64, is_counted: bool) -> Charged {
        // Not more than what it did more than the median is its own fault.
        let above = more.min(self.above_ns);
        let above_share = if above == more {
            share
        } else {
            in_proportion(share, above, more)
        };
        let partner_share = if self.of_partner_ns > 0 {
            self.charge_partner(above_share, above, is_counted)
        } else {
            if above_share > 0 {
                self.of_late.longest(above);
            }
            0
        };
        let charged = Charged {
            late_ns: above_share - partner_share,
            partner_ns: partner_share,
            imbalance_ns: share - above_share,
        };
        if is_counted {
            self.of_late.direct(charged.late_ns);
            self.imbalance_ns = self.imbalance_ns.saturating_add(charged.imbalance_ns);
        }
        charged
    }

    /// Who waits for a partner that has more work is late because of that: charges the partner, and gives for how
    /// much of the share, ns.
    #[cold]
    fn charge_partner(&mut self, above_share: i64, above: i64, is_counted: bool) -> i64 {
        let for_partner = self.of_partner_ns.min(above);
        let partner_share = if for_partner > 0 {
            in_proportion(above_share, for_partner, above)
        } else {
            0
        };
        if is_counted {
            self.of_partner.direct(partner_share);
        }
        if above_share > partner_share {
            self.of_late.longest(above - for_partner);
        }
        self.of_partner.longest(for_partner);
        partner_share
    }
}
