//! Messages of all sizes between two processes.

use super::super::messages::{Job, Pattern, Timed, Transfer};
use super::super::model::{Cost, Estimate, OfSize, Parameters, RoundTrips};
use super::sampler::{Repeated, Sampler};
use super::signature::Subject;

/// Stores without a reply at once, at first.
const WINDOW: usize = 4;
/// Messages of a parametrized round trip.
const MESSAGES: usize = 16;
/// The delay of stores, in gaps.
const DELAYS: [f64; 1] = [1.0];
/// Costs that a size is expected to need.
pub(in crate::logp) const COSTS_OF_SIZE: usize = 26;
/// A reply has arrived after so many round trips.
const AFTER: f64 = 2.0;

/// `smallest` (> 0), twice, four times ... as many bytes, up to `largest`.
pub(in crate::logp) fn bulk_sizes([smallest, largest]: [usize; 2]) -> impl Iterator<Item = usize> {
    let sizes = (0..smallest.leading_zeros()).map(move |exponent| smallest << exponent);
    sizes.take_while(move |bytes| *bytes <= largest)
}

impl<J: Job> Sampler<'_, J> {
    /// Messages of all [`bulk_sizes`] on a link of the class `links`.
    pub(in crate::logp) fn sizes(
        &mut self,
        pattern: Pattern,
        range: [usize; 2],
        links: &str,
    ) -> Vec<OfSize> {
        let mut sizes: Vec<OfSize> = Vec::new();
        for bytes in bulk_sizes(range) {
            let part = format!("{links}, messages of {bytes} bytes");
            self.progress
                .begin(part, COSTS_OF_SIZE, self.job.elapsed_ns());
            // Larger messages need no larger windows, but often smaller ones.
            let last = sizes.last().map_or(0, |size| size.signature.window);
            sizes.extend(self.size(pattern, bytes, WINDOW.max(last / 2)));
        }
        sizes
    }

    fn size(&mut self, pattern: Pattern, bytes: usize, window: usize) -> Option<OfSize> {
        let subject = Subject {
            pattern,
            transfer: Transfer::Store(bytes),
            window,
        };
        let signature = self.signature(subject, &DELAYS)?;
        let get = Repeated {
            pattern,
            transfer: Transfer::Get(bytes),
            window: 1,
        };
        let get_time = self.cost(get, Timed::RoundTrip);
        let receipt = get_time.and_then(|time| self.receipt(get, time.mean));
        Some(OfSize {
            bytes,
            parameters: Parameters::of(&signature),
            signature,
            get: get_time,
            receipt,
            round_trips: self.round_trips(pattern, Transfer::Store(bytes)),
        })
    }

    /// The time to receive a reply that has arrived before.
    pub(in crate::logp) fn receipt(
        &mut self,
        repeated: Repeated,
        round_trip: Estimate,
    ) -> Option<Cost> {
        let delay_ns = AFTER * round_trip.ns;
        self.cost(repeated, Timed::Receipt { delay_ns })
    }

    /// Parametrized round trips, with a delay of two gaps.
    pub(in crate::logp) fn round_trips(
        &mut self,
        pattern: Pattern,
        transfer: Transfer,
    ) -> Option<RoundTrips> {
        let repeated = Repeated {
            pattern,
            transfer,
            window: 1,
        };
        let prtt = |m: usize, delay_ns: f64| Timed::Prtt { m, delay_ns };
        let single = self.differing(repeated, prtt(1, 0.0))?;
        let burst = self.differing(repeated, prtt(MESSAGES, 0.0))?;
        let gap_ns = (burst.mean.ns - single.mean.ns) / (MESSAGES - 1) as f64;
        let delay_ns = 2.0 * gap_ns.max(1.0);
        let timed = Timed::Computation {
            m: MESSAGES,
            delay_ns,
        };
        Some(RoundTrips {
            messages: MESSAGES,
            single,
            burst,
            delayed: self.differing(repeated, prtt(MESSAGES, delay_ns))?,
            delay: self.differing(repeated, timed)?.mean,
        })
    }
}
