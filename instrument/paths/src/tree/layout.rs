//! Where in the shared memory of a host which value lies.
//!
//! Each value has [`SLOTS`] cells for operations that follow one another, so that a process may run
//! ahead of others, each for two segments in turns.

use std::ops::Range;

use super::paths::Paths;
use crate::transport::cell_lines;
use crate::values::Position;

/// Operations in which the values of one host can be at a time.
pub(crate) const SLOTS: u64 = 4;
/// Segments of one operation in which they can be at a time.
pub(crate) const SEGMENTS_AT_A_TIME: u64 = 2;
const CELLS: u64 = SLOTS * SEGMENTS_AT_A_TIME;

/// Where in the shared memory of a host which value lies, by line.
#[derive(Debug)]
pub(crate) struct Layout {
    cell_lines: usize,
    /// The ranks of this host: each has a line with the position up to which it has finished.
    pub(crate) mates: Vec<u32>,
    /// What a station contributes, by edge; `None` if it is on another host.
    contributions: Vec<Option<usize>>,
    /// What a join returns, by join; `None` if nobody on this host could take it.
    results: Vec<Option<usize>>,
    /// How many contributors have arrived, by join.
    arrivals: Vec<Option<usize>>,
    n_lines: usize,
}

impl Layout {
    /// The layout of one host's memory.
    pub(crate) fn new(paths: &Paths, host: u32, segment_bytes: usize) -> Self {
        let cell_lines = cell_lines(segment_bytes);
        let mates: Vec<u32> = (0..)
            .zip(&paths.hosts)
            .filter(|(_, at)| **at == host)
            .map(|(rank, _)| rank)
            .collect();
        let mut n_lines = mates.len();
        let mut take = |n: usize| {
            let begin = n_lines;
            n_lines += n;
            begin
        };
        let n_cells = CELLS as usize;
        let contributions = (0..paths.edges.len())
            .map(|edge| {
                let is_here = paths.host_of(edge) == host && !paths.edges[edge].is_proxy;
                is_here.then(|| take(n_cells * cell_lines))
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
            is_here.then(|| take(n_cells * cell_lines))
        });
        let results = results.collect();
        let arrivals = paths.joins.iter().map(|join| {
            let is_here = paths.hosts[join.owner as usize] == host;
            (is_here && !join.is_exchange && !join.is_owned).then(|| take(n_cells))
        });
        let arrivals = arrivals.collect();
        Self {
            cell_lines,
            mates,
            contributions,
            results,
            arrivals,
            n_lines,
        }
    }

    pub(crate) fn n_lines(&self) -> usize {
        self.n_lines
    }

    /// The line of this host's `mate`th process.
    pub(crate) fn finished(&self, mate: usize) -> usize {
        mate
    }

    fn cell(&self, first: Option<usize>, at: Position) -> Range<usize> {
        let begin = first.expect("a value of this host") + nth(at) * self.cell_lines;
        begin..begin + self.cell_lines
    }

    /// The cell of what is contributed over an edge.
    pub(crate) fn contribution(&self, edge: usize, at: Position) -> Range<usize> {
        self.cell(self.contributions[edge], at)
    }

    /// The cell of what a join returns.
    pub(crate) fn result(&self, join: usize, at: Position) -> Range<usize> {
        self.cell(self.results[join], at)
    }

    /// The line in which arrivals at a join are counted.
    pub(crate) fn arrivals(&self, join: usize, at: Position) -> usize {
        self.arrivals[join].expect("a join of this host") + nth(at)
    }
}

/// Which of the cells of a value is the one for this segment.
fn nth(at: Position) -> usize {
    ((at.call() % SLOTS) * SEGMENTS_AT_A_TIME + at.segment() % SEGMENTS_AT_A_TIME) as usize
}

/// What must be finished by all processes of the host before a cell is used for this segment.
pub(crate) fn earlier_use(at: Position) -> Position {
    let (call, segment) = (at.call(), at.segment());
    if segment >= SEGMENTS_AT_A_TIME {
        Position::new(call, segment - SEGMENTS_AT_A_TIME)
    } else if call > SLOTS {
        Position::end(call - SLOTS)
    } else {
        Position::BEGIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_used_again_only_after_its_earlier_use() {
        let course: Vec<Position> = (1..30)
            .flat_map(|call| (0..call % 5 + 1).map(move |segment| Position::new(call, segment)))
            .collect();
        for (i, &at) in course.iter().enumerate() {
            let same = course[..i].iter().filter(|&&other| nth(other) == nth(at));
            assert!(
                same.max().is_none_or(|&latest| latest <= earlier_use(at)),
                "{at:?}"
            );
            assert!(earlier_use(at) < at);
        }
    }
}
