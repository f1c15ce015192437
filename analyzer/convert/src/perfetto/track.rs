//! One track: its slices in order of time, properly nested.
//!
//! Instances come in the order in which their first rank began them, so the calls of one rank do not come in order of time. What
//! began before a time before which nothing can come any more is in order, and is written.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use collbench_formats::CompletingCall;
use rustc_hash::FxHashMap;

/// What stands on a track: of a slice its begin and end, of an instant the same time twice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    pub(super) begin_ns: i64,
    /// `i64::MAX`: it never ended.
    pub(super) end_ns: i64,
    /// Of those that begin and end at the same time the one with the lower number is outside.
    pub(super) serial: u64,
    pub(super) what: What,
}

/// What a slice is.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// A call, or the call that initiates an operation.
    Call(CallFacts),
    /// From the initiation to the completion of a nonblocking operation.
    Operation(CallFacts),
    /// A call that completes an operation.
    Completing {
        /// Which.
        by: CompletingCall,
        /// Number of the instance.
        instance: u64,
    },
    /// A wait within a call.
    Wait {
        /// World rank that was waited for.
        rank: Option<u32>,
        /// Number of the cause.
        cause: Option<u32>,
    },
    /// The begin of a message.
    Send(MessageFacts),
    /// The end of a message.
    Receive(MessageFacts),
}

/// What is said of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallFacts {
    /// Number of the operation.
    pub(super) operation: u32,
    /// Number of the instance.
    pub(super) instance: u64,
    pub(super) bytes: Option<u64>,
    /// Number of the place that it was called from.
    pub(super) site: Option<u32>,
    /// Whether the instance is complete.
    pub(super) is_complete: bool,
}

/// What is said of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageFacts {
    /// World rank at the other end.
    pub(super) other: u32,
    pub(super) bytes: u64,
    /// By which both ends are connected, if both are shown.
    pub(super) flow: Option<u64>,
}

impl What {
    /// Whether it is a call.
    fn is_call(&self) -> bool {
        matches!(self, Self::Call(_) | Self::Completing { .. })
    }

    /// Whether it is an instant.
    pub(super) fn is_instant(&self) -> bool {
        matches!(self, Self::Send(_) | Self::Receive(_))
    }
}

impl Slice {
    /// Outer slices come before those in them.
    fn key(&self) -> (i64, Reverse<i64>, u64) {
        (self.begin_ns, Reverse(self.end_ns), self.serial)
    }
}

impl PartialEq for Slice {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Slice {}

impl PartialOrd for Slice {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Slice {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// A track.
#[derive(Debug)]
pub(super) struct Track {
    /// Which stream of packets is its own.
    pub(super) sequence: u32,
    pub(super) uuid: u64,
    pending: BinaryHeap<Reverse<Slice>>,
    /// The slices that have begun, the outermost first.
    open: Vec<Slice>,
    /// The latest time that was written, ns.
    at_ns: i64,
    /// Begin and end of the last call that completed operations, ns: several may be completed by one.
    completing: [i64; 2],
    /// The numbers of names and texts in its packets, once it has any.
    pub(super) interned: Option<Interned>,
}

/// Names and texts that packets of a track call by number.
#[derive(Debug, Default)]
pub(super) struct Interned {
    /// By what they name.
    pub(super) names: FxHashMap<Name, u64>,
    pub(super) texts: FxHashMap<Text, u64>,
}

/// What has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// An operation, by number.
    Operation(u32),
    /// A call that completes operations.
    Completing(CompletingCall),
    Wait,
    Send,
    Receive,
}

/// What is said in texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Text {
    /// The kind of a cause, by number of the cause.
    Cause(u32),
    /// The communicator of an operation, by number.
    Communicator(u32),
    /// The algorithm of an operation, by number.
    Algorithm(u32),
    /// A place in the program, by number.
    Site(u32),
}

/// What is to be written at a time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A slice begins, or an instant is.
    Begin(Slice),
    /// The innermost slice ends at a time, ns; of a wait that is cut by a call in it, how long it is as a whole.
    End(i64, Option<i64>),
}

