//! Drawing of a tree.

use collbench_text::quantity::{counted_grouped, duration, size, tick};

use super::{Messages, Row, Tree, TreeNode};
use crate::frame::{Head, MARGIN, WIDTH};
use crate::hops::{Grade, Kind, Medians};
use crate::style;
use crate::svg::{Anchor, Sheet, at, fit, text_width};
use crate::timemap::{StageTime, duration_of};

// All in px.
/// Right end of the tree; names of processes follow after their nodes.
const TREE: (f64, f64) = (MARGIN as f64 + 8.0, 330.0);
const NAME_WIDTH: f64 = 66.0;
const HOST_LEFT: f64 = 402.0;
const HOST_WIDTH: f64 = 96.0;
const MESSAGES_LEFT: f64 = 506.0;
const MESSAGES_WIDTH: f64 = 100.0;
const BARS_RIGHT: f64 = WIDTH as f64 - MARGIN as f64;
/// Room for the number beside a bar.
const NUMBER_WIDTH: f64 = 58.0;
/// Room for the name of another parent.
const NOTE_WIDTH: f64 = 52.0;
/// The parent is drawn above the node, so "up" and "down" would be ambiguous.
const TO_PARENT: &str = "time to parent";
const ROW_HEIGHT: (f64, f64) = (13.0, 26.0);
const ROWS_HEIGHT: f64 = 460.0;
const MAX_STEP: f64 = 40.0;
const COLUMN_HEAD: f64 = 34.0;
/// Gap between the rows and the legend.
const LEGEND_GAP: f64 = 22.0;
const LEGEND_ROW: f64 = 18.0;
const SWATCH: f64 = 30.0;

/// A quantity beside the rows.
struct Column {
    name: &'static str,
    left: f64,
    width: f64,
    times: Vec<Option<StageTime>>,
    /// Number of the colour of each bar; `None`: that of any bar.
    colors: Vec<Option<usize>>,
    /// Note after each value.
    notes: Vec<String>,
    longest: i64,
}

