//! From messages to samples of overheads, intervals and round trips.

use std::collections::BTreeMap;

use collbench_formats::Direction;

use super::super::model::Pair;
use super::read::{End, Process};

/// Larger messages may be sent by another protocol, which waits for the receiver.
const EAGER: u64 = 4_096;
/// A reply that is sent later adds the error of the clocks' rates to the round trip.
const LATEST_NS: f64 = 1e7;

/// Samples from the messages between processes of one class of links.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Samples {
    /// Durations of the sending calls of small messages, ns.
    pub(super) sends_ns: Vec<f64>,
    /// Durations of receives of small messages that did not have to be waited for by another call,
    /// ns; includes waiting.
    pub(super) receives_ns: Vec<f64>,
    /// Bytes of a send, and the time from its begin to that of the next one in the same call, with
    /// no other message in between, ns.
    pub(super) intervals: Vec<(u64, f64)>,
}

impl Samples {
    /// Adds those of a process, with the partners for which `is_meant` holds.
    pub(super) fn add(&mut self, process: &Process, is_meant: impl Fn(usize) -> bool) {
        let is_in = |end: &End| end.partner.is_some_and(&is_meant);
        for end in process
            .ends
            .iter()
            .filter(|end| is_in(end) && end.bytes <= EAGER)
        {
            let Some(end_ns) = end.end_ns else { continue };
            let duration_ns = end_ns - end.begin_ns;
            match end.direction {
                Direction::Send => self.sends_ns.push(duration_ns),
                Direction::Receive if !end.is_nonblocking => self.receives_ns.push(duration_ns),
                Direction::Receive => {}
            }
        }
        for two in process.ends.windows(2) {
            let are_sends = two.iter().all(|end| end.direction == Direction::Send);
            if are_sends && two[0].call == two[1].call && two.iter().all(is_in) {
                let interval_ns = two[1].begin_ns - two[0].begin_ns;
                self.intervals.push((two[0].bytes, interval_ns));
            }
        }
    }
}

/// A message, sent on the clock of one process and received on that of another.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Crossing {
    sent_ns: f64,
    received_ns: f64,
}

/// Ends of messages from one process to another, by communicator and tag.
type Ends<'a> = BTreeMap<(usize, usize, u64, u16), Vec<&'a End>>;

/// The shortest round trip of each pair of processes that sent messages to each other, and the
/// number of those seen.
///
/// Messages from one process to another with one tag on one communicator do not overtake one
/// another, so sends and receives are paired in their order; where their numbers differ they are left
/// out, as those are whose communicator is unknown. A round trip
/// is `(t4 - t1) - (t3 - t2)`, from a send at t1, received at t2, to the next send back at t3,
/// received at t4: no clock is compared with another.
pub(super) fn round_trips(processes: &[Process]) -> (Vec<Pair>, usize) {
    let (mut sends, mut receives) = (Ends::new(), Ends::new());
    for process in processes.iter().filter(|process| !process.is_cut) {
        for end in &process.ends {
            let Some((partner, communicator)) = end.partner.zip(end.communicator) else {
                continue;
            };
            match end.direction {
                Direction::Send => {
                    let of_tag = sends.entry((process.rank, partner, communicator, end.tag));
                    of_tag.or_default().push(end);
                }
                Direction::Receive => {
                    let of_tag = receives.entry((partner, process.rank, communicator, end.tag));
                    of_tag.or_default().push(end);
                }
            }
        }
    }
    let mut crossings: BTreeMap<(usize, usize), Vec<Crossing>> = BTreeMap::new();
    for (key @ (from, to, ..), sent) in &sends {
        let received = receives.get(key);
        let Some(received) = received.filter(|received| received.len() == sent.len()) else {
            continue;
        };
        let both = sent.iter().zip(received);
        let crossing = both.filter_map(|(send, receive)| {
            Some(Crossing {
                sent_ns: send.begin_ns,
                received_ns: receive.end_ns?,
            })
        });
        crossings.entry((*from, *to)).or_default().extend(crossing);
    }
    for of_pair in crossings.values_mut() {
        of_pair.sort_by(|a, b| a.sent_ns.total_cmp(&b.sent_ns));
    }
    let process = |rank: usize| processes.iter().find(|process| process.rank == rank);
    let mut n_seen = 0;
    let pairs = crossings.iter().filter_map(|(&(from, to), there)| {
        if from > to {
            return None;
        }
        let back = crossings.get(&(to, from))?;
        let both_ways = [(there, back), (back, there)].into_iter();
        let times: Vec<f64> = both_ways
            .flat_map(|(there, back)| there.iter().filter_map(|one| round_trip(*one, back)))
            .collect();
        n_seen += times.len();
        let (a, b) = (process(from)?, process(to)?);
        Some(Pair {
            from,
            to,
            is_on_one_host: a.clock == b.clock,
            round_trip_ns: times.into_iter().reduce(f64::min)?,
        })
    });
    (pairs.collect(), n_seen)
}

