//! Drawing of a tree.

use collbench_text::quantity::{counted_grouped, duration};
use plotters_backend::BackendCoord;

use super::{Row, Tree, TreeNode};
use crate::frame::{Head, MARGIN, WIDTH};
use crate::style;
use crate::svg::{Anchor, Sheet, UNIT};
use crate::timemap::StageTime;

// All in px.
/// Right end of the tree; names of processes follow after their nodes.
const TREE: (f64, f64) = (MARGIN as f64 + 8.0, 330.0);
const NAME_WIDTH: f64 = 66.0;
const HOST_LEFT: f64 = 402.0;
const HOST_WIDTH: f64 = 118.0;
const BARS_LEFT: f64 = 530.0;
const BARS_RIGHT: f64 = WIDTH as f64 - MARGIN as f64;
/// Room for the number beside a bar.
const NUMBER_WIDTH: f64 = 58.0;
/// Room for the name of another parent.
const NOTE_WIDTH: f64 = 52.0;
/// The parent is drawn above the node, so "up" and "down" would be ambiguous.
const TO_PARENT: &str = "transfer to parent";
const ROW_HEIGHT: (f64, f64) = (13.0, 26.0);
const ROWS_HEIGHT: f64 = 460.0;
const MAX_STEP: f64 = 40.0;
const COLUMN_HEAD: f64 = 34.0;
const LEGEND: f64 = 58.0;
const LEGEND_ROW: f64 = 18.0;
const LEGEND_LEFT: f64 = 290.0;
const SWATCH: f64 = 30.0;

/// A quantity beside the rows.
struct Column {
    name: &'static str,
    left: f64,
    width: f64,
    times: Vec<Option<StageTime>>,
    /// Note after each value.
    notes: Vec<String>,
    longest: i64,
}

