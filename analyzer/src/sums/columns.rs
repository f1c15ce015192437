//! Times of the calls of one instance, by quantity and slot.

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::Operation;

/// Times of the calls of one instance, by slot of its communicator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallColumns<'f> {
    pub(crate) operation: Operation,
    pub(crate) enters: &'f [Timestamp<Global>],
    /// Leave minus enter, ns.
    pub(crate) times: &'f [i64],
    /// Last enter minus own, ns.
    pub(crate) lags: &'f [i64],
    /// Waits, ns; empty where nobody need wait.
    pub(crate) waits: &'f [i64],
    /// Whether each wait is the lag.
    pub(crate) waits_are_lags: bool,
    /// Own leave minus first, ns; empty where that is not defined.
    pub(crate) departure_waits: &'f [i64],
    /// Leave minus last enter in the order of departure, ns; empty where that is not defined.
    pub(crate) departures_after_last: &'f [i64],
}
