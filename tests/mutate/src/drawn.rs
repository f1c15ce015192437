//! Traces of consistent instances, drawn at random: what was sent is received, in an order that can
//! happen, but by no algorithm. All that has to come out is known by counting.

use std::collections::BTreeMap;
use std::io::Cursor;

use collbench_formats::write::RankFileWriter;
use collbench_formats::{
    Anchor, Communicator, CompletingCall, Completion, Definition, Direction, HostIdentity,
    Identity, Initiation, Layer, LayerState, Message, MpiIdentity, NO_RANK, OffsetSample,
    Operation, Record, RecordKind, UNKNOWN_COMMUNICATOR,
};

use crate::drawn_graph::DrawnGraph;
use crate::random::Random;
use crate::trace::Trace;

/// What has to come out of a trace that was drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Messages, each with both its ends.
    pub n_messages: u64,
    /// Among them those whose receive names no sender.
    pub n_from_any: u64,
    /// Instances in which there are some.
    pub n_instances: u64,
    /// By world ranks of sender and receiver: messages, and their bytes.
    pub edges: BTreeMap<(u32, u32), (u64, u64)>,
}

/// Ticks at which all processes leave `MPI_Init`; ticks are ns.
const START: u64 = 1_000_000;
/// Index of the communicator of a part of the processes.
const PART: u32 = 2;

/// Draws a trace of 2 to 9 processes.
pub(crate) fn draw(random: &mut Random) -> (Trace, Known) {
    let n = 2 + random.below(8) as u32;
    draw_among(n, random)
}

/// Draws a trace of `n` processes, at least 2 and at most 9.
pub(crate) fn draw_among(n: u32, random: &mut Random) -> (Trace, Known) {
    let mut run = DrawnRun::new(n, random);
    let mut graphs: Vec<(u32, DrawnGraph)> = Vec::new();
    for _ in 0..random.length(6) {
        let of_graph = if graphs.is_empty() || random.once_in(2) {
            let on = if random.once_in(4) { PART } else { 0 };
            let n = run.members(on).len() as u32;
            (on, DrawnGraph::draw(n, random))
        } else {
            let (on, graph) = random.pick(&graphs).clone();
            let n = run.members(on).len() as u32;
            (on, graph.varied(n, random))
        };
        graphs.push(of_graph);
    }
    for _ in 0..random.length(60) {
        let (on, graph) = random.pick(&graphs).clone();
        run.instance(on, &graph, random);
    }
    run.written(random)
}

/// A run while it is drawn.
struct DrawnRun {
    processes: Vec<DrawnProcess>,
    /// World ranks of the part.
    part: Vec<u32>,
    known: Known,
    /// Nonblocking collectives so far.
    n_begun: u16,
}

#[derive(Default)]
struct DrawnProcess {
    host: usize,
    records: Vec<Record>,
    now: u64,
    /// By communicator: calls of the application so far.
    n_calls: [u64; 3],
}

/// An instance while its messages are drawn: the calls of one process.
struct DrawnCalls {
    enter: u64,
    /// Between these two it is in no call.
    away: Option<(u64, u64)>,
    now: u64,
    ends: Vec<(u64, Option<u64>, Message)>,
    last: u64,
}

impl DrawnCalls {
    /// The next instant at which it is in a call.
    fn at(&mut self) -> u64 {
        if let Some((from, until)) = self.away
            && self.now >= from
        {
            self.now = self.now.max(until);
        }
        self.last = self.last.max(self.now);
        self.now
    }
}

impl DrawnRun {
    fn new(n: u32, random: &mut Random) -> Self {
        let n_hosts = 1 + random.below(3);
        let processes = (0..n as usize)
            .map(|rank| DrawnProcess {
                host: rank * n_hosts / n as usize,
                now: START,
                ..DrawnProcess::default()
            })
            .collect();
        let mut part: Vec<u32> = (0..n).filter(|_| random.once_in(2)).collect();
        if part.len() < 2 {
            part = vec![0, n - 1];
        }
        let mut run = Self {
            processes,
            part,
            known: Known::default(),
            n_begun: 0,
        };
        run.split();
        run
    }

