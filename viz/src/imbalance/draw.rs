//! Drawing of a load-imbalance graph: three columns, and edges of proportional width.

use collbench_text::quantity::{counted_grouped, duration, fine_percent, grouped};

use super::plan::{HostNode, Leaf};
use super::{Blame, Imbalance};
use crate::frame::{Head, MARGIN};
use crate::style::GRAPH;
use crate::svg::{Anchor, Sheet, UNIT};
use crate::text::{cut, wrap};

// All in px.
const ROOT: (i32, i32) = (MARGIN as i32, 176);
const HOST: (i32, i32) = (256, 476);
const LEAF: (i32, i32) = (560, 574);
const LEAF_TEXT: i32 = 582;
/// Width of an edge that stands for all instances.
const FULL: f64 = 28.0;
const LEAF_ROW: i32 = 36;
const HOST_ROW: i32 = 56;
const BETWEEN_HOSTS: i32 = 8;
const LEGEND_ROW: i32 = 20;
/// Points on each side of an edge.
const N_STEPS: i32 = 12;

/// Samples in the legend below the graph.
#[derive(Debug, Clone, Copy)]
enum Sample {
    Edge,
    Heaviest,
    Together,
    Nothing,
}

/// A host and its row: top and bottom.
struct Row<'a> {
    node: HostNode<'a>,
    top: i32,
    bottom: i32,
}

impl Row<'_> {
    fn middle(&self) -> i32 {
        (self.top + self.bottom) / 2
    }

    fn leaf_middle(&self, idx: usize) -> i32 {
        let used = self.node.leaves.len() as i32 * LEAF_ROW;
        self.middle() - used / 2 + idx as i32 * LEAF_ROW + LEAF_ROW / 2
    }
}

