//! Where in the shared memory of a host which value lies.
//!
//! Each value has a head for each of [`SLOTS`] operations that follow one another, so that a process
//! may run ahead of others, and for two segments of each in turns. Values that do not fit into their
//! head have a body beside it: short ones that are all of their operation a short body for each head,
//! others a long one for each of [`SLOTS_WITH_BODIES`] operations. Short and long bodies lie apart, so
//! that no process need know which of them others have used. All heads lie together: operations with
//! small values, which are the most frequent ones, touch few pages.

use crate::transport::{Cell, LINE_BYTES, Line, body_lines, is_inline};
use crate::values::{Header, Position};
use collbench_plans::Paths;

/// Operations in which the values of one host can be at a time.
const SLOTS: u64 = 64;
/// Operations with bodies in which they can be at a time.
const SLOTS_WITH_BODIES: u64 = 4;
/// Segments of one operation in which they can be at a time.
const SEGMENTS_AT_A_TIME: u64 = 2;
/// A short body has this part of the room that a long one has.
const SHORT_PART: usize = 8;
const HEADS: usize = (SLOTS * SEGMENTS_AT_A_TIME) as usize;
const BODIES: usize = (SLOTS_WITH_BODIES * SEGMENTS_AT_A_TIME) as usize;

/// One of the values of a host, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value(usize);

/// The heads of a value: the first of their lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heads(usize);

impl Heads {
    /// The one with this number, as [`head_of`] tells it.
    #[inline]
    pub(crate) fn of(self, memory: &[Line], nth: usize) -> &Line {
        &memory[self.0 + nth]
    }
}

/// Which of the heads of a value is the one for this segment.
#[inline]
pub(crate) fn head_of(at: Position) -> usize {
    nth(at, SLOTS)
}

/// Where in the shared memory of a host which value lies, by line.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Lines of a body.
    body_lines: usize,
    /// Lines of a short body.
    short_lines: usize,
    /// The ranks of this host: each has a line with the position up to which it has finished.
    pub(crate) mates: Vec<u32>,
    /// What a station contributes, by edge; `None` if it is on another host.
    contributions: Vec<Option<Value>>,
    /// What a join returns, by join; `None` if nobody on this host could take it.
    results: Vec<Option<Value>>,
    /// How many contributors have arrived, by join: the first of its lines.
    arrivals: Vec<Option<usize>>,
    /// The first head, the first short body, and the first long one.
    heads: usize,
    short_bodies: usize,
    bodies: usize,
    n_lines: usize,
}

impl Layout {
    /// The layout of one host's memory.
    pub(crate) fn new(paths: &Paths, host: u32, segment_bytes: usize) -> Self {
        let body_lines = body_lines(segment_bytes);
        let mates: Vec<u32> = (0..)
            .zip(&paths.hosts)
            .filter(|(_, at)| **at == host)
            .map(|(rank, _)| rank)
            .collect();
        let mut n_values = 0;
        let mut take = || {
            n_values += 1;
            Value(n_values - 1)
        };
        let contributions = (0..paths.edges.len())
            .map(|edge| {
                let is_here = paths.host_of(edge) == host && !paths.edges[edge].is_proxy;
                is_here.then(&mut take)
            })
            .collect();
        let results = paths.joins.iter().map(|join| {
            let is_here = if join.is_exchange {
                join.contributors
                    .iter()
                    .any(|&edge| paths.host_of(edge) == host)
            } else {
                paths.hosts[join.owner as usize] == host
            };
            is_here.then(&mut take)
        });
        let results = results.collect();
        let heads = mates.len();
        let mut n_lines = heads + n_values * HEADS;
        let arrivals = paths.joins.iter().map(|join| {
            let is_here = paths.hosts[join.owner as usize] == host;
            (is_here && !join.is_exchange && !join.is_owned).then(|| {
                n_lines += HEADS;
                n_lines - HEADS
            })
        });
        let arrivals = arrivals.collect();
        let short_lines = body_lines / SHORT_PART;
        let short_bodies = n_lines;
        let bodies = short_bodies + n_values * SLOTS as usize * short_lines;
        Self {
            body_lines,
            short_lines,
            mates,
            contributions,
            results,
            arrivals,
            heads,
            short_bodies,
            bodies,
            n_lines: bodies + n_values * BODIES * body_lines,
        }
    }