impl Tree {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let medians = Medians::of(self.hops());
        match self.abbreviated(&medians) {
            Some(shorter) => shorter.draw_rows(id, &medians),
            None => self.draw_rows(id, &medians),
        }
    }

    fn draw_rows(&self, id: &str, medians: &Medians) -> String {
        let head = Head::new(&self.heading.finding, &self.subtitle());
        let n = self.rows.len().max(1) as f64;
        let height = (ROWS_HEIGHT / n).clamp(ROW_HEIGHT.0, ROW_HEIGHT.1);
        let top = f64::from(head.bottom()) + 12.0 + COLUMN_HEAD;
        let bottom = top + height * n;
        let longest_wait = longest(self.nodes.iter().map(|node| node.wait));
        let (legend, end) = self.legend(medians, longest_wait, bottom + LEGEND_GAP);
        let sheet = head.sheet(end.ceil() as u32);
        if self.rows.is_empty() {
            sheet.text(at(TREE.0, top + 14.0), Anchor::Start, "name", "no tree");
        }
        let transfers = || self.nodes.iter().flat_map(|node| [node.down, node.up]);
        let longest_transfer = longest(transfers());
        let columns = self.columns(medians, longest_transfer, longest_wait);
        let middle = |row: usize| top + height * (row as f64 + 0.5);
        self.draw_hosts(&sheet, top, height);
        self.draw_messages(&sheet, top, height);
        self.draw_notes(&sheet, top, height);
        draw_columns(&sheet, &columns, top, height, id);
        let place = |row: usize| (self.x_of(&self.rows[row]), middle(row));
        // Edges of one parent share a line: those that stand out are on top.
        let mut edges: Vec<(Grade, usize, usize)> = (self.rows.iter().enumerate())
            .filter_map(|(number, row)| Some((self.grade(row, medians), number, row.parent?)))
            .collect();
        edges.sort_by_key(|(grade, ..)| (grade.color(), *grade));
        for (grade, number, parent) in edges {
            let class = match grade.color() {
                Some(color) => format!("hop{color}"),
                None if self.is_plan => "hop0".to_owned(),
                None => "hop-unknown".to_owned(),
            };
            let ((x, y), (from_x, from_y)) = (place(number), place(parent));
            sheet.group(&class, &[], &self.edge_words(&self.rows[number]), || {
                sheet.polyline("way", &[at(from_x, from_y), at(from_x, y), at(x, y)]);
            });
        }
        let radius = (height * 0.32).clamp(3.0, 6.0);
        for (number, row) in self.rows.iter().enumerate() {
            let node = &self.nodes[row.node];
            let ((x, y), name) = (place(number), node.name.cut(12));
            let class = match node.wait {
                Some(wait) => format!("node step{}", step(wait.mean_ns(), longest_wait)),
                None if self.is_plan => "node step0".to_owned(),
                None => "node unknown".to_owned(),
            };
            let mut data = vec![("node", node.name.as_str())];
            data.extend(node.name.rank().map(|rank| ("ranks", rank)));
            sheet.group("process", &data, &self.node_words(node), || {
                let ends = (at(x - radius, y - radius), at(x + radius, y + radius));
                sheet.rectangle(&class, ends.0, ends.1);
                let text = at(x + radius + 5.0, y + 4.0);
                sheet.text(text, Anchor::Start, "minor", &name);
            });
        }
        for entry in &legend {
            entry.draw(&sheet);
        }
        sheet.finish(
            id,
            &self.heading.finding,
            &self.description(),
            &[style::HEAT, style::TREE],
        )
    }

    fn subtitle(&self) -> String {
        let is_short = self.rows.iter().any(|row| row.rest.is_some());
        if self.is_plan {
            let nodes = counted_grouped(self.n_processes as u64, "node");
            let shown = if is_short {
                "; shown are those near the root"
            } else {
                ""
            };
            return format!("{}, {nodes}{shown}", self.heading.operation);
        }
        format!(
            "{}, {}, {}; mean times",
            self.heading.operation,
            counted_grouped(self.heading.n_instances, "instance"),
            counted_grouped(self.n_processes as u64, "node"),
        ) + if is_short {
            "; shown are those whose hops stand out the most, and those near the root"
        } else {
            ""
        }
    }

    fn x_of(&self, row: &Row) -> f64 {
        let deepest = self.rows.iter().map(|row| row.depth).max().unwrap_or(0);
        let room = TREE.1 - NAME_WIDTH - TREE.0;
        let step = (room / deepest.max(1) as f64).min(MAX_STEP);
        TREE.0 + step * row.depth as f64
    }

    /// The kind of the hop between a row and its parent.
    fn kind(&self, row: &Row) -> Option<Kind> {
        let parent = &self.nodes[self.rows[row.parent?].node];
        Some(Kind::of(&self.nodes[row.node].host, &parent.host))
    }

    /// The hops over edges of the tree whose times are known, in both directions.
    fn hops(&self) -> impl Iterator<Item = (Kind, StageTime)> + Clone {
        let hops = self.rows.iter().filter_map(|row| {
            let (kind, node) = (self.kind(row)?, &self.nodes[row.node]);
            let down = node.down.filter(|_| node.other_parent.is_none());
            Some([down, node.up].map(|time| Some((kind, time?))))
        });
        hops.flatten().flatten()
    }

    /// The grade of the edge to the parent, in the slower direction.
    pub(super) fn grade(&self, row: &Row, medians: &Medians) -> Grade {
        if let Some(color) = row.rest {
            return color.checked_sub(1).map_or(Grade::Usual, Grade::Above);
        }
        let node = &self.nodes[row.node];
        let down = node.down.filter(|_| node.other_parent.is_none());
        let known = [down, node.up].into_iter().flatten();
        let slower = known.max_by_key(|time| (time.is_resolved(), time.mean_ns()));
        match self.kind(row) {
            Some(kind) => medians.grade(kind, slower),
            None => Grade::Unresolved,
        }
    }

    /// Whether the messages of any hop are known.
    fn has_messages(&self) -> bool {
        let mut sent = self
            .nodes
            .iter()
            .flat_map(|node| [node.sent_down, node.sent_up]);
        sent.any(|sent| sent.is_some())
    }

    fn columns(&self, medians: &Medians, longest_transfer: i64, longest_wait: i64) -> Vec<Column> {
        type Time = fn(&TreeNode) -> Option<StageTime>;
        let all: [(&'static str, Time, i64); 3] = [
            (TO_PARENT, |node| node.down, longest_transfer),
            ("time from parent", |node| node.up, longest_transfer),
            (self.waits.words(), |node| node.wait, longest_wait),
        ];
        let mut columns: Vec<Column> = Vec::new();
        for (name, time, longest) in all {
            let is_transfer = name != self.waits.words();
            let times: Vec<_> = self
                .rows
                .iter()
                .map(|row| time(&self.nodes[row.node]))
                .collect();
            let notes = self.rows.iter().map(|row| {
                let other = self.nodes[row.node].other_parent.as_ref();
                let other = other.filter(|_| name == TO_PARENT);
                other.map_or(String::new(), |other| format!(" to {}", other.cut(10)))
            });
            let colors = self.rows.iter().map(|row| {
                let node = &self.nodes[row.node];
                let is_other = name == TO_PARENT && node.other_parent.is_some();
                let kind = self.kind(row).filter(|_| is_transfer && !is_other)?;
                let color = medians.grade(kind, time(node)).color();
                color.filter(|&color| color > 0)
            });
            // If no process waits, there is nothing to compare.
            if times.iter().any(Option::is_some) && longest > 0 {
                columns.push(Column {
                    name,
                    left: 0.0,
                    width: 0.0,
                    times,
                    colors: colors.collect(),
                    notes: notes.collect(),
                    longest,
                });
            }
        }
        let bars_left = if self.has_messages() {
            MESSAGES_LEFT + MESSAGES_WIDTH
        } else {
            MESSAGES_LEFT
        };
        let width = (BARS_RIGHT - bars_left) / columns.len().max(1) as f64;
        for (number, column) in columns.iter_mut().enumerate() {
            let has_notes = column.notes.iter().any(|note| !note.is_empty());
            let note = if has_notes { NOTE_WIDTH } else { 0.0 };
            column.left = bars_left + width * number as f64;
            column.width = (width - NUMBER_WIDTH - note - 10.0).max(10.0);
        }
        columns
    }

    /// Consecutive rows of one host as one field.
    fn draw_hosts(&self, sheet: &Sheet, top: f64, height: f64) {
        let head = at(HOST_LEFT, top - 8.0);
        sheet.text(head, Anchor::Start, "minor", "host");
        let host = |row: &Row| &self.nodes[row.node].host;
        let mut row = 0;
        for (number, run) in self.rows.chunk_by(|a, b| host(a) == host(b)).enumerate() {
            let y = top + height * row as f64;
            let end = y + height * run.len() as f64;
            let class = if number % 2 == 0 { "row" } else { "core" };
            sheet.rectangle(
                class,
                at(HOST_LEFT - 6.0, y),
                at(HOST_LEFT + HOST_WIDTH, end),
            );
            let text = at(HOST_LEFT, y + height / 2.0 + 4.0);
            sheet.text(text, Anchor::Start, "minor", &host(&run[0]).cut(14));
            row += run.len();
        }
    }

    /// Messages per instance over each edge, and their bytes.
    fn draw_messages(&self, sheet: &Sheet, top: f64, height: f64) {
        if !self.has_messages() {
            return;
        }
        let head = at(MESSAGES_LEFT, top - 8.0);
        sheet.text(head, Anchor::Start, "minor", "messages, size");
        for (number, row) in self.rows.iter().enumerate() {
            let node = &self.nodes[row.node];
            let words = |sent: Option<Messages>| Some(per_instance(sent?));
            // The parent is drawn above.
            let text = match (words(node.sent_down), words(node.sent_up)) {
                (Some(down), Some(up)) if down == up => format!("↕ {up}"),
                (Some(down), None) => format!("↑ {down}"),
                (Some(down), Some(up)) => format!("↑ {down} ↓ {up}"),
                (None, Some(up)) => format!("↓ {up}"),
                (None, None) => continue,
            };
            let y = top + height * (number as f64 + 0.5) + 4.0;
            let text = fit(&text, MESSAGES_WIDTH - 4.0, 11.0);
            sheet.text(at(MESSAGES_LEFT, y), Anchor::Start, "minor", &text);
        }
    }

    /// What the nodes of a plan do.
    fn draw_notes(&self, sheet: &Sheet, top: f64, height: f64) {
        for (number, row) in self.rows.iter().enumerate() {
            let Some(note) = self.notes.get(row.node).filter(|_| row.rest.is_none()) else {
                continue;
            };
            let y = top + height * (number as f64 + 0.5) + 4.0;
            let text = fit(note.as_str(), BARS_RIGHT - MESSAGES_LEFT, 11.0);
            sheet.text(at(MESSAGES_LEFT, y), Anchor::Start, "minor", &text);
        }
    }

    /// The entries of the legend from `top` on, and their lower end: each grade of hops and each shade
    /// of nodes that the picture has.
    fn legend(&self, medians: &Medians, longest_wait: i64, top: f64) -> (Vec<Entry>, f64) {
        let edges = self.rows.iter().filter(|row| row.parent.is_some());
        let grades: Vec<Grade> = edges.map(|row| self.grade(row, medians)).collect();
        let waits = self.nodes.iter().filter_map(|node| node.wait);
        let steps: Vec<usize> = waits
            .map(|wait| step(wait.mean_ns(), longest_wait))
            .collect();
        let mut flow = Flow::new(top);
        if !grades.is_empty() && !self.is_plan {
            flow.add(Sample::None, "hop, in the slower direction:".to_owned());
            for grade in Grade::ALL
                .into_iter()
                .filter(|grade| grades.contains(grade))
            {
                flow.add(Sample::Hop(grade.color()), medians.words(grade));
            }
            flow.end_row();
        }
        if longest_wait > 0 {
            flow.add(Sample::None, format!("node: mean {}:", self.waits.words()));
            for number in (0..N_STEPS).filter(|number| steps.contains(number)) {
                let limit = longest_wait as f64 * (number + 1) as f64 / N_STEPS as f64;
                let words = format!("to {}", duration(limit.round() as i64));
                flow.add(Sample::Node(number), words);
            }
            flow.end_row();
        }
        (flow.entries, flow.y + 6.0)
    }

    fn edge_words(&self, row: &Row) -> String {
        let node = &self.nodes[row.node];
        match row.rest {
            Some(_) if self.is_plan => return node.name.to_string(),
            Some(0) => return format!("{}: none of their hops stands out", node.name),
            Some(_) => return format!("{}: some of their hops stand out", node.name),
            None => {}
        }
        let parent = row.parent.map(|parent| &self.nodes[self.rows[parent].node]);
        let parent = parent.map_or(String::new(), |parent| {
            format!("{} ({})", parent.name, parent.host)
        });
        let mut words = format!("{} ({}), child of {parent}", node.name, node.host);
        let to = node.other_parent.as_ref();
        let to = to.map_or("to the parent".to_owned(), |to| format!("to {to}"));
        for (what, time, sent) in [
            (to, node.down, node.sent_down),
            ("from the parent".to_owned(), node.up, node.sent_up),
        ] {
            if let Some(time) = time {
                words.push_str(&format!("\ntransfer {what}: {}", time.words()));
            }
            if let Some(sent) = sent {
                words.push_str(&format!(
                    "\nmessages {what}: {}, {} ({} in an instance)",
                    counted_grouped(sent.n, "message"),
                    size(sent.bytes),
                    per_instance(sent)
                ));
            }
        }
        words
    }

    fn node_words(&self, node: &TreeNode) -> String {
        let wait = match node.wait {
            Some(wait) => format!("\n{}: {}", self.waits.words(), wait.words()),
            None if self.is_plan => String::new(),
            None => "\nwait not known".to_owned(),
        };
        format!("{} ({}){wait}", node.name, node.host)
    }

    fn description(&self) -> String {
        if self.is_plan {
            return format!("{}.", self.subtitle());
        }
        let mut text = format!("Tree of {}.", self.subtitle());
        let slowest = self.rows.iter().filter(|row| row.parent.is_some());
        let slowest = slowest.max_by_key(|row| {
            let node = &self.nodes[row.node];
            longest([node.down, node.up].into_iter())
        });
        if let Some(row) = slowest {
            let words = self.edge_words(row).replace('\n', ", ");
            text.push_str(&format!(" Slowest hop: {words}."));
        }
        text
    }
}

