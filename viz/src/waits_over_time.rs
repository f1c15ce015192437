//! Waiting over time: the share of each interval of the run that each rank spends waiting.
//!
//! The scale follows the longest wait in the picture, since a program that waits 1 % of the time
//! has a pattern, too; the legend gives the values of the shades. An interval in which calls began
//! whose waits are not known is hatched, over the shade of those that are; one without calls is blank.

use std::num::NonZeroU64;
use std::ops::Range;

use collbench_text::quantity::{TimeUnit, counted_grouped, duration, grouped, tick};
use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;

use crate::Text;
use crate::frame::Head;
use crate::heat_map::band::{self, RankOnHost, bands};
use crate::heat_map::{Axis, Bar, Cell, Finer, HeatMap, MAX_ROWS, N_STEPS, Row, Shade, Value};

/// What one rank did in one interval of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeBin {
    /// Time waited, ns; `None` if calls began and none of their waits is known.
    pub wait_ns: Option<u64>,
    /// Time in calls, ns.
    pub call_ns: u64,
    /// Number of calls that began.
    pub n_calls: u64,
    /// Number of these calls whose wait is not known: `wait_ns` is then a lower bound.
    pub n_unknown: u64,
    /// Number of the instance of the page that the rank waited in most, if it is shown.
    pub leads_to: Option<usize>,
}

/// The waits of each rank in each interval of the run.
///
/// More than 64 ranks share rows, which show the mean of their ranks; the ranks that wait the least
/// and the most in total are then shown above them, since the rank that waits least among many is
/// often the one that the others wait for.
#[derive(Debug, Clone)]
pub struct WaitsOverTime {
    finding: Text,
    bin_ns: NonZeroU64,
    /// How many intervals of the run come before the first one.
    n_before: usize,
    n_bins: usize,
    /// How many shorter intervals make one, if they are known.
    n_parts: usize,
    ranks: Vec<RankWaits>,
}

/// The intervals of one rank.
#[derive(Debug, Clone)]
struct RankWaits {
    rank: RankOnHost,
    bins: Vec<TimeBin>,
    /// The shorter intervals; empty if they are not known.
    finer: Vec<TimeBin>,
}

impl RankWaits {
    /// Sum of the known waits; `None` if none is known.
    fn wait_ns(&self) -> Option<u64> {
        sum(self.bins.iter().filter_map(|bin| bin.wait_ns))
    }

    fn n_unknown(&self) -> u64 {
        sum(self.bins.iter().map(|bin| bin.n_unknown)).unwrap_or(0)
    }
}

/// The sum, saturating; `None` without values.
fn sum(values: impl Iterator<Item = u64>) -> Option<u64> {
    values.reduce(u64::saturating_add)
}

/// Mean over several ranks in one interval.
struct Mean {
    wait_ns: Option<u64>,
    call_ns: u64,
    n_calls: u64,
    n_unknown: u64,
    /// Where that of the rank that waits most leads to.
    leads_to: Option<usize>,
}

fn mean(ranks: &[&RankWaits], bin_idx: usize) -> Mean {
    mean_of(ranks.len(), || ranks.iter().map(|rank| rank.bins[bin_idx]))
}

/// The mean of `n` ranks.
fn mean_of<I: Iterator<Item = TimeBin>>(n: usize, bins: impl Fn() -> I) -> Mean {
    let known = bins().filter(|bin| bin.wait_ns.is_some()).count() as u64;
    let n = n.max(1) as u64;
    Mean {
        wait_ns: sum(bins().filter_map(|bin| bin.wait_ns)).map(|ns| ns / known.max(1)),
        call_ns: sum(bins().map(|bin| bin.call_ns)).unwrap_or(0) / n,
        n_calls: sum(bins().map(|bin| bin.n_calls)).unwrap_or(0),
        n_unknown: sum(bins().map(|bin| bin.n_unknown)).unwrap_or(0),
        leads_to: {
            let leading = bins().filter(|bin| bin.leads_to.is_some());
            leading
                .max_by_key(|bin| bin.wait_ns)
                .and_then(|bin| bin.leads_to)
        },
    }
}