/// From a message to the next one back; `back` is sorted by the time of sending.
fn round_trip(there: Crossing, back: &[Crossing]) -> Option<f64> {
    let next = back.partition_point(|one| one.sent_ns < there.received_ns);
    let back = back.get(next)?;
    let stay_ns = back.sent_ns - there.received_ns;
    let time_ns = (back.received_ns - there.sent_ns) - stay_ns;
    (stay_ns <= LATEST_NS && time_ns > 0.0).then_some(time_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(direction: Direction, partner: usize, (begin, end): (f64, f64)) -> End {
        End {
            direction,
            is_nonblocking: false,
            partner: Some(partner),
            communicator: Some(17),
            bytes: 8,
            tag: 7,
            begin_ns: begin,
            end_ns: Some(end),
            call: 1,
        }
    }

    fn process(rank: usize, ends: Vec<End>) -> Process {
        Process {
            rank,
            host: format!("node{rank}"),
            clock: (format!("boot{rank}"), 0),
            ends,
            is_cut: false,
        }
    }

    #[test]
    fn a_round_trip_compares_no_clocks() {
        use Direction::{Receive, Send};
        // 10 us there, 12 us back, and 5 us in between; the clocks are seconds apart.
        for offset in [0.0, 5e9, -7e9] {
            let a = vec![
                end(Send, 1, (1_000.0, 1_200.0)),
                end(Receive, 1, (1_200.0, 28_000.0)),
            ];
            let b = vec![
                end(Receive, 0, (offset, offset + 11_000.0)),
                end(Send, 0, (offset + 16_000.0, offset + 16_300.0)),
            ];
            let (pairs, n) = round_trips(&[process(0, a), process(1, b)]);
            assert_eq!((pairs.len(), n), (1, 1));
            assert_eq!(pairs[0].round_trip_ns, 22_000.0);
            assert!(!pairs[0].is_on_one_host);
        }
    }

    #[test]
    fn messages_whose_other_ends_are_not_all_there_are_left_out() {
        use Direction::{Receive, Send};
        let a = vec![
            end(Send, 1, (0.0, 1.0)),
            end(Send, 1, (5.0, 6.0)),
            end(Receive, 1, (6.0, 30.0)),
        ];
        let b = vec![end(Receive, 0, (0.0, 10.0)), end(Send, 0, (20.0, 21.0))];
        assert_eq!(
            round_trips(&[process(0, a), process(1, b)]),
            (Vec::new(), 0)
        );
    }

    #[test]
    fn messages_of_two_communicators_may_overtake_one_another() {
        use Direction::{Receive, Send};
        let on = |communicator, of: End| End { communicator, ..of };
        // Sent on 17 first and received on 18 first: 10 us there, 12 us back, 5 us in between.
        let a = |second| {
            vec![
                on(Some(17), end(Send, 1, (0.0, 1.0))),
                on(second, end(Send, 1, (1_000.0, 1_200.0))),
                on(second, end(Receive, 1, (1_200.0, 28_000.0))),
            ]
        };
        let b = |second| {
            vec![
                on(second, end(Receive, 0, (0.0, 11_000.0))),
                on(second, end(Send, 0, (16_000.0, 16_300.0))),
                on(Some(17), end(Receive, 0, (20_000.0, 90_000.0))),
            ]
        };
        let of = |second| {
            let (pairs, n) = round_trips(&[process(0, a(second)), process(1, b(second))]);
            (pairs.first().map(|pair| pair.round_trip_ns), n)
        };
        assert_eq!(of(Some(18)), (Some(22_000.0), 1));
        // Of hidden communicators nobody knows which is which.
        assert_eq!(of(None), (None, 0));
    }

    #[test]
    fn intervals_are_those_of_sends_one_after_the_other_in_one_call() {
        use Direction::{Receive, Send};
        let mut ends = vec![
            end(Send, 1, (0.0, 2.0)),
            end(Send, 2, (3.0, 5.0)),
            end(Receive, 1, (6.0, 7.0)),
            end(Send, 1, (8.0, 9.0)),
            end(Send, 1, (90.0, 91.0)),
        ];
        ends[4].call = 2;
        let mut samples = Samples::default();
        samples.add(&process(0, ends.clone()), |_| true);
        assert_eq!(samples.intervals, [(8, 3.0)]);
        assert_eq!(samples.sends_ns, [2.0, 2.0, 1.0, 1.0]);
        assert_eq!(samples.receives_ns, [1.0]);
        let mut of_one = Samples::default();
        of_one.add(&process(0, ends), |partner| partner == 1);
        assert_eq!(of_one.intervals, []);
    }
}