/// Number of shades of times.
const N_STEPS: usize = 7;

/// The step of a time, in equal steps up to the longest.
fn step(ns: i64, longest: i64) -> usize {
    let part = ns.max(0) as f64 / longest.max(1) as f64;
    ((part * N_STEPS as f64).ceil() as usize).clamp(1, N_STEPS) - 1
}

fn longest(times: impl Iterator<Item = Option<StageTime>>) -> i64 {
    times.flatten().map(StageTime::mean_ns).max().unwrap_or(0)
}

/// `256 × 64 KiB`: messages per instance, and bytes per message.
fn per_instance(sent: Messages) -> String {
    let n = sent.n as f64 / sent.instances.max(1) as f64;
    let n = if n >= 10.0 {
        n.round()
    } else {
        (n * 10.0).round() / 10.0
    };
    let bytes = sent.bytes / sent.n.max(1);
    format!("{} × {}", tick(n), size(bytes).replace(" bytes", " B"))
}

fn draw_columns(sheet: &Sheet, columns: &[Column], top: f64, height: f64, id: &str) {
    for column in columns {
        let head = at(column.left, top - 8.0);
        sheet.text(head, Anchor::Start, "minor", column.name);
        for (row, time) in column.times.iter().enumerate() {
            let y = top + height * row as f64;
            let text_y = y + height / 2.0 + 4.0;
            let Some(time) = time else {
                continue;
            };
            let part = time.mean_ns().max(0) as f64 / column.longest.max(1) as f64;
            let right = column.left + column.width * part;
            let (from, to) = (at(column.left, y + 2.0), at(right, y + height - 2.0));
            match column.colors[row] {
                _ if !time.is_resolved() => sheet.hatched(id, from, to),
                Some(color) => sheet.rectangle(&format!("field{color}"), from, to),
                None => sheet.rectangle("bar", from, to),
            }
            let number = match time.error_ns() {
                Some(error_ns) if !time.is_resolved() => format!("±{}", duration_of(error_ns)),
                _ => duration(time.mean_ns()),
            };
            let text = at(right + 4.0, text_y);
            let words = format!("{number}{}", column.notes[row]);
            sheet.text(text, Anchor::Start, "minor", &words);
        }
    }
}