    fn members(&self, on: u32) -> Vec<u32> {
        match on {
            PART => self.part.clone(),
            _ => (0..self.processes.len() as u32).collect(),
        }
    }

    /// Makes the part: those who are not in it call, too.
    fn split(&mut self) {
        for (rank, process) in (0..).zip(&mut self.processes) {
            let made = if self.part.contains(&rank) {
                PART as i32
            } else {
                -1
            };
            let enter = process.now + 10;
            process.now = enter + 100;
            process.records.push(Record::call(
                Operation::CommSplit,
                0,
                0,
                made,
                0,
                enter,
                process.now,
            ));
            process.n_calls[0] += 1;
        }
    }

    /// One instance: everybody enters, messages are sent one after the other.
    fn instance(&mut self, on: u32, graph: &DrawnGraph, random: &mut Random) {
        let members = self.members(on);
        let goes_on = graph.operation.is_nonblocking();
        let pace = random.length(2000);
        let mut calls: Vec<DrawnCalls> = members
            .iter()
            .map(|&rank| {
                let enter = self.processes[rank as usize].now + random.length(20_000) as u64;
                let leave = enter + random.length(5000) as u64;
                let away = goes_on.then(|| (leave, leave + 1 + random.length(20_000) as u64));
                DrawnCalls {
                    enter,
                    away,
                    now: enter,
                    ends: Vec::new(),
                    last: enter,
                }
            })
            .collect();
        self.n_begun += u16::from(goes_on);
        let tag = if goes_on {
            1000 + self.n_begun
        } else {
            graph.operation.code()
        };
        let communicator = if graph.is_hidden && !goes_on {
            UNKNOWN_COMMUNICATOR
        } else {
            on
        };
        // Whose receives are posted where the call begins: of each sender and tag, so that they stay
        // in order.
        let posts_early = random.next();
        let is_slow = random.once_in(4);
        for message in &graph.messages {
            let (from, to) = (message.from as usize, message.to as usize);
            let end = |direction, partner: u32| Message {
                direction,
                is_nonblocking: direction == Direction::Receive,
                partner,
                communicator,
                tag: tag + message.tag,
                bytes: message.bytes,
            };
            let sent = calls[from].at();
            let returned = sent + random.below(pace) as u64;
            calls[from].now = if random.once_in(2) {
                returned
            } else {
                sent + random.below(2) as u64
            };
            let to_rank = members[to];
            let send = end(Direction::Send, to_rank);
            calls[from].ends.push((sent, Some(returned), send));
            calls[from].last = calls[from].last.max(returned);
            let latency = if is_slow {
                random.length(100_000) as u64
            } else {
                random.below(pace) as u64
            };
            let way = message.from * 27 + message.to * 3 + u32::from(message.tag);
            let is_early = posts_early.rotate_right(way) & 1 == 1;
            let receiver = &mut calls[to];
            let posted = if is_early {
                receiver.enter
            } else {
                receiver.at()
            };
            let came = posted.max(sent + latency);
            if !is_early && random.once_in(2) {
                receiver.now = receiver.now.max(came) + random.below(pace) as u64;
            }
            // The library looks itself, in no call that is seen.
            let is_seen = !goes_on;
            if is_seen {
                receiver.last = receiver.last.max(came);
            }
            let partner = if graph.from_any.contains(&(message.to, message.tag)) {
                NO_RANK
            } else {
                members[from]
            };
            let receive = end(Direction::Receive, partner);
            receiver
                .ends
                .push((posted, is_seen.then_some(came), receive));
            self.count(members[from], to_rank, message.bytes, partner == NO_RANK);
        }
        self.known.n_instances += u64::from(!graph.messages.is_empty());
        for (&rank, calls) in members.iter().zip(calls) {
            self.write(on, rank, graph, calls, random);
        }
    }

