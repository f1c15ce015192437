//! Whether the gap of several senders and receivers is what LogP says.

use serde::Serialize;

use super::estimate::Estimate;

/// Which senders and receivers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::logp) enum Arrangement {
    /// Several pairs at once.
    ManyPairs,
    /// One process to several others in turn.
    OneToMany,
    /// Several processes to one.
    ManyToOne,
}

/// What the measured gap says about the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::logp) enum Verdict {
    /// As the model says.
    AsModel,
    /// The gap is smaller than the model says.
    Smaller,
    /// The gap is larger than the model says.
    Larger,
    /// The gaps are not known well enough.
    Undecided,
}

/// Differences from the model that are taken as none: table 5 of the paper has 12 and 14 %, which
/// "closely fit".
const WITHIN: f64 = 0.15;

/// The gap of one arrangement, compared with that of one pair.
///
/// # Source
/// Culler et al. 1996, "Validation of communication scaling" and table 5.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Check {
    pub(in crate::logp) arrangement: Arrangement,
    /// Class of all its links, and of that of the pair.
    pub(in crate::logp) links: String,
    /// Bytes of bulk data in each message; 0 for small messages.
    pub(in crate::logp) bytes: usize,
    /// Number of senders.
    pub(in crate::logp) senders: usize,
    /// Number of receivers.
    pub(in crate::logp) receivers: usize,
    /// Gap of each sender, the mean.
    pub(in crate::logp) gap: Estimate,
    /// Gap of one sender and one receiver, with as many requests without a reply at once.
    pub(in crate::logp) gap_of_pair: Estimate,
    /// The ratio of these.
    pub(in crate::logp) ratio: f64,
    /// The ratio by the model: the number of senders for each receiver.
    pub(in crate::logp) expected: f64,
    pub(in crate::logp) verdict: Verdict,
}

impl Check {
    pub(in crate::logp) fn of(
        arrangement: Arrangement,
        links: String,
        (senders, receivers): (usize, usize),
        bytes: usize,
        [gap, gap_of_pair]: [Estimate; 2],
    ) -> Self {
        let ratio = gap.ns / gap_of_pair.ns;
        let expected = match arrangement {
            Arrangement::ManyPairs | Arrangement::OneToMany => 1.0,
            Arrangement::ManyToOne => senders as f64 / receivers as f64,
        };
        let difference = ratio / expected - 1.0;
        let error = gap.error_ns / gap.ns + gap_of_pair.error_ns / gap_of_pair.ns;
        let verdict = if difference.abs() <= WITHIN + error {
            if error <= WITHIN {
                Verdict::AsModel
            } else {
                Verdict::Undecided
            }
        } else if difference < 0.0 {
            Verdict::Smaller
        } else {
            Verdict::Larger
        };
        Self {
            arrangement,
            links,
            bytes,
            senders,
            receivers,
            gap,
            gap_of_pair,
            ratio,
            expected,
            verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_that_are_not_known_well_decide_nothing() {
        let verdict = |ns: f64, error_ns: f64| {
            let pair = Estimate {
                ns: 1_000.0,
                error_ns: 10.0,
            };
            let gap = Estimate { ns, error_ns };
            Check::of(
                Arrangement::ManyToOne,
                "LAN".to_owned(),
                (3, 1),
                0,
                [gap, pair],
            )
            .verdict
        };
        assert_eq!(verdict(3_100.0, 30.0), Verdict::AsModel);
        assert_eq!(verdict(3_100.0, 900.0), Verdict::Undecided);
        assert_eq!(verdict(1_500.0, 1_200.0), Verdict::Undecided);
        assert_eq!(verdict(1_500.0, 15.0), Verdict::Smaller);
        assert_eq!(verdict(9_000.0, 900.0), Verdict::Larger);
    }
}