/// What stands before the words of an entry of the legend.
#[derive(Debug, Clone, Copy)]
enum Sample {
    None,
    /// A line of this colour; dashed without.
    Hop(Option<usize>),
    /// A field of this shade.
    Node(usize),
}

/// One entry of the legend and its position.
struct Entry {
    sample: Sample,
    words: String,
    x: f64,
    y: f64,
}

impl Entry {
    fn draw(&self, sheet: &Sheet) {
        let (x, y) = (self.x, self.y);
        let text = match self.sample {
            Sample::None => x,
            _ => x + SWATCH + 6.0,
        };
        match self.sample {
            Sample::None => {}
            Sample::Hop(color) => {
                let class = match color {
                    Some(color) => format!("hop{color}"),
                    None => "hop-unknown".to_owned(),
                };
                sheet.group(&class, &[], "", || {
                    sheet.polyline("way", &[at(x, y), at(x + SWATCH, y)]);
                });
            }
            Sample::Node(number) => {
                let (from, to) = (at(x, y - 6.0), at(x + SWATCH, y + 6.0));
                sheet.rectangle(&format!("step{number}"), from, to);
            }
        }
        sheet.text(at(text, y + 4.0), Anchor::Start, "minor", &self.words);
    }
}

/// Entries from left to right, with a new row where there is no room.
struct Flow {
    entries: Vec<Entry>,
    x: f64,
    y: f64,
}

impl Flow {
    fn new(y: f64) -> Flow {
        Flow {
            entries: Vec::new(),
            x: f64::from(MARGIN),
            y,
        }
    }

    fn add(&mut self, sample: Sample, words: String) {
        let swatch = match sample {
            Sample::None => 0.0,
            _ => SWATCH + 6.0,
        };
        let width = swatch + text_width(&words, 11.0);
        if self.x > f64::from(MARGIN) && self.x + width > f64::from(WIDTH - MARGIN) {
            self.end_row();
        }
        let (x, y) = (self.x, self.y);
        self.entries.push(Entry {
            sample,
            words,
            x,
            y,
        });
        self.x += width + 14.0;
    }

    fn end_row(&mut self) {
        (self.x, self.y) = (f64::from(MARGIN), self.y + LEGEND_ROW);
    }
}