    fn count(&mut self, from: u32, to: u32, bytes: u64, is_from_any: bool) {
        self.known.n_messages += 1;
        self.known.n_from_any += u64::from(is_from_any);
        let edge = self.known.edges.entry((from, to)).or_default();
        edge.0 += 1;
        edge.1 += bytes;
    }

    fn write(
        &mut self,
        on: u32,
        rank: u32,
        graph: &DrawnGraph,
        mut calls: DrawnCalls,
        random: &mut Random,
    ) {
        let process = &mut self.processes[rank as usize];
        let position = process.n_calls[on as usize];
        process.n_calls[on as usize] += 1;
        let root = graph.root.map_or(-1, |root| root as i32);
        let call =
            |enter, leave| Record::call(graph.operation, 0, on, root, graph.payload, enter, leave);
        // Of several at one instant the order stays.
        calls.ends.sort_by_key(|&(begin, ..)| begin);
        let ends = calls.ends.iter().map(|(begin, end, message)| {
            Record::of_words(message.words(), *begin, end.unwrap_or(0))
        });
        let last = calls.last.max(calls.now) + 1 + random.below(500) as u64;
        match calls.away {
            None => {
                process.records.push(call(calls.enter, last));
                process.records.extend(ends);
                process.now = last;
            }
            Some((leave, enter)) => {
                let (inside, later): (Vec<Record>, Vec<Record>) =
                    ends.partition(|end| end.enter.get() < leave);
                process.records.push(call(calls.enter, leave));
                process.records.extend(inside);
                let words = Completion {
                    of: Initiation::Nonblocking {
                        communicator: on,
                        position,
                    },
                    by: *random.pick(&[CompletingCall::Wait, CompletingCall::Waitall]),
                    n_together: 1,
                }
                .words();
                let last = last.max(enter + 1);
                process.records.push(Record::of_words(words, enter, last));
                process.records.extend(later);
                process.now = last;
            }
        }
    }

    fn written(self, random: &mut Random) -> (Trace, Known) {
        let mut trace = Trace::default();
        trace.put(
            "run.json",
            r#"{"schema":"collbench.run/1","recorder":"0.1.0","command":["mpirun","./drawn"]}"#,
        );
        let n = self.processes.len() as u32;
        let has_exchanges = random.once_in(2);
        // Short chunks are closed where their calls end.
        let chunk_records = 1 + random.length(400);
        for (rank, process) in (0..).zip(&self.processes) {
            let definitions = self.definitions(rank, has_exchanges);
            let identity = identity(rank, n, process.host);
            let bytes = file(&identity, &definitions, &process.records, chunk_records);
            trace.put(format!("rank-{rank}.trace"), bytes);
        }
        (trace, self.known)
    }

    fn definitions(&self, rank: u32, has_exchanges: bool) -> Vec<Definition> {
        let n = self.processes.len() as u32;
        let predefined = |index, id, size, rank, first_member| Communicator {
            first_member,
            ..Communicator::predefined(index, id, size, rank)
        };
        let own = 2 + 1000 * u64::from(rank);
        let mut definitions = vec![
            Definition::Communicator(predefined(0, 1, n, rank, 0)),
            Definition::Communicator(predefined(1, own, 1, 0, rank)),
        ];
        if let Some(of_part) = self.part.iter().position(|&member| member == rank) {
            let size = self.part.len() as u32;
            definitions.push(Definition::Communicator(Communicator {
                parent: 0,
                constructor: Operation::CommSplit.code(),
                ..predefined(PART, 77, size, of_part as u32, self.part[0])
            }));
        }
        let host = |rank: u32| self.processes[rank as usize].host;
        let is_first = rank > 0 && host(rank) != host(rank - 1);
        if has_exchanges && is_first {
            definitions.push(Definition::ClockExchanges {
                on: true,
                reason: String::new(),
            });
            let exchange = |nth: u64| {
                let t1 = START - 200_000 + 10_000 * nth;
                OffsetSample {
                    t1,
                    t2: t1 + 1000,
                    t3: t1 + 1100,
                    t4: t1 + 2100,
                }
            };
            definitions.push(Definition::OffsetMeasurement {
                reference_rank: 0,
                samples: (0..10).map(exchange).collect(),
            });
        }
        definitions
    }
}