impl WaitsOverTime {
    /// A picture of `n_bins` intervals of the run, `bin_ns` each, without ranks yet. `finding` is
    /// the title.
    pub fn new(finding: Text, bin_ns: NonZeroU64, n_bins: usize) -> WaitsOverTime {
        WaitsOverTime {
            finding,
            bin_ns,
            n_before: 0,
            n_bins,
            n_parts: 1,
            ranks: Vec::new(),
        }
    }

    /// This picture of a part of the run, before whose first interval there are so many others.
    #[must_use]
    pub fn after(self, n_before: usize) -> WaitsOverTime {
        WaitsOverTime { n_before, ..self }
    }

    /// Adds a rank. `bin(idx)` is called once per interval, from the first on.
    pub fn push(&mut self, rank: u32, host: Text, bin: impl FnMut(usize) -> TimeBin) {
        let bins = (0..self.n_bins).map(bin).collect();
        self.ranks.push(RankWaits {
            rank: RankOnHost { rank, host },
            bins,
            finer: Vec::new(),
        });
    }

    /// Adds the shorter intervals of the rank that was added last, which the page shows when it zooms: `n_parts` of
    /// them make one, for all ranks. `bin(idx)` is called once for each, from the first on.
    pub fn push_finer(&mut self, n_parts: usize, bin: impl FnMut(usize) -> TimeBin) {
        self.n_parts = n_parts.max(1);
        if let Some(rank) = self.ranks.last_mut() {
            rank.finer = (0..self.n_bins * self.n_parts).map(bin).collect();
        }
    }

    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        self.heat_map().draw(id)
    }

    fn heat_map(&self) -> HeatMap {
        let rows = self.rows();
        let cells: Vec<Vec<Mean>> = rows
            .iter()
            .map(|row| (0..self.n_bins).map(|idx| mean(&row.ranks, idx)).collect())
            .collect();
        let longest = cells.iter().flatten().filter_map(|mean| mean.wait_ns).max();
        let limits = limits(self.part(longest.unwrap_or(0)));
        let finer: Vec<Vec<Value>> = rows.iter().map(|row| self.finer(row)).collect();
        let highest = finer.iter().flatten().filter_map(|value| value.known());
        let highest = highest.max().unwrap_or(0);
        let finer_rows = Finer {
            n_parts: self.n_parts,
            highest,
            limits,
            column_ns: self.bin_ns.get(),
            n_before: self.n_before,
        };
        let longest_sum = rows
            .iter()
            .filter_map(SharedRow::wait_ns)
            .max()
            .unwrap_or(0);
        let drawn = rows.iter().zip(&cells);
        HeatMap {
            head: Head::new(&self.finding, &self.subtitle()),
            finding: self.finding.clone(),
            description: self.description(),
            rows: drawn
                .zip(&finer)
                .map(|((row, cells), finer)| {
                    let encoded = || finer_rows.encoded(finer.iter().copied());
                    Row {
                        finer: (!finer.is_empty()).then(encoded),
                        ..self.row(row, cells, &limits, longest_sum)
                    }
                })
                .collect(),
            n_columns: self.n_bins,
            axis: self.axis(),
            steps: {
                let mut steps = limits.map(|limit| format!("to {}", part_in_percent(limit)));
                // A short interval may have more than any of those that are drawn first.
                if highest > limits[N_STEPS - 1] {
                    steps[N_STEPS - 1] = "more".to_owned();
                }
                steps[N_STEPS - 1].push_str(" of the time waiting");
                steps
            },
            blank: "no call",
            hatching: "not known, or at least the shade below",
            bars: ["waits", "in total"],
            finer: finer
                .iter()
                .any(|row| !row.is_empty())
                .then_some(finer_rows),
        }
    }

    /// The values of a row in the shorter intervals, as parts per billion of these; none if they are not known.
    fn finer(&self, row: &SharedRow<'_>) -> Vec<Value> {
        let n = if row.ranks.iter().all(|rank| !rank.finer.is_empty()) {
            self.n_bins * self.n_parts
        } else {
            0
        };
        let n_parts = self.n_parts as u64;
        let value = |idx: usize| {
            let bins = || row.ranks.iter().map(|rank| rank.finer[idx]);
            let mean = mean_of(row.ranks.len(), bins);
            let part = mean.wait_ns.map(|ns| self.part(ns.saturating_mul(n_parts)));
            match part {
                None => Value::Unknown,
                Some(0) if mean.n_calls == 0 && mean.call_ns == 0 => Value::Blank,
                Some(part) if is_least(&mean) => Value::Least(part),
                Some(part) => Value::Known(part),
            }
        };
        (0..n).map(value).collect()
    }

    /// `ns` as parts per billion of an interval.
    fn part(&self, ns: u64) -> u64 {
        let part = u128::from(ns) * u128::from(BILLION) / u128::from(self.bin_ns.get());
        u64::try_from(part).unwrap_or(u64::MAX)
    }

    /// Rows with their ranks: the extremes, if many ranks share rows, then all.
    fn rows(&self) -> Vec<SharedRow<'_>> {
        let ranks: Vec<&RankOnHost> = self.ranks.iter().map(|rank| &rank.rank).collect();
        let mut rows = Vec::new();
        // The least of partly unknown waits would be a guess.
        if ranks.len() > MAX_ROWS && self.ranks.iter().all(|rank| rank.n_unknown() == 0) {
            let least = self.ranks.iter().min_by_key(|rank| rank.wait_ns());
            let most = self.ranks.iter().rev().max_by_key(|rank| rank.wait_ns());
            if let (Some(least), Some(most)) = (least, most)
                && least.wait_ns() < most.wait_ns()
            {
                let apart = |what, rank| SharedRow {
                    ranks: vec![rank],
                    apart: Some(what),
                };
                rows.extend([apart("waits least", least), apart("waits most", most)]);
            }
        }
        rows.extend(bands(&ranks).into_iter().map(|members| SharedRow {
            ranks: self.ranks[members].iter().collect(),
            apart: None,
        }));
        rows
    }

    fn row(
        &self,
        row: &SharedRow<'_>,
        cells: &[Mean],
        limits: &[u64; N_STEPS],
        longest_sum: u64,
    ) -> Row {
        let ranks: Vec<&RankOnHost> = row.ranks.iter().map(|rank| &rank.rank).collect();
        let name = band::name(&ranks);
        let host = band::host(&ranks);
        let wait_ns = row.wait_ns();
        let bins = cells.iter().enumerate();
        Row {
            ranks: band::numbers(&ranks),
            tooltip: self.row_tooltip(&name, &host, row, cells),
            is_apart: row.apart.is_some(),
            group: row.apart.map_or(host, Text::from),
            cells: bins
                .map(|(idx, mean)| self.cell(&name, row, idx, mean, limits))
                .collect(),
            bar: Bar {
                length: wait_ns.map(|ns| ns as f64 / longest_sum.max(1) as f64),
                number: match wait_ns {
                    Some(ns) if row.is_least() => format!("≥{}", clipped(ns)),
                    Some(ns) => clipped(ns),
                    None => "?".to_owned(),
                },
                is_hatched: false,
            },
            finer: None,
            name,
        }
    }

    fn cell(
        &self,
        name: &str,
        row: &SharedRow<'_>,
        idx: usize,
        mean: &Mean,
        limits: &[u64; N_STEPS],
    ) -> Cell {
        let part = mean.wait_ns.map(|ns| self.part(ns));
        let shade = match part {
            None => Shade::Unknown,
            Some(0) if mean.n_calls == 0 && mean.call_ns == 0 => Shade::Blank,
            Some(part) => match Shade::step(part, limits) {
                Shade::Step(step) if is_least(mean) => Shade::Least(step),
                shade => shade,
            },
        };
        Cell {
            leads_to: mean.leads_to,
            shade,
            number: match (shade, part) {
                (Shade::Step(_), Some(part)) => part_in_percent(part),
                (Shade::Least(_), Some(part)) => format!("≥{}", part_in_percent(part)),
                _ => String::new(),
            },
            tooltip: format!("{name}, {}: {}", self.when(idx..idx + 1), words(row, mean)),
        }
    }

    /// `1.02 s to 1.05 s`.
    fn when(&self, bins: Range<usize>) -> String {
        let time = |idx: usize| {
            let bins = (self.n_before + idx) as u64;
            clipped(self.bin_ns.get().saturating_mul(bins))
        };
        format!("{} to {}", time(bins.start), time(bins.end))
    }

    /// Total wait of a row, and the interval in which it waits most.
    fn row_tooltip(&self, name: &str, host: &Text, row: &SharedRow<'_>, cells: &[Mean]) -> String {
        let of_mean = if row.ranks.len() > 1 {
            "on average "
        } else {
            ""
        };
        let waits = row
            .wait_ns()
            .map_or_else(|| "not known".to_owned(), clipped);
        let n_calls = sum(cells.iter().map(|mean| mean.n_calls)).unwrap_or(0);
        let n_unknown = sum(cells.iter().map(|mean| mean.n_unknown)).unwrap_or(0);
        let least = if n_unknown > 0 && row.wait_ns().is_some() {
            "at least "
        } else {
            ""
        };
        let mut text = format!(
            "{name} ({host}): waits {of_mean}{least}{waits} in total, {}",
            counted_grouped(n_calls, "call")
        );
        if n_unknown > 0 {
            text.push_str(&format!(" (wait of {} not known)", grouped(n_unknown)));
        }
        let waits = cells
            .iter()
            .enumerate()
            .filter_map(|(idx, mean)| Some((mean.wait_ns?, idx)));
        if let Some((ns @ 1.., idx)) = waits.max_by_key(|&(ns, idx)| (ns, std::cmp::Reverse(idx))) {
            let most = part_in_percent(self.part(ns));
            let when = self.when(idx..idx + 1);
            text.push_str(&format!("\nmost from {when}: {most} of the time"));
        }
        text
    }

    fn axis(&self) -> Axis {
        let ns = |n_bins: usize| self.bin_ns.get() as f64 * n_bins as f64;
        let unit = TimeUnit::for_axis(ns(self.n_before + self.n_bins));
        let start = ns(self.n_before) / unit.ns;
        let end = ns(self.n_before + self.n_bins) / unit.ns;
        let times = if end > start {
            RangedCoordf64::from(start..end).key_points(9)
        } else {
            Vec::new()
        };
        let columns = self.n_bins as f64;
        let at = |time: f64| ((time - start) / (end - start) * columns, tick(time));
        Axis {
            name: format!("time since the start of the run, in {}", unit.name),
            ticks: times.into_iter().map(at).collect(),
            ends: (end > start).then_some((start, end)),
        }
    }

    fn subtitle(&self) -> String {
        let calls = self.ranks.iter().flat_map(|rank| &rank.bins);
        let calls = sum(calls.map(|bin| bin.n_calls)).unwrap_or(0);
        let bands = if self.ranks.len() > MAX_ROWS {
            "; each row is a band of ranks and shows their mean"
        } else {
            ""
        };
        let n_unknown = sum(self.ranks.iter().map(RankWaits::n_unknown)).unwrap_or(0);
        let unknown = match n_unknown {
            0 => String::new(),
            _ => format!(" (wait of {} not known)", grouped(n_unknown)),
        };
        format!(
            "All operations, {}{unknown}, {}; share of each interval of {} that a rank spends \
             waiting, in %{bands}",
            counted_grouped(calls, "call"),
            counted_grouped(self.ranks.len() as u64, "rank"),
            clipped(self.bin_ns.get()),
        )
    }

    fn description(&self) -> String {
        let mut text = format!(
            "Waits over time of {}, in {} of {}.",
            counted_grouped(self.ranks.len() as u64, "rank"),
            counted_grouped(self.n_bins as u64, "interval"),
            clipped(self.bin_ns.get()),
        );
        let waits = || {
            self.ranks
                .iter()
                .filter_map(|rank| Some((rank.wait_ns()?, rank)))
        };
        let least = waits().min_by_key(|&(ns, _)| ns);
        let most = waits().rev().max_by_key(|&(ns, _)| ns);
        if let (Some((least_ns, least)), Some((most_ns, most))) = (least, most) {
            text.push_str(&format!(
                " Total wait of a rank, as far as known: from {} (rank {}) to {} (rank {}).",
                clipped(least_ns),
                least.rank.rank,
                clipped(most_ns),
                most.rank.rank
            ));
        }
        let n_unknown = sum(self.ranks.iter().map(RankWaits::n_unknown)).unwrap_or(0);
        if n_unknown > 0 {
            text.push_str(&format!(
                " The wait of {} is not known.",
                counted_grouped(n_unknown, "call")
            ));
        }
        text
    }
}

