//! Where the ranks of a timeline are.

use std::collections::BTreeMap;
use std::ops::Range;

use collbench_text::quantity::grouped;

use super::{InstanceTimeline, TimelineCall};
use crate::heat_map::band::{self, RankOnHost};

/// Up to so many ranks have a row each.
const MAX_ROWS: usize = 256;
/// Height of all rows together, if rows are then neither too high nor too low, px.
const ROWS_HEIGHT: f64 = 512.0;
const ROW_HEIGHTS: (f64, f64) = (3.0, 26.0);
/// Of lines of ranks without a row; coordinates have one decimal.
const LINES_HEIGHT: f64 = 256.0;
const LINE_HEIGHTS: (f64, f64) = (0.4, 2.0);
/// Height of a line of text, px.
const TEXT_LINE: f64 = 13.0;
/// Height of a row above the others, and the gap below these, px.
const APART_HEIGHT: f64 = 18.0;
const APART_GAP: f64 = 10.0;
/// The gap with words in it.
const WORDS_GAP: f64 = 24.0;
/// Most ranks that arrive last above the others.
const MAX_APART: usize = 4;
/// Parts of the order of arrival.
const PARTS: usize = 10;

/// A row, or several without text.
pub(super) struct RowGroup {
    /// Indexes of its ranks.
    pub(super) ranks: Range<usize>,
    /// Upper end of the first row, px.
    pub(super) top: f64,
    /// Height of each row, px.
    pub(super) height: f64,
    /// Whether it repeats a rank that is shown below, too.
    pub(super) is_apart: bool,
    /// Whether it is that of a rank on the critical path, among others.
    pub(super) is_on_path: bool,
    /// Its ranks, for scripts: `16-31`.
    pub(super) numbers: String,
    /// `rank 3`.
    pub(super) name: String,
    /// The host.
    pub(super) host: String,
}

impl RowGroup {
    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height * self.ranks.len() as f64
    }

    /// Upper end of the row of a rank.
    pub(super) fn top_of(&self, rank: usize) -> f64 {
        self.top + self.height * (rank - self.ranks.start) as f64
    }
}

/// The ranks that have a row where there are too many for all, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// By place in the order of arrival.
    ranks: BTreeMap<usize, ChosenRank>,
    /// How many ranks the critical path has, and how many of these have a row.
    n_on_path: (usize, usize),
}

#[derive(Debug)]
struct ChosenRank {
    /// Its index.
    index: usize,
    /// Which part of the ranks arrives before it, in tenths, where it is for that.
    part: Option<usize>,
    is_on_path: bool,
}

impl Chosen {
    pub(super) fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Whether a rank, by index, has a row.
    pub(super) fn has(&self, index: usize) -> bool {
        self.ranks.values().any(|chosen| chosen.index == index)
    }

    /// Which ranks these are, of so many.
    pub(super) fn words(&self, n_ranks: usize) -> String {
        let others = match self.n_on_path {
            (0, _) => "and the last to leave".to_owned(),
            (all, shown) if all == shown => "and in bold all on the critical path".to_owned(),
            (all, shown) => format!(
                "and in bold {} of {} on the critical path, on which it stays longest",
                grouped(shown as u64),
                grouped(all as u64)
            ),
        };
        format!(
            "{} of {} ranks, in order of arrival: the deciles, {others}",
            grouped(self.ranks.len() as u64),
            grouped(n_ranks as u64)
        )
    }
}