impl Imbalance {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let head = Head::new(&self.heading.finding, &self.subtitle());
        let rows = self.rows(head.bottom() as i32 + 40);
        let bottom = rows
            .last()
            .map_or(head.bottom() as i32 + 110, |row| row.bottom);
        let legend_top = bottom + 24;
        let legend = self.legend(&rows);
        let height = legend_top + legend.len() as i32 * LEGEND_ROW + 6;
        let sheet = head.sheet(height as u32);
        self.draw_column_names(&sheet, head.bottom() as i32 + 28);
        self.draw_edges(&sheet, &rows, bottom);
        self.draw_root(&sheet, &rows, bottom);
        for row in &rows {
            self.draw_host(&sheet, row, id);
        }
        draw_legend(&sheet, &legend, legend_top, id);
        sheet.finish(id, &self.heading.finding, &self.description(), &[GRAPH])
    }

    fn rows(&self, top: i32) -> Vec<Row<'_>> {
        let mut top = top;
        let mut rows = Vec::new();
        for node in self.plan() {
            let bottom = top + HOST_ROW.max(node.leaves.len() as i32 * LEAF_ROW);
            rows.push(Row { node, top, bottom });
            top = bottom + BETWEEN_HOSTS;
        }
        rows
    }

    fn subtitle(&self) -> String {
        let n_ranks = self.n_ranks;
        let fair = match n_ranks {
            0 => String::new(),
            n => format!("; fair share of a rank: {}", fine_percent(1, n as u64)),
        };
        format!(
            "{}, {}, last rank to arrive known in {}; {} on {}{fair}",
            self.heading.operation,
            counted_grouped(self.heading.n_instances, "instance"),
            grouped(self.resolved),
            counted_grouped(n_ranks as u64, "rank"),
            counted_grouped(self.hosts.len() as u64, "host"),
        )
    }

    fn draw_column_names(&self, sheet: &Sheet, y: i32) {
        for (x, name) in [
            (ROOT.0, "communicator"),
            (HOST.0, "hosts"),
            (LEAF.0, "ranks"),
        ] {
            sheet.text(px(x, y), Anchor::Start, "minor", name);
        }
    }

    /// Width of an edge, in px.
    fn width(&self, last: u64) -> f64 {
        let part = last as f64 / self.resolved.max(1) as f64;
        if last == 0 {
            0.0
        } else {
            (part * FULL).max(1.0)
        }
    }

    fn draw_edges(&self, sheet: &Sheet, rows: &[Row<'_>], bottom: i32) {
        let root_middle = rows
            .first()
            .map_or(bottom, |first| (first.top + bottom) / 2);
        let starts = stacked(
            root_middle,
            rows.iter().map(|row| self.width(row.node.last())),
        );
        for (row, start) in rows.iter().zip(starts) {
            let node = &row.node;
            let words = format!("{} to {}", self.communicator, node.title());
            let from = (f64::from(ROOT.1), start);
            let to = (f64::from(HOST.0), f64::from(row.middle()));
            self.draw_edge(sheet, (from, to), node.last(), node.is_heaviest, &words);
            let widths = node.leaves.iter().map(|leaf| self.width(leaf.last()));
            let leaf_starts = stacked(row.middle(), widths);
            for (idx, (leaf, start)) in node.leaves.iter().zip(leaf_starts).enumerate() {
                let words = format!("{} to {}", node.title(), leaf.title());
                let from = (f64::from(HOST.1), start);
                let to = (f64::from(LEAF.0), f64::from(row.leaf_middle(idx)));
                self.draw_edge(sheet, (from, to), leaf.last(), leaf.is_heaviest, &words);
            }
        }
    }

    /// An edge between the middles of its ends.
    fn draw_edge(
        &self,
        sheet: &Sheet,
        (from, to): ((f64, f64), (f64, f64)),
        last: u64,
        is_heaviest: bool,
        words: &str,
    ) {
        let side = |shift: f64| {
            (0..=N_STEPS).map(move |step| {
                let t = f64::from(step) / f64::from(N_STEPS);
                // Horizontal at both ends.
                let rise = t * t * (3.0 - 2.0 * t);
                let x = from.0 + (to.0 - from.0) * t;
                let y = from.1 + (to.1 - from.1) * rise + shift;
                (tenths(x), tenths(y))
            })
        };
        let class = match (last, is_heaviest) {
            (0, _) => "edge never",
            (_, true) => "edge heavy",
            (_, false) => "edge",
        };
        let title = format!("{words}: {}", often(last, self.resolved));
        let middle: Vec<_> = side(0.0).collect();
        sheet.group(class, &[("last", &last.to_string())], &title, || {
            if last == 0 {
                sheet.polyline("", &middle);
                return;
            }
            let half = self.width(last) / 2.0;
            let mut outline: Vec<_> = side(-half).collect();
            outline.extend(side(half).collect::<Vec<_>>().into_iter().rev());
            sheet.polygon(&outline);
            if is_heaviest {
                sheet.polyline("heavy-middle", &middle);
            }
        });
    }

    fn draw_root(&self, sheet: &Sheet, rows: &[Row<'_>], bottom: i32) {
        let top = rows.first().map_or(bottom - 60, |row| row.top);
        let middle = (top + bottom) / 2;
        let lines = wrap(self.communicator.as_str(), 17, 2);
        sheet.rectangle("node", px(ROOT.0, middle - 30), px(ROOT.1, middle + 30));
        let mut y = middle - 8 * lines.len() as i32 + 4;
        for line in &lines {
            sheet.text(px(ROOT.0 + 8, y), Anchor::Start, "name", line);
            y += 15;
        }
        let words = match self.resolved {
            0 => "not resolvable".to_owned(),
            n => format!("{} resolved", grouped(n)),
        };
        sheet.text(px(ROOT.0 + 8, y), Anchor::Start, "minor", &words);
    }

    fn draw_host(&self, sheet: &Sheet, row: &Row<'_>, id: &str) {
        let node = &row.node;
        let is_culprit = node.is_heaviest && self.blame == Blame::Host;
        let middle = row.middle();
        let class = if is_culprit { "node culprit" } else { "node" };
        let (from, to) = (px(HOST.0, middle - 24), px(HOST.1, middle + 24));
        let fair = fine_percent(node.n_ranks() as u64, self.n_ranks as u64);
        sheet.group("host", &[], &node.tooltip(self.resolved), || {
            sheet.rectangle(class, from, to);
            if node.hosts.len() > 1 {
                sheet.hatched(id, px(HOST.1 - 12, middle - 24), to);
            }
            let name = if is_culprit {
                format!("waited for: {}", node.hosts[0].name.cut(14))
            } else {
                node.short_title()
            };
            let n_ranks = counted_grouped(node.n_ranks() as u64, "rank");
            let lines = [
                ("name", name),
                ("minor", often(node.last(), self.resolved)),
                ("minor", format!("{n_ranks}: fair share {fair}")),
            ];
            for ((class, line), y) in lines.iter().zip([-8, 5, 18]) {
                sheet.text(px(HOST.0 + 8, middle + y), Anchor::Start, class, line);
            }
        });
        for (idx, leaf) in node.leaves.iter().enumerate() {
            self.draw_leaf(sheet, leaf, row.leaf_middle(idx), id);
        }
    }

    fn draw_leaf(&self, sheet: &Sheet, leaf: &Leaf<'_>, middle: i32, id: &str) {
        let is_culprit = leaf.is_heaviest && self.blame == Blame::Rank;
        let half = (self.width(leaf.last()) / 2.0).max(5.0) as i32;
        let (from, to) = (px(LEAF.0, middle - half), px(LEAF.1, middle + half));
        let class = if is_culprit { "node culprit" } else { "node" };
        let who = if is_culprit { "waited for: " } else { "" };
        let often = often(leaf.last(), self.resolved);
        let first = format!("{who}{}, {often}", leaf.title());
        let ranks = leaf.ranks.iter().map(|late| late.rank.to_string());
        let ranks = ranks.collect::<Vec<_>>().join(",");
        let data = [("ranks", ranks.as_str())];
        sheet.group("leaf", &data, &leaf.tooltip(self.resolved), || {
            sheet.rectangle(class, from, to);
            if leaf.ranks.len() > 1 {
                sheet.hatched(id, from, to);
            }
            sheet.text(
                px(LEAF_TEXT, middle - 2),
                Anchor::Start,
                "name",
                &cut(&first, 52),
            );
            let second = leaf.second_line(self.resolved);
            if second.is_empty() {
                return;
            }
            sheet.text(px(LEAF_TEXT, middle + 11), Anchor::Start, "minor", &second);
        });
    }

    /// Entries of the legend: a sample and its text.
    fn legend(&self, rows: &[Row<'_>]) -> Vec<(Sample, String)> {
        let words = "width of an edge: how often a rank of that branch arrives last";
        let mut legend = vec![(Sample::Edge, words.to_owned())];
        if let Some((host, rank)) = self.heaviest() {
            let host = &self.hosts[host];
            let words = format!(
                "heaviest path (outlined, dashed in the middle): {}, {}, rank {}",
                self.communicator.cut(30),
                host.name.cut(30),
                host.ranks[rank].rank
            );
            legend.push((Sample::Heaviest, words));
        }
        let mut leaves = rows.iter().flat_map(|row| &row.node.leaves);
        if leaves.any(|leaf| leaf.ranks.len() > 1) {
            let words = "hatched: several ranks or hosts, none of which stands out";
            legend.push((Sample::Together, words.to_owned()));
        }
        legend.push((Sample::Nothing, format!("{}.", self.verdict())));
        legend
    }

    fn verdict(&self) -> String {
        match (self.blame, self.heaviest()) {
            (Blame::Host, Some((host, _))) => {
                let name = self.hosts[host].name.cut(60);
                format!("Waited for: host {name} as a whole")
            }
            (Blame::Rank, Some((host, rank))) => {
                let host = &self.hosts[host];
                let name = host.name.cut(60);
                format!("Waited for: rank {} on {name}", host.ranks[rank].rank)
            }
            (Blame::Nobody, Some(_)) => "No rank or host stands out: none arrives last more often \
                                         than chance explains and at a relevant cost"
                .to_owned(),
            (_, None) => "Who arrives last is not resolvable".to_owned(),
        }
    }

    fn description(&self) -> String {
        let mut text = format!(
            "Load-imbalance graph of {}. {}.",
            self.subtitle(),
            self.verdict()
        );
        for node in self.plan() {
            let often = often(node.last(), self.resolved);
            text.push_str(&format!(" {}: {often}.", node.title()));
        }
        text
    }
}

impl HostNode<'_> {
    fn title(&self) -> String {
        match self.hosts[..] {
            [host] => host.name.to_string(),
            _ => counted_grouped(self.hosts.len() as u64, "more host"),
        }
    }

    /// The title as far as the host's box has room.
    fn short_title(&self) -> String {
        cut(&self.title(), 26)
    }

    fn tooltip(&self, resolved: u64) -> String {
        let caused = self.hosts.iter().map(|host| host.wait_caused_ns());
        format!(
            "{}, {}: {}; the others waited {} in total",
            self.title(),
            counted_grouped(self.n_ranks() as u64, "rank"),
            often(self.last(), resolved),
            duration(caused.fold(0, i64::saturating_add)),
        )
    }
}

impl Leaf<'_> {
    fn title(&self) -> String {
        match self.ranks[..] {
            [rank] => format!("rank {}", rank.rank),
            _ => counted_grouped(self.ranks.len() as u64, "rank"),
        }
    }

    /// The cost; empty if no rank waited.
    fn second_line(&self, resolved: u64) -> String {
        if self.last() == 0 {
            return String::new();
        }
        let waited = duration(self.wait_caused_ns());
        match &self.ranks[..] {
            [_] => format!("the others waited {waited} for it"),
            ranks => {
                let most = ranks.iter().map(|rank| rank.last).max().unwrap_or(0);
                let most = fine_percent(most, resolved);
                format!("each in at most {most}; the others waited {waited} in total")
            }
        }
    }

    fn tooltip(&self, resolved: u64) -> String {
        let mut words = format!("{}: {}", self.title(), often(self.last(), resolved));
        if self.last() > 0 {
            words.push_str(&format!("; {}", self.second_line(resolved)));
        }
        words
    }
}