/// A row: the ranks that share it, or one that stands out, and in which respect.
struct SharedRow<'a> {
    ranks: Vec<&'a RankWaits>,
    apart: Option<&'static str>,
}

impl SharedRow<'_> {
    /// Whether some of its waits are not known.
    fn is_least(&self) -> bool {
        self.ranks.iter().any(|rank| rank.n_unknown() > 0)
    }

    /// Mean of the total waits of its ranks; `None` if none is known.
    fn wait_ns(&self) -> Option<u64> {
        let known: Vec<u64> = self
            .ranks
            .iter()
            .filter_map(|rank| rank.wait_ns())
            .collect();
        let n = known.len().max(1) as u64;
        sum(known.into_iter()).map(|ns| ns / n)
    }
}

/// Whether the wait of an interval is known in part only: that of one call in [`FEW`] or more is not
/// known.
fn is_least(mean: &Mean) -> bool {
    mean.n_unknown.saturating_mul(FEW) >= mean.n_calls.max(1)
}

/// One unknown wait among more calls than this does not change the look of an interval.
const FEW: u64 = 20;

/// The content of an interval, for a tooltip.
fn words(row: &SharedRow<'_>, mean: &Mean) -> String {
    let on_average = if row.ranks.len() > 1 {
        " on average"
    } else {
        ""
    };
    // A call is counted where it begins: there may be time in calls where none began.
    let Some(wait_ns) = mean.wait_ns else {
        let calls = counted_grouped(mean.n_calls, "call");
        return format!("wait not known ({calls} began)");
    };
    let n_calls = grouped(mean.n_calls);
    let least = if mean.n_unknown > 0 { "at least " } else { "" };
    format!(
        "waits {least}{}{on_average} of {} in calls ({n_calls} began)",
        clipped(wait_ns),
        clipped(mean.call_ns)
    )
}