impl InstanceTimeline {
    /// The ranks that have a row in the picture of one instance of many ranks: the deciles of arrival, and those on the
    /// critical path, or, where that is not known, the last to leave. None where all have one.
    pub(super) fn chosen(&self) -> Chosen {
        let mut about = self.instances.iter().filter(|of| !of.is_beside);
        let (Some(instance), None) = (about.next(), about.next()) else {
            return Chosen::default();
        };
        let with_index = |call: &TimelineCall| Some((*call, self.index_of(call.rank)?));
        let mut calls: Vec<(TimelineCall, usize)> =
            instance.calls.iter().filter_map(with_index).collect();
        calls.sort_by_key(|(call, index)| (call.enter_ns, *index));
        calls.dedup_by_key(|(_, index)| *index);
        if self.ranks.len() <= MAX_ROWS || calls.len() <= MAX_ROWS {
            return Chosen::default();
        }
        let n = calls.len();
        let deciles = (0..=PARTS).map(|part| ((part * (n - 1) + PARTS / 2) / PARTS, Some(part)));
        let place_of: BTreeMap<u32, usize> = (calls.iter().zip(0..))
            .map(|((call, _), place)| (call.rank, place))
            .collect();
        let on_path = instance
            .on_path
            .iter()
            .filter_map(|rank| place_of.get(rank));
        let on_path: Vec<usize> = on_path.copied().collect();
        let n_on_path = on_path.len();
        let shown = &on_path[..n_on_path.min(MAX_ROWS - PARTS - 1)];
        let last_to_leave = (0..n).max_by_key(|&place| calls[place].0.leave_ns);
        let last_to_leave = last_to_leave.filter(|_| n_on_path == 0);
        let others = shown.iter().copied().chain(last_to_leave);
        let mut ranks = BTreeMap::new();
        for (place, part) in deciles.chain(others.map(|place| (place, None))) {
            ranks.entry(place).or_insert_with(|| ChosenRank {
                index: calls[place].1,
                part,
                is_on_path: on_path.contains(&place),
            });
        }
        let n_shown = ranks.values().filter(|chosen| chosen.is_on_path).count();
        Chosen {
            ranks,
            n_on_path: (n_on_path, n_shown),
        }
    }

    /// The rows from `top` on: of too many ranks first the chosen ones, else those that arrive last, then all.
    pub(super) fn rows(&self, top: f64, chosen: &Chosen) -> Vec<RowGroup> {
        let ranks: Vec<&RankOnHost> = self.ranks.iter().collect();
        let group = |ranks_of: Range<usize>, top: f64, height: f64, is_apart| RowGroup {
            numbers: band::numbers(&ranks[ranks_of.clone()]),
            name: band::name(&ranks[ranks_of.clone()]),
            host: band::host(&ranks[ranks_of.clone()]).as_str().to_owned(),
            ranks: ranks_of,
            top,
            height,
            is_apart,
            is_on_path: false,
        };
        let mut rows = Vec::new();
        let mut y = top;
        // A multiple of the least coordinate: rows are equally high.
        let height_of = |all: f64, n: usize, (least, most): (f64, f64)| {
            let height = (all / n.max(1) as f64).clamp(least, most);
            (height * 10.0).floor() / 10.0
        };
        if chosen.is_empty() {
            for rank in self.last_to_arrive() {
                rows.push(group(rank..rank + 1, y, APART_HEIGHT, true));
                y += APART_HEIGHT;
            }
            y += if rows.is_empty() { 0.0 } else { APART_GAP };
        } else {
            let height = height_of(
                ROWS_HEIGHT,
                chosen.ranks.len(),
                (ROW_HEIGHTS.0, APART_HEIGHT),
            );
            for rank in chosen.ranks.values() {
                let mut row = group(rank.index..rank.index + 1, y, height, true);
                row.is_on_path = rank.is_on_path;
                row.name = match rank.part {
                    None => row.name,
                    Some(0) => format!("first: {}", row.name),
                    Some(PARTS) => format!("last: {}", row.name),
                    Some(part) => format!("{} %: {}", 100 / PARTS * part, row.name),
                };
                rows.push(row);
                y += height;
            }
            y += WORDS_GAP;
        }
        let n = ranks.len();
        let (height, members) = if n <= MAX_ROWS {
            let each = (0..n).map(|rank| rank..rank + 1);
            (height_of(ROWS_HEIGHT, n, ROW_HEIGHTS), each.collect())
        } else {
            (
                height_of(LINES_HEIGHT, n, LINE_HEIGHTS),
                band::bands(&ranks),
            )
        };
        for members in members {
            let n_members = members.len() as f64;
            rows.push(group(members, y, height, false));
            y += height * n_members;
        }
        rows
    }

    /// Of many ranks those that arrive last to an instance that the picture is about.
    fn last_to_arrive(&self) -> Vec<usize> {
        let mut apart = Vec::new();
        if self.ranks.len() as f64 * TEXT_LINE <= ROWS_HEIGHT {
            return apart;
        }
        let instances = self.instances.iter().filter(|instance| !instance.is_beside);
        for (rank, _) in instances.filter_map(|instance| instance.last) {
            let index = self.index_of(rank).filter(|index| !apart.contains(index));
            apart.extend(index.filter(|_| apart.len() < MAX_APART));
        }
        apart.sort_unstable();
        apart
    }
}