impl Track {
    pub(super) fn new(sequence: u32, uuid: u64) -> Self {
        Self {
            sequence,
            uuid,
            pending: BinaryHeap::new(),
            open: Vec::new(),
            at_ns: i64::MIN,
            completing: [i64::MIN; 2],
            interned: None,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, slice: Slice) {
        self.pending.push(Reverse(slice));
    }

    /// The next step before a time, ns; `None`: nothing more is known to be next. Slices that cross another one (as
    /// in damaged traces) are cut, so that all of them nest.
    pub(super) fn next_before(&mut self, until_ns: i64) -> Option<Step> {
        loop {
            let next = self.pending.peek().map(|next| next.0);
            let Some(next) = next.filter(|next| next.begin_ns < until_ns) else {
                // At the end of all there is nothing more to wait for.
                let last = self.open.last().filter(|_| until_ns == i64::MAX)?;
                match self.end(last.end_ns) {
                    Some(step) => return Some(step),
                    None => continue,
                }
            };
            let begin_ns = next.begin_ns.max(self.at_ns);
            if let Some(last) = self.open.last() {
                let has_ended = if next.what.is_instant() {
                    last.end_ns < begin_ns
                } else {
                    last.end_ns <= begin_ns
                };
                // A call that is made within a call, as by a callback, may last longer than the wait of that.
                let is_cut = next.what.is_call()
                    && matches!(last.what, What::Wait { .. })
                    && next.end_ns > last.end_ns;
                if has_ended || is_cut {
                    match self.end(last.end_ns.min(begin_ns)) {
                        Some(step) => return Some(step),
                        None => continue,
                    }
                }
            }
            self.pending.pop();
            if let What::Completing { .. } = next.what {
                let span = [next.begin_ns, next.end_ns];
                if std::mem::replace(&mut self.completing, span) == span {
                    continue;
                }
            }
            let outer_ns = self.open.last().map_or(i64::MAX, |last| last.end_ns);
            let slice = Slice {
                begin_ns,
                end_ns: next.end_ns.max(begin_ns).min(outer_ns),
                ..next
            };
            self.at_ns = begin_ns;
            if !slice.what.is_instant() {
                self.open.push(slice);
            }
            return Some(Step::Begin(slice));
        }
    }

    /// Ends the innermost slice; `None` for one that never does.
    fn end(&mut self, end_ns: i64) -> Option<Step> {
        let ended = self.open.pop()?;
        if end_ns == i64::MAX {
            return None;
        }
        self.at_ns = self.at_ns.max(end_ns);
        let whole_ns = ended.end_ns - ended.begin_ns;
        Some(Step::End(
            end_ns,
            (end_ns < ended.end_ns).then_some(whole_ns),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(slices: &[(i64, i64)]) -> Vec<String> {
        let mut track = Track::new(1, 1);
        let mut steps = Vec::new();
        let mut take = |track: &mut Track, until_ns| {
            while let Some(step) = track.next_before(until_ns) {
                steps.push(match step {
                    Step::Begin(slice) => format!("{}-{}", slice.begin_ns, slice.end_ns),
                    Step::End(at_ns, _) => format!("end {at_ns}"),
                });
            }
        };
        for (serial, &(begin_ns, end_ns)) in slices.iter().enumerate() {
            track.add(Slice {
                begin_ns,
                end_ns,
                serial: serial as u64,
                what: What::Wait {
                    rank: None,
                    cause: None,
                },
            });
        }
        take(&mut track, 25);
        take(&mut track, i64::MAX);
        steps
    }

    #[test]
    fn slices_nest_and_times_do_not_decrease() {
        // One after the other, in any order; one within another.
        let found = steps(&[(20, 30), (10, 20), (12, 15)]);
        assert_eq!(
            found,
            ["10-20", "12-15", "end 15", "end 20", "20-30", "end 30"]
        );
        // One that crosses another is cut; of one that never ends there is no end.
        let found = steps(&[(10, 20), (15, 26), (28, i64::MAX)]);
        assert_eq!(
            found,
            [
                "10-20",
                "15-20",
                "end 20",
                "end 20",
                "28-9223372036854775807"
            ]
        );
        // Begin and end at one time: the first is outside.
        let found = steps(&[(10, 10), (10, 10)]);
        assert_eq!(found, ["10-10", "end 10", "10-10", "end 10"]);
    }
}
