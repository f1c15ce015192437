//! Where in the shared memory of a host which value lies.
//!
//! Each value has a head for each of [`SLOTS`] operations that follow one another, so that a process
//! may run ahead of others, and for two segments of each in turns. Values that do not fit into their
//! head have bodies, for fewer operations. All heads lie together: operations with small values, which
//! are the most frequent ones, touch few pages.

use super::paths::Paths;
use crate::transport::{Cell, LINE_BYTES, Line, body_lines, is_inline};
use crate::values::Position;

/// Operations in which the values of one host can be at a time.
const SLOTS: u64 = 8;
/// Operations with bodies in which they can be at a time.
const SLOTS_WITH_BODIES: u64 = 4;
/// Segments of one operation in which they can be at a time.
const SEGMENTS_AT_A_TIME: u64 = 2;
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
    /// The ranks of this host: each has a line with the position up to which it has finished.
    pub(crate) mates: Vec<u32>,
    /// What a station contributes, by edge; `None` if it is on another host.
    contributions: Vec<Option<Value>>,
    /// What a join returns, by join; `None` if nobody on this host could take it.
    results: Vec<Option<Value>>,
    /// How many contributors have arrived, by join: the first of its lines.
    arrivals: Vec<Option<usize>>,
    /// The first head, and the first body.
    heads: usize,
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
        Self {
            body_lines,
            mates,
            contributions,
            results,
            arrivals,
            heads,
            bodies: n_lines,
            n_lines: n_lines + n_values * BODIES * body_lines,
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

    /// The cell of a value.
    #[inline]
    pub(crate) fn cell<'m>(&self, memory: &'m [Line], value: Value, at: Position) -> Cell<'m> {
        let nth = value.0 * BODIES + nth(at, SLOTS_WITH_BODIES);
        let begin = self.bodies + nth * self.body_lines;
        Cell {
            head: self.head(memory, value, at),
            body: &memory[begin..begin + self.body_lines],
        }
    }

    /// One half of all bodies of a value, for operations that have the memory of the host for
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

/// What must be finished by all processes of the host before a cell is used for a value of this length
/// in this segment.
#[inline]
pub(crate) fn earlier_use(at: Position, n_bytes: usize) -> Position {
    let (call, segment) = (at.call(), at.segment());
    let slots = if is_inline(n_bytes) {
        SLOTS
    } else {
        SLOTS_WITH_BODIES
    };
    if segment >= SEGMENTS_AT_A_TIME {
        Position::new(call, segment - SEGMENTS_AT_A_TIME)
    } else if call > slots {
        Position::end(call - slots)
    } else {
        Position::BEGIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{INLINE_WORDS, WORD_BYTES};

    #[test]
    fn a_cell_is_used_again_only_after_its_earlier_use() {
        let course: Vec<Position> = (1..40)
            .flat_map(|call| (0..call % 5 + 1).map(move |segment| Position::new(call, segment)))
            .collect();
        let inline = INLINE_WORDS * WORD_BYTES;
        for (slots, n_bytes) in [(SLOTS, inline), (SLOTS_WITH_BODIES, inline + 1)] {
            for (i, &at) in course.iter().enumerate() {
                let same = |other: &&Position| nth(**other, slots) == nth(at, slots);
                let latest = course[..i].iter().filter(same).max();
                let free = earlier_use(at, n_bytes);
                assert!(latest.is_none_or(|&latest| latest <= free), "{at:?}");
                assert!(free < at);
            }
        }
    }
}