fn anchor(ticks: u64) -> Anchor {
    [ticks, ticks, ticks, ticks, 1].into()
}

fn identity(rank: u32, n: u32, host: usize) -> Identity {
    let layer = |layer| LayerState::new(layer, true, "");
    let made_up = Identity::made_up(rank, n);
    Identity {
        host: HostIdentity {
            name: format!("n{host}"),
            boot_id: format!("boot of {host}"),
            ..made_up.host
        },
        mpi: MpiIdentity {
            library_version: "none (drawn)".into(),
            library_path: String::new(),
            ..made_up.mpi
        },
        layers: [Layer::Calls, Layer::Messages].map(layer).into(),
        command: vec!["./drawn".into()],
        anchors: [START - 500_000, START].map(|at| anchor(at).into()).into(),
        ..made_up
    }
}

/// A rank file of chunks with about so many records, each beginning with a call.
fn file(
    identity: &Identity,
    definitions: &[Definition],
    records: &[Record],
    chunk_records: usize,
) -> Vec<u8> {
    let written = "what is drawn is small, and memory takes it";
    let mut writer = RankFileWriter::new(Cursor::default(), identity.clone()).expect(written);
    let opened = anchor(START - 400_000);
    writer
        .append_definitions(opened, definitions)
        .expect(written);
    let mut rest = records;
    while let Some(first) = rest.first() {
        let is_call = |record: &Record| record.kind() == Some(RecordKind::Call);
        let full = chunk_records.min(rest.len());
        let behind = rest[full..].iter().position(is_call);
        let (of_chunk, others) = rest.split_at(behind.map_or(rest.len(), |behind| full + behind));
        let enter = first.enter.get();
        writer.open_chunk(0, of_chunk.len(), anchor(enter - 1), enter);
        for record in of_chunk {
            writer.push(0, *record).expect(written);
        }
        rest = others;
    }
    let last = records.iter().map(|record| record.leave.get()).max();
    let end = anchor(last.unwrap_or(START) + 1000);
    writer.finish(Some(end), None).expect(written);
    writer.into_inner().into_inner()
}

#[cfg(test)]
mod tests {
    use collbench_formats::RankTrace;

    use super::*;

    #[test]
    fn what_is_drawn_is_whole_has_an_end_for_each_end_and_is_of_many_kinds() {
        let mut n_with = [0; 4];
        for number in 0..300 {
            let (trace, known) = draw(&mut Random::new(3, number));
            let names = trace.rank_files();
            let files = names.iter().map(|name| trace.bytes(name));
            let mut ends = [0; 2];
            for parsed in files.map(|bytes| RankTrace::parse(bytes).unwrap()) {
                assert_eq!(parsed.damage, [], "{number}");
                let records = parsed.chunks.iter().flat_map(|chunk| chunk.records.iter());
                for message in records.filter_map(|record| record.message()) {
                    ends[message.direction as usize] += 1;
                }
                n_with[0] += usize::from(parsed.chunks.len() > 1);
            }
            assert_eq!(ends, [known.n_messages; 2], "{number}");
            let of_edges: u64 = known.edges.values().map(|(n, _)| n).sum();
            assert_eq!(of_edges, known.n_messages);
            n_with[1] += usize::from(known.n_from_any > 0);
            n_with[2] += usize::from(known.edges.keys().any(|(from, to)| from == to));
            n_with[3] += usize::from(known.n_instances > 20);
        }
        assert!(n_with.iter().all(|&n| n >= 10), "{n_with:?}");
    }

    #[test]
    fn the_same_stream_draws_the_same() {
        let draw = || draw(&mut Random::new(3, 4)).1;
        assert_eq!(draw(), draw());
    }
}
