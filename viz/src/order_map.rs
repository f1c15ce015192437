//! The order of arrivals or departures: how often each rank was at each position.
//!
//! Only resolved positions are counted: a rank has a position in an instance if the clocks
//! distinguish it from both its neighbours. Unresolved instances have a bar of their own beside the
//! row and are never spread over positions; the cells and the bar of a row add up to all instances.

use collbench_text::quantity::{counted_grouped, grouped, part_percent, whole_percent};

use crate::frame::Head;
use crate::heat_map::band::{self, RankOnHost, bands};
use crate::heat_map::{Axis, Bar, Cell, HeatMap, N_STEPS, Row, Shade};
use crate::{Heading, Text};

/// Which order is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Order of entering.
    Arrival,
    /// Order of leaving.
    Departure,
}

/// The columns of an order map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Positions {
    /// One column per position, the first one first.
    Each(usize),
    /// One column per tenth of the order.
    Tenths,
}

impl Positions {
    fn len(self) -> usize {
        match self {
            Positions::Each(n) => n,
            Positions::Tenths => 10,
        }
    }
}

/// How often each rank was at each position of an order.
///
/// More than 64 ranks share rows, whose cells show the mean of their ranks. Of more than 16 ranks,
/// those that are mostly in the last or the first column are also shown above the others, so that one
/// rank that is always last stays visible among a thousand. If no position is resolved, all ranks share one row. More than 64
/// positions share columns.
#[derive(Debug, Clone)]
pub struct OrderMap {
    heading: Heading,
    order: Order,
    positions: Positions,
    ranks: Vec<Counted>,
}

/// Upper limits of the shades, in percent of the instances.
const LIMITS: [u64; N_STEPS] = [2, 5, 10, 20, 40, 70, 100];
/// A rank that is in the first or the last column in at least this share of the instances, in parts
/// per million, has a row of its own among many ranks.
const MOSTLY: u64 = 666_667;
/// Among so many ranks or fewer, one is easily seen in its place.
const FEW: usize = 16;
/// More positions share columns.
const MAX_COLUMNS: usize = 64;

/// Counts of one rank.
#[derive(Debug, Clone)]
struct Counted {
    rank: RankOnHost,
    counts: Vec<u64>,
    /// Instances in which its position is not resolved.
    n_undecided: u64,
    n_instances: u64,
}

impl Counted {
    /// Number of instances at the positions of a column.
    fn at(&self, column: &std::ops::Range<usize>) -> u64 {
        self.counts[column.clone()]
            .iter()
            .fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// `n` as parts per million of its instances, for comparisons between ranks.
    fn share_of(&self, n: u64) -> u64 {
        let n_instances = u128::from(self.n_instances.max(1));
        (u128::from(n) * 1_000_000 / n_instances) as u64
    }
}

impl OrderMap {
    /// An order map of these positions, without ranks yet.
    pub fn new(heading: Heading, order: Order, positions: Positions) -> OrderMap {
        OrderMap {
            heading,
            order,
            positions,
            ranks: Vec::new(),
        }
    }

    /// Adds a rank. `count(position)` is called once per position and returns the number of
    /// instances with the rank there. In the other instances of the heading its position is
    /// unresolved.
    pub fn push(&mut self, rank: u32, host: Text, count: impl FnMut(usize) -> u64) {
        let counts: Vec<u64> = (0..self.positions.len()).map(count).collect();
        let n_decided = counts.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        let n_instances = self.heading.n_instances.max(n_decided);
        self.ranks.push(Counted {
            rank: RankOnHost { rank, host },
            counts,
            n_undecided: n_instances - n_decided,
            n_instances,
        });
    }

    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        self.heat_map().draw(id)
    }

    fn heat_map(&self) -> HeatMap {
        let columns = self.columns();
        let ranks: Vec<&RankOnHost> = self.ranks.iter().map(|counted| &counted.rank).collect();
        let bands = if ranks.is_empty() || self.is_resolved() {
            bands(&ranks)
        } else {
            // One row says it for all.
            std::iter::once(0..ranks.len()).collect()
        };
        let apart = self.apart(&columns).into_iter();
        let apart = apart.map(|(what, counted)| Row {
            group: what.into(),
            is_apart: true,
            ..self.row(std::slice::from_ref(counted), &columns)
        });
        let rows = apart.chain(bands.iter().map(|members| {
            let members = &self.ranks[members.clone()];
            self.row(members, &columns)
        }));
        HeatMap {
            head: Head::new(&self.heading.finding, &self.subtitle(bands.len())),
            finding: self.heading.finding.clone(),
            description: self.description(&columns),
            rows: rows.collect(),
            n_columns: columns.len(),
            axis: self.axis(&columns),
            steps: LIMITS.map(|limit| match limit {
                100 => "to 100 % of instances".to_owned(),
                _ => format!("to {limit} %"),
            }),
            blank: "never",
            hatching: "unresolved",
            bars: ["position", "unresolved"],
            finer: None,
        }
    }