fn draw_legend(sheet: &Sheet, legend: &[(Sample, String)], top: i32, id: &str) {
    let mut y = top;
    for (sample, words) in legend {
        let (from, to) = (px(ROOT.0, y - 5), px(ROOT.0 + 30, y + 5));
        match sample {
            Sample::Edge => sheet.rectangle("edge", from, to),
            Sample::Heaviest => {
                sheet.rectangle("edge heavy", from, to);
                sheet.polyline("heavy-middle", &[px(ROOT.0, y), px(ROOT.0 + 30, y)]);
            }
            Sample::Together => {
                sheet.rectangle("node", from, to);
                sheet.hatched(id, from, to);
            }
            Sample::Nothing => {}
        }
        let x = match sample {
            Sample::Nothing => ROOT.0,
            _ => ROOT.0 + 38,
        };
        sheet.text(px(x, y + 4), Anchor::Start, "minor", &cut(words, 130));
        y += LEGEND_ROW;
    }
}

/// How often it arrived last: `last in 45 % (1,080)`.
fn often(last: u64, resolved: u64) -> String {
    match (last, resolved) {
        (_, 0) => "not resolvable".to_owned(),
        (0, _) => "never last".to_owned(),
        _ => format!(
            "last in {} ({})",
            fine_percent(last, resolved),
            grouped(last)
        ),
    }
}

/// Middles of edges of these widths, stacked around `middle`.
fn stacked(middle: i32, widths: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let all: f64 = widths.clone().sum();
    let mut top = f64::from(middle) - all / 2.0;
    let middles = widths.map(|width| {
        top += width;
        top - width / 2.0
    });
    middles.collect()
}

fn px(x: i32, y: i32) -> (i32, i32) {
    (x * UNIT, y * UNIT)
}

fn tenths(v: f64) -> i32 {
    (v * f64::from(UNIT)).round() as i32
}