    pub(crate) fn n_lines(&self) -> usize {
        self.n_lines
    }

    /// The line of this host's `mate`th process.
    pub(crate) fn finished(&self, mate: usize) -> usize {
        mate
    }

    /// What is contributed over an edge.
    pub(crate) fn contribution(&self, edge: usize) -> Value {
        self.contributions[edge].expect("a value of this host")
    }

    /// What a join returns.
    pub(crate) fn result(&self, join: usize) -> Value {
        self.results[join].expect("a value of this host")
    }

    /// The heads of a value.
    #[inline]
    pub(crate) fn heads(&self, value: Value) -> Heads {
        Heads(self.heads + value.0 * HEADS)
    }

    /// The head of a value.
    #[inline]
    pub(crate) fn head<'m>(&self, memory: &'m [Line], value: Value, at: Position) -> &'m Line {
        self.heads(value).of(memory, head_of(at))
    }

    /// Where a value of which this is said lies.
    #[inline]
    pub(crate) fn room_of(&self, at: Position, header: &Header) -> Room {
        if is_inline(header.n_bytes) {
            Room::Head
        } else if header.is_last
            && at.segment() == 0
            && header.n_bytes <= self.short_lines * LINE_BYTES
        {
            Room::Short
        } else {
            Room::Long
        }
    }

    /// The cell of a value of which this is said; without a body if the value lies in its head.
    #[inline]
    pub(crate) fn cell<'m>(
        &self,
        memory: &'m [Line],
        value: Value,
        at: Position,
        header: &Header,
    ) -> Cell<'m> {
        let head = self.head(memory, value, at);
        let (begin, n_lines) = match self.room_of(at, header) {
            Room::Head => return Cell { head, body: &[] },
            Room::Short => {
                let nth = value.0 * SLOTS as usize + (at.call() % SLOTS) as usize;
                (self.short_bodies + nth * self.short_lines, self.short_lines)
            }
            Room::Long => {
                let nth = value.0 * BODIES + nth(at, SLOTS_WITH_BODIES);
                (self.bodies + nth * self.body_lines, self.body_lines)
            }
        };
        Cell {
            head,
            body: &memory[begin..begin + n_lines],
        }
    }

    /// One half of all long bodies of a value, for operations that have the memory of the host for
    /// themselves.
    pub(crate) fn half<'m>(&self, memory: &'m [Line], value: Value, half: usize) -> &'m [Line] {
        let n_lines = BODIES / 2 * self.body_lines;
        let begin = self.bodies + (value.0 * 2 + half) * n_lines;
        &memory[begin..begin + n_lines]
    }

    /// The bytes of such a half.
    pub(crate) fn half_bytes(&self) -> usize {
        BODIES / 2 * self.body_lines * LINE_BYTES
    }

    /// The line in which arrivals at a join are counted.
    pub(crate) fn arrivals(&self, join: usize, at: Position) -> usize {
        self.arrivals[join].expect("a join of this host") + nth(at, SLOTS)
    }
}

/// Which of the cells of a value is the one for this segment.
#[inline]
fn nth(at: Position, slots: u64) -> usize {
    ((at.call() % slots) * SEGMENTS_AT_A_TIME + at.segment() % SEGMENTS_AT_A_TIME) as usize
}

/// What room a value needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// That of its head.
    Head,
    /// A short body: it is all of its operation.
    Short,
    /// A long body, that of a segment.
    Long,
}

/// What must be finished by all processes of the host before a cell is used for a value in this
/// segment.
#[inline]
pub(crate) fn earlier_use(at: Position, room: Room) -> Position {
    let (call, segment) = (at.call(), at.segment());
    if segment >= SEGMENTS_AT_A_TIME {
        return Position::new(call, segment - SEGMENTS_AT_A_TIME);
    }
    let slots = match room {
        Room::Head | Room::Short => SLOTS,
        Room::Long => SLOTS_WITH_BODIES,
    };
    end_of(call.saturating_sub(slots))
}