    /// Whether any position of any rank is resolved.
    fn is_resolved(&self) -> bool {
        self.ranks
            .iter()
            .flat_map(|rank| &rank.counts)
            .any(|&n| n > 0)
    }

    /// The ranks that are mostly last or first, if there are many, and which of the two.
    fn apart(&self, columns: &[std::ops::Range<usize>]) -> Vec<(&'static str, &Counted)> {
        if self.ranks.len() <= FEW {
            return Vec::new();
        }
        let ends = [
            (columns.last(), "mostly last"),
            (columns.first(), "mostly first"),
        ];
        let found = ends.into_iter().filter_map(|(column, what)| {
            let column = column?;
            let (counted, share) = most(&self.ranks, |member| member.at(column))?;
            (share >= MOSTLY).then_some((what, counted))
        });
        found.collect()
    }

    /// Range of positions of each column.
    fn columns(&self) -> Vec<std::ops::Range<usize>> {
        let n = self.positions.len();
        let mut size = 1;
        while n.div_ceil(size) > MAX_COLUMNS {
            size *= 2;
        }
        (0..n)
            .step_by(size)
            .map(|from| from..(from + size).min(n))
            .collect()
    }

    /// `position 3`, `positions 5-8`, `tenth 10`.
    fn column_name(&self, column: &std::ops::Range<usize>) -> String {
        match (self.positions, column.len()) {
            (Positions::Tenths, _) => format!("tenth {}", column.end),
            (_, 1) => format!("position {}", column.end),
            _ => format!("positions {}-{}", column.start + 1, column.end),
        }
    }

    fn axis(&self, columns: &[std::ops::Range<usize>]) -> Axis {
        let (end, verb) = match self.order {
            Order::Arrival => ("arrival", "arrives"),
            Order::Departure => ("departure", "leaves"),
        };
        let (what, last) = match self.positions {
            Positions::Each(n) => ("position", n),
            Positions::Tenths => ("tenth", 10),
        };
        let name = format!("{what} in the order of {end}: 1 {verb} first, {last} {verb} last");
        let n = columns.len();
        // The first and the last, and some in between that are not too close to them.
        let step = n.div_ceil(16).max(1);
        let between = (1..n.saturating_sub(1)).filter(|idx| (idx + 1) % step == 0);
        let between = between.filter(|idx| idx + step <= n);
        let mut shown: Vec<usize> = (n > 0).then_some(0).into_iter().chain(between).collect();
        shown.extend((n > 1).then(|| n - 1));
        let tick = |idx: usize| {
            let label = match columns[idx].len() {
                1 => columns[idx].end.to_string(),
                _ if idx == 0 => "1".to_owned(),
                _ => columns[idx].end.to_string(),
            };
            (idx as f64 + 0.5, label)
        };
        Axis {
            name,
            ticks: shown.into_iter().map(tick).collect(),
            ends: None,
        }
    }

    fn subtitle(&self, n_rows: usize) -> String {
        let bands = if n_rows < self.ranks.len() {
            "; each row is a band of ranks and shows their mean"
        } else {
            ""
        };
        format!(
            "{}, {}, {}; share of instances, in %, in which a rank {} at each position{bands}",
            self.heading.operation,
            counted_grouped(self.heading.n_instances, "instance"),
            counted_grouped(self.ranks.len() as u64, "rank"),
            match self.order {
                Order::Arrival => "arrives",
                Order::Departure => "leaves",
            },
        )
    }

    fn row(&self, members: &[Counted], columns: &[std::ops::Range<usize>]) -> Row {
        let ranks: Vec<&RankOnHost> = members.iter().map(|member| &member.rank).collect();
        let name = band::name(&ranks);
        let n_instances = total(members, |member| member.n_instances);
        let n_undecided = total(members, |member| member.n_undecided);
        Row {
            ranks: band::numbers(&ranks),
            tooltip: self.row_tooltip(&name, members, columns),
            group: band::host(&ranks),
            is_apart: false,
            cells: columns
                .iter()
                .map(|column| self.cell(&name, members, column))
                .collect(),
            finer: None,
            bar: Bar {
                length: (!members.is_empty())
                    .then(|| n_undecided as f64 / n_instances.max(1) as f64),
                number: if members.is_empty() {
                    String::new()
                } else {
                    part_percent(n_undecided, n_instances)
                },
                is_hatched: true,
            },
            name,
        }
    }