impl Tree {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let head = Head::new(&self.heading.finding, &self.subtitle());
        let n = self.rows.len().max(1) as f64;
        let height = (ROWS_HEIGHT / n).clamp(ROW_HEIGHT.0, ROW_HEIGHT.1);
        let top = f64::from(head.bottom()) + 12.0 + COLUMN_HEAD;
        let bottom = top + height * n;
        let sheet = Sheet::new(WIDTH, (bottom + LEGEND).ceil() as u32);
        head.draw(&sheet);
        if self.rows.is_empty() {
            sheet.text(at(TREE.0, top + 14.0), Anchor::Start, "name", "no tree");
        }
        let transfers = || self.nodes.iter().flat_map(|node| [node.down, node.up]);
        let longest_transfer = longest(transfers());
        let longest_wait = longest(self.nodes.iter().map(|node| node.wait));
        let columns = self.columns(longest_transfer, longest_wait);
        let middle = |row: usize| top + height * (row as f64 + 0.5);
        self.draw_hosts(&sheet, top, height);
        self.draw_columns(&sheet, &columns, top, height);
        let place = |row: usize| (self.x_of(&self.rows[row]), middle(row));
        for (number, row) in self.rows.iter().enumerate() {
            if let Some(parent) = row.parent {
                let node = &self.nodes[row.node];
                let down = node.down.filter(|_| node.other_parent.is_none());
                let slowest = longest([down, node.up].into_iter());
                let known = down.is_some() || node.up.is_some();
                let class = if known {
                    format!("edge{}", step(slowest, longest_transfer))
                } else {
                    "edge-unknown".to_owned()
                };
                let ((x, y), (from_x, from_y)) = (place(number), place(parent));
                sheet.group(&class, &[], &self.edge_words(row), || {
                    sheet.polyline("way", &[at(from_x, from_y), at(from_x, y), at(x, y)]);
                });
            }
        }
        let radius = (height * 0.32).clamp(3.0, 6.0);
        for (number, row) in self.rows.iter().enumerate() {
            let node = &self.nodes[row.node];
            let ((x, y), name) = (place(number), node.name.cut(12));
            let class = match node.wait {
                Some(wait) => format!("node step{}", step(wait.mean_ns(), longest_wait)),
                None => "node unknown".to_owned(),
            };
            let data = [("node", node.name.as_str())];
            sheet.group("process", &data, &self.node_words(node), || {
                let ends = (at(x - radius, y - radius), at(x + radius, y + radius));
                sheet.rectangle(&class, ends.0, ends.1);
                let text = at(x + radius + 5.0, y + 4.0);
                sheet.text(text, Anchor::Start, "minor", &name);
            });
        }
        self.draw_legend(&sheet, bottom + 22.0, longest_transfer, longest_wait);
        sheet.finish(
            id,
            self.heading.finding.as_str(),
            &self.description(),
            &[style::LIGHT, style::HEAT_LIGHT, style::TREE_LIGHT].concat(),
            &[style::DARK, style::HEAT_DARK, style::TREE_DARK].concat(),
        )
    }

    fn subtitle(&self) -> String {
        format!(
            "{}, {}, {}; mean times",
            self.heading.operation,
            counted_grouped(self.heading.n_instances, "instance"),
            counted_grouped(self.rows.len() as u64, "node"),
        )
    }

    fn x_of(&self, row: &Row) -> f64 {
        let deepest = self.rows.iter().map(|row| row.depth).max().unwrap_or(0);
        let room = TREE.1 - NAME_WIDTH - TREE.0;
        let step = (room / deepest.max(1) as f64).min(MAX_STEP);
        TREE.0 + step * row.depth as f64
    }

    fn columns(&self, longest_transfer: i64, longest_wait: i64) -> Vec<Column> {
        type Time = fn(&TreeNode) -> Option<StageTime>;
        let all: [(&'static str, Time, i64); 3] = [
            (TO_PARENT, |node| node.down, longest_transfer),
            ("transfer from parent", |node| node.up, longest_transfer),
            (self.waits.words(), |node| node.wait, longest_wait),
        ];
        let mut columns: Vec<Column> = Vec::new();
        for (name, time, longest) in all {
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
            // If no process waits, there is nothing to compare.
            if times.iter().any(Option::is_some) && longest > 0 {
                columns.push(Column {
                    name,
                    left: 0.0,
                    width: 0.0,
                    times,
                    notes: notes.collect(),
                    longest,
                });
            }
        }
        let width = (BARS_RIGHT - BARS_LEFT) / columns.len().max(1) as f64;
        for (number, column) in columns.iter_mut().enumerate() {
            let has_notes = column.notes.iter().any(|note| !note.is_empty());
            let note = if has_notes { NOTE_WIDTH } else { 0.0 };
            column.left = BARS_LEFT + width * number as f64;
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
            sheet.text(text, Anchor::Start, "minor", &host(&run[0]).cut(18));
            row += run.len();
        }
    }

    fn draw_columns(&self, sheet: &Sheet, columns: &[Column], top: f64, height: f64) {
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
                sheet.rectangle("bar", from, to);
                let text = at(right + 4.0, text_y);
                let words = format!("{}{}", duration(time.mean_ns()), column.notes[row]);
                sheet.text(text, Anchor::Start, "minor", &words);
            }
        }
    }

    fn draw_legend(&self, sheet: &Sheet, y: f64, longest_transfer: i64, longest_wait: i64) {
        let waits = format!("node: mean {}", self.waits.words());
        for (row, (words, class, longest)) in [
            (
                "edge: mean transfer in the slower direction",
                "edge",
                longest_transfer,
            ),
            (&waits, "step", longest_wait),
        ]
        .into_iter()
        .filter(|&(_, _, longest)| longest > 0)
        .enumerate()
        {
            let y = y + LEGEND_ROW * row as f64;
            let mut x = f64::from(MARGIN);
            let text = |x: &mut f64, words: &str| {
                sheet.text(at(*x, y + 4.0), Anchor::Start, "minor", words);
                *x += crate::svg::text_width(words, 11.0) + 14.0;
            };
            text(&mut x, words);
            x = x.max(LEGEND_LEFT);
            for number in [0, 2, 4, 6] {
                let class = format!("{class}{number}");
                if class.starts_with("edge") {
                    sheet.group(&class, &[], "", || {
                        sheet.polyline("way", &[at(x, y), at(x + SWATCH, y)]);
                    });
                } else {
                    let (from, to) = (at(x, y - 6.0), at(x + SWATCH, y + 6.0));
                    sheet.rectangle(&class, from, to);
                }
                x += SWATCH + 4.0;
                let limit = longest as f64 * f64::from(number + 1) / N_STEPS as f64;
                text(&mut x, &format!("to {}", duration(limit.round() as i64)));
            }
        }
    }

    fn edge_words(&self, row: &Row) -> String {
        let node = &self.nodes[row.node];
        let parent = row.parent.map(|parent| &self.nodes[self.rows[parent].node]);
        let parent = parent.map_or(String::new(), |parent| {
            format!("{} ({})", parent.name, parent.host)
        });
        let mut words = format!("{} ({}), child of {parent}", node.name, node.host);
        let to = node.other_parent.as_ref();
        let to = to.map_or("to the parent".to_owned(), |to| format!("to {to}"));
        for (what, time) in [(to, node.down), ("from the parent".to_owned(), node.up)] {
            if let Some(time) = time {
                words.push_str(&format!("\ntransfer {what}: {}", said(time)));
            }
        }
        words
    }

    fn node_words(&self, node: &TreeNode) -> String {
        let wait = match node.wait {
            Some(wait) => format!("{}: {}", self.waits.words(), said(wait)),
            None => "wait not known".to_owned(),
        };
        format!("{} ({})\n{wait}", node.name, node.host)
    }

    fn description(&self) -> String {
        let mut text = format!("Tree of {}.", self.subtitle());
        let slowest = self.rows.iter().filter(|row| row.parent.is_some());
        let slowest = slowest.max_by_key(|row| {
            let node = &self.nodes[row.node];
            longest([node.down, node.up].into_iter())
        });
        if let Some(row) = slowest {
            let words = self.edge_words(row).replace('\n', ", ");
            text.push_str(&format!(" Slowest edge: {words}."));
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

fn said(time: StageTime) -> String {
    format!(
        "{} (n = {})",
        duration(time.mean_ns()),
        collbench_text::quantity::grouped(time.n())
    )
}

fn at(x: f64, y: f64) -> BackendCoord {
    let tenths = |px: f64| (px * f64::from(UNIT)).round() as i32;
    (tenths(x), tenths(y))
}