/// The end of an operation, if there is one with this number.
#[inline]
fn end_of(call: u64) -> Position {
    if call > 0 {
        Position::end(call)
    } else {
        Position::BEGIN
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use collbench_formats::tree::{Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers};

    use super::*;

    /// Three ranks of one host, which all meet at once.
    fn paths() -> Paths {
        let wrapper = Wrapper {
            kind: WrapperKind::Exchange,
            owner: 0,
            contributors: (0..3).map(Contributor::Rank).collect(),
            parent: None,
            level: Level::Rank,
            collectors: Collectors::NONE,
        };
        Paths::new(&Wrappers::new(vec![0; 3], vec![wrapper]).unwrap())
    }

    /// What values of random operations are: inline, short, long in one segment or in several.
    fn course() -> Vec<(Position, usize, bool)> {
        let mut state = 7u64;
        let mut below = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005) + 1;
            (state >> 33) % n
        };
        // For some operations in a row mostly the same.
        let mut kind = 0;
        (1..3000)
            .flat_map(|call| {
                if below(12) == 0 {
                    kind = below(4);
                }
                let n_segments = if kind == 3 { 1 + below(5) } else { 1 };
                let n_bytes = [8, 200, 3000, 300][kind as usize];
                (0..n_segments).map(move |segment| {
                    let is_last = segment + 1 == n_segments;
                    (Position::new(call, segment), n_bytes, is_last)
                })
            })
            .collect()
    }

    fn line_number(of: &Line) -> usize {
        std::ptr::from_ref(of) as usize / LINE_BYTES
    }

    #[test]
    fn a_cell_is_used_again_only_after_its_earlier_use() {
        let layout = Layout::new(&paths(), 0, 4096);
        let memory: Vec<Line> = (0..layout.n_lines()).map(|_| Line::default()).collect();
        // By line, where it was used last.
        let mut used: BTreeMap<usize, Position> = BTreeMap::new();
        let mut n_ahead = 0;
        for (at, n_bytes, is_last) in course() {
            let header = Header {
                n_bytes,
                is_last,
                ..Header::default()
            };
            let room = layout.room_of(at, &header);
            let free = earlier_use(at, room);
            assert!(free < at);
            n_ahead = n_ahead.max(match room {
                Room::Short => at.call() - free.call(),
                _ => 0,
            });
            let cell = layout.cell(&memory, Value(1), at, &header);
            assert!(room == Room::Head || n_bytes <= cell.body.len() * LINE_BYTES);
            let n_lines = if room == Room::Head {
                0
            } else {
                n_bytes.div_ceil(LINE_BYTES)
            };
            for of in cell.body[..n_lines].iter().chain([cell.head]) {
                let before = used.insert(line_number(of), at);
                assert!(
                    before.is_none_or(|before| before <= free),
                    "{at:?}: {before:?}"
                );
            }
        }
        assert_eq!(n_ahead, SLOTS);
    }

    #[test]
    fn values_lie_apart() {
        for segment_bytes in [64, 200, 4096] {
            let layout = Layout::new(&paths(), 0, segment_bytes);
            let memory: Vec<Line> = (0..layout.n_lines()).map(|_| Line::default()).collect();
            let mut taken = vec![false; layout.n_lines()];
            for value in (0..4).map(Value) {
                for at in (0..SLOTS).flat_map(|call| [0, 1].map(|nth| Position::new(call, nth))) {
                    let header = |n_bytes| Header {
                        n_bytes,
                        is_last: true,
                        ..Header::default()
                    };
                    let short = header(layout.short_lines * LINE_BYTES);
                    let mut lines = vec![layout.head(&memory, value, at)];
                    if at.segment() == 0 && short.n_bytes > 0 {
                        lines.extend(layout.cell(&memory, value, at, &short).body);
                    }
                    if at.call() < SLOTS_WITH_BODIES {
                        lines.extend(layout.cell(&memory, value, at, &header(segment_bytes)).body);
                    }
                    for line in lines {
                        let nth = line_number(line) - line_number(&memory[0]);
                        assert!(!std::mem::replace(&mut taken[nth], true));
                    }
                }
            }
        }
    }
}