    fn cell(&self, name: &str, members: &[Counted], column: &std::ops::Range<usize>) -> Cell {
        let Some((highest, _)) = most(members, |member| member.at(column)) else {
            return Cell {
                shade: Shade::Blank,
                number: String::new(),
                tooltip: String::new(),
                leads_to: None,
            };
        };
        let n = total(members, |member| member.at(column));
        let n_instances = total(members, |member| member.n_instances);
        let shown = part_percent(n, n_instances);
        let tooltip = match members.len() {
            1 => format!(
                "{name}, {}: {shown} ({} of {})",
                self.column_name(column),
                grouped(n),
                counted_grouped(n_instances, "instance"),
            ),
            _ => format!(
                "{name}, {}: {shown} on average; most often rank {}, in {}",
                self.column_name(column),
                highest.rank.rank,
                part_percent(highest.at(column), highest.n_instances),
            ),
        };
        Cell {
            shade: match n {
                0 => Shade::Blank,
                // By the number in the cell, so that equal numbers have equal shades.
                _ => Shade::step(whole_percent(n, n_instances), &LIMITS),
            },
            number: match n {
                0 => String::new(),
                _ => shown.trim_end_matches(" %").to_owned(),
            },
            leads_to: None,
            tooltip,
        }
    }

    /// The most frequent positions of the ranks of a row.
    fn row_tooltip(
        &self,
        name: &str,
        members: &[Counted],
        columns: &[std::ops::Range<usize>],
    ) -> String {
        let mut highest: Vec<(u64, &std::ops::Range<usize>, &Counted)> = columns
            .iter()
            .filter_map(|column| {
                let (member, share) = most(members, |member| member.at(column))?;
                (member.at(column) > 0).then_some((share, column, member))
            })
            .collect();
        highest.sort_by_key(|&(share, column, _)| (std::cmp::Reverse(share), column.start));
        let mut text = name.to_owned();
        if let [member] = members {
            text.push_str(&format!(" ({})", member.rank.host));
        }
        for (_, column, member) in highest.iter().take(3) {
            let shown = part_percent(member.at(column), member.n_instances);
            let whose = match members.len() {
                1 => String::new(),
                _ => format!(", rank {}", member.rank.rank),
            };
            text.push_str(&format!("\n{}: {shown}{whose}", self.column_name(column)));
        }
        if let Some((member, _)) = most(members, |member| member.n_undecided) {
            let shown = part_percent(member.n_undecided, member.n_instances);
            let at_most = if members.len() > 1 { "at most " } else { "" };
            text.push_str(&format!("\nunresolved: {at_most}{shown}"));
        }
        text.push_str(&format!(" (n = {})", grouped(self.heading.n_instances)));
        text
    }

    fn description(&self, columns: &[std::ops::Range<usize>]) -> String {
        let mut text = format!(
            "{} of {}: how often each of {} was at each position, over {}.",
            match self.order {
                Order::Arrival => "Arrival order",
                Order::Departure => "Departure order",
            },
            self.heading.operation,
            counted_grouped(self.ranks.len() as u64, "rank"),
            counted_grouped(self.heading.n_instances, "instance"),
        );
        for (column, which) in [(columns.first(), "First"), (columns.last(), "Last")] {
            let Some(column) = column else { continue };
            if let Some((member, _)) = most(&self.ranks, |member| member.at(column))
                && member.at(column) > 0
            {
                let shown = part_percent(member.at(column), member.n_instances);
                let rank = member.rank.rank;
                let name = self.column_name(column);
                text.push_str(&format!(
                    " {which} ({name}): most often rank {rank}, in {shown}."
                ));
            }
        }
        if let Some((member, _)) = most(&self.ranks, |member| member.n_undecided) {
            let shown = part_percent(member.n_undecided, member.n_instances);
            text.push_str(&format!(
                " Unresolved in at most {shown} (rank {}).",
                member.rank.rank
            ));
        }
        text
    }
}

/// The sum over ranks.
fn total(members: &[Counted], n: impl Fn(&Counted) -> u64) -> u64 {
    members
        .iter()
        .fold(0, |sum, member| sum.saturating_add(n(member)))
}

/// The first of the ranks with the largest share of its instances, and this share in parts per
/// million.
fn most(members: &[Counted], n: impl Fn(&Counted) -> u64) -> Option<(&Counted, u64)> {
    let shares = members
        .iter()
        .map(|member| (member, member.share_of(n(member))));
    shares.reduce(|most, next| if next.1 > most.1 { next } else { most })
}