/// A duration, at most 292 years.
fn clipped(ns: u64) -> String {
    duration(i64::try_from(ns).unwrap_or(i64::MAX))
}

const BILLION: u64 = 1_000_000_000;

/// Upper limits of the shades, in parts per billion. The last is the first round number (1, 2, 3,
/// 4, 5 or 7 times a power of ten) that is at least `highest`, at most the whole; the others are
/// fixed parts of it.
fn limits(highest: u64) -> [u64; N_STEPS] {
    let tens = (0..=9).map(|exponent| 10u64.pow(exponent));
    let rounds = tens.flat_map(|ten| [1, 2, 3, 4, 5, 7].map(|digit| 100 * digit * ten));
    let mut rounds = rounds.filter(|&round| round >= highest || round >= BILLION);
    let top = rounds.next().unwrap_or(BILLION);
    [2, 5, 10, 20, 40, 70, 100].map(|percent| top * percent / 100)
}

/// Parts per billion in percent, with up to two significant digits below ten: `20 %`, `1.4 %`,
/// `0.05 %`.
fn part_in_percent(part: u64) -> String {
    let percent = part as f64 / 1e7;
    let n_decimals = match percent {
        p if p >= 9.95 || p == 0.0 => 0,
        p => (1.0 - p.log10().floor()).max(0.0) as usize,
    };
    let shown = format!("{percent:.n_decimals$}");
    if shown.contains('.') {
        format!("{} %", shown.trim_end_matches('0').trim_end_matches('.'))
    } else {
        format!("{shown} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_follow_the_longest_wait() {
        assert_eq!(limits(BILLION)[N_STEPS - 1], BILLION);
        assert_eq!(limits(u64::MAX)[N_STEPS - 1], BILLION);
        assert_eq!(limits(0)[0], 2);
        let shown = limits(13_000_000).map(part_in_percent);
        assert_eq!(
            shown,
            ["0.04 %", "0.1 %", "0.2 %", "0.4 %", "0.8 %", "1.4 %", "2 %"]
        );
    }

    #[test]
    fn the_mean_is_of_those_that_are_known() {
        let rank = |wait_ns| RankWaits {
            rank: RankOnHost {
                rank: 0,
                host: "h".into(),
            },
            bins: vec![TimeBin {
                leads_to: None,
                wait_ns,
                call_ns: 10,
                n_calls: 1,
                n_unknown: 0,
            }],
            finer: Vec::new(),
        };
        let ranks = [rank(Some(4)), rank(None), rank(Some(8))];
        let all = mean(&ranks.iter().collect::<Vec<_>>(), 0);
        assert_eq!((all.wait_ns, all.call_ns, all.n_calls), (Some(6), 10, 3));
        assert_eq!(mean(&[&ranks[1]], 0).wait_ns, None);
    }
}
