//! Drawing of a timeline of instances.

use std::cmp::Reverse;

use collbench_text::quantity::{TimeUnit, counted_grouped, duration, grouped, size, tick};
use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;
use plotters_backend::BackendCoord;

use super::rows::{Chosen, RowGroup};
use super::{InstanceTimeline, TimelineCall, TimelineInstance, TimelineMessage};
use crate::frame::{Head, MARGIN, WIDTH};
use crate::heat_map::MAX_ROWS;
use crate::hops::{Grade, Kind, Medians};
use crate::style::TIMELINE;
use crate::svg::{Anchor, Sheet, at, fit, rules_below, text_width};
use crate::timemap::StageTime;

// All in px.
const LEFT: f64 = 172.0;
const RIGHT: f64 = WIDTH as f64 - MARGIN as f64;
const NAME_WIDTH: f64 = 96.0;
const HOST_WIDTH: f64 = 50.0;
const ABOVE: f64 = 20.0;
const WORDS_ABOVE: f64 = 8.0;
const AXIS: f64 = 44.0;
const LEGEND_ROW: f64 = 20.0;
const TEXT_LINE: f64 = 13.0;
const SMALL: f64 = 11.0;
/// How much wider bold letters are.
const BOLD: f64 = 1.12;
const SWATCH: f64 = 30.0;
/// Rows below this height have narrow margins.
const LOW_ROW: f64 = 6.0;
/// Height of the bar by which one is late.
const LATE: f64 = 4.0;
/// Length and half the width of the head of an arrow.
const HEAD: (f64, f64) = (6.0, 3.0);

/// With more calls, or more than 64 ranks, only rows have a tooltip, to keep the picture small.
const MAX_CALLS_WITH_TOOLTIPS: usize = 1_500;

/// Locations of the parts.
struct Layout {
    top: f64,
    bottom: f64,
    rows: Vec<RowGroup>,
    /// The ranks that have a row, unless all do.
    chosen: Chosen,
    legend: Vec<Entry>,
    height: u32,
}

/// An entry of the legend: its left end, px, and its row.
struct Entry {
    class: &'static str,
    words: &'static str,
    x: f64,
    row: usize,
}

/// A part of a call: whether it is low, and from when until when, ns.
struct Part {
    class: &'static str,
    from_ns: i64,
    to_ns: i64,
}

impl InstanceTimeline {
    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        self.sheet(id)
            .finish(id, &self.finding, &self.description(), &[TIMELINE])
    }

    /// The picture without its style, for a page with many of them.
    pub(crate) fn draw_plain(&self, id: &str) -> String {
        let classes = format!("picture {CLASS}");
        let (finding, description) = (self.finding.as_str(), self.description());
        let sheet = self.sheet(id);
        sheet.finish_without_style((id, &classes), finding, &description)
    }

    fn sheet(&self, id: &str) -> Sheet {
        let chosen = self.chosen();
        let arrows = self.arrows(&chosen);
        let medians = self.medians();
        let has_slow = arrows.iter().any(|message| self.is_slow(&medians, message));
        let head = Head::new(&self.finding, &self.full_subtitle(&chosen, arrows.len()));
        let legend = self.legend((!arrows.is_empty(), has_slow));
        let layout = self.layout(&head, chosen, legend);
        let sheet = head.sheet(layout.height);
        self.draw_rows(&sheet, &layout);
        sheet.group("plot", &[], "", || {
            self.draw_calls(&sheet, &layout, id);
            self.draw_last(&sheet, &layout);
            for message in &arrows {
                let is_slow = self.is_slow(&medians, message);
                self.draw_arrow(&sheet, &layout, message, is_slow);
            }
        });
        self.draw_names(&sheet, &layout);
        self.draw_axis(&sheet, &layout);
        self.draw_legend(&sheet, &layout, id);
        sheet
    }

    fn layout(&self, head: &Head, chosen: Chosen, legend: Vec<Entry>) -> Layout {
        let words = if chosen.is_empty() { 0.0 } else { WORDS_ABOVE };
        let top = f64::from(head.bottom()) + ABOVE + words;
        let rows = self.rows(top, &chosen);
        let bottom = rows.last().map_or(top, RowGroup::bottom).max(top + 26.0);
        let n_legend_rows = legend.last().map_or(1, |entry| entry.row + 1);
        Layout {
            top,
            bottom,
            rows,
            chosen,
            height: (bottom + AXIS + LEGEND_ROW * n_legend_rows as f64 + 6.0).ceil() as u32,
            legend,
        }
    }

    fn full_subtitle(&self, chosen: &Chosen, n_arrows: usize) -> String {
        let n_messages: usize = self.messages_among(chosen).count();
        let among = if chosen.is_empty() {
            ""
        } else {
            " between ranks with a row"
        };
        let shown = match n_messages {
            0 => String::new(),
            n if n == n_arrows => format!("; {}{among}", counted_grouped(n as u64, "message")),
            n if n_arrows == 0 => format!(
                "; {}, too short to be shown at this scale",
                counted_grouped(n as u64, "message")
            ),
            n => format!(
                "; the {} messages that took longest, of {}{among}",
                grouped(n_arrows as u64),
                grouped(n as u64)
            ),
        };
        format!("{}{shown}", self.subtitle)
    }

    fn description(&self) -> String {
        let calls = self
            .instances
            .iter()
            .map(|instance| instance.calls.len() as u64);
        format!(
            "Timeline of {} of {}, {} long.",
            counted_grouped(calls.sum(), "call"),
            counted_grouped(self.ranks.len() as u64, "rank"),
            duration(self.stretch_ns.1.saturating_sub(self.stretch_ns.0)),
        )
    }

    /// Place of a time, within the plot.
    fn x(&self, ns: i64) -> f64 {
        let (begin, end) = self.stretch_ns;
        let part = (ns as f64 - begin as f64) / (end as f64 - begin as f64);
        LEFT + part.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    /// A time on the axis: `1.20 ms`, or before 0 `-3.00 us`.
    fn when(&self, ns: i64) -> String {
        match ns.saturating_sub(self.origin.0) {
            before @ ..0 => format!("-{}", duration(before.saturating_neg())),
            after => duration(after),
        }
    }

    /// Every other row has a background.
    fn draw_rows(&self, sheet: &Sheet, layout: &Layout) {
        let rows = layout.rows.iter().step_by(2);
        let rows = rows.map(|row| (at(LEFT, row.top), at(RIGHT, row.bottom())));
        sheet.rectangles("row", &rows.collect::<Vec<_>>());
    }

    fn draw_calls(&self, sheet: &Sheet, layout: &Layout, id: &str) {
        let n_calls: usize = self.instances.iter().map(|of| of.calls.len()).sum();
        let is_by_call = self.ranks.len() <= MAX_ROWS && n_calls <= MAX_CALLS_WITH_TOOLTIPS;
        // Those that happened beside it do not hide it.
        let mut instances: Vec<&TimelineInstance> = self.instances.iter().collect();
        instances.sort_by_key(|instance| !instance.is_beside);
        for row in &layout.rows {
            let calls = instances.iter().flat_map(|instance| {
                let calls = instance.calls.iter();
                calls.filter_map(|call| Some((*instance, call, self.index_of(call.rank)?)))
            });
            let calls: Vec<_> = calls
                .filter(|(.., rank)| row.ranks.contains(rank))
                .collect();
            if is_by_call || (row.is_apart && layout.chosen.is_empty()) {
                for (instance, call, rank) in calls {
                    let words = self.words(instance, call);
                    let data = [("ranks", row.numbers.as_str())];
                    sheet.group(class_of(instance), &data, &words, || {
                        let drawn = [(call, rank)];
                        self.draw_parts(sheet, row, &drawn, id);
                    });
                }
                continue;
            }
            let words = self.row_words(row, &calls);
            for is_beside in [true, false] {
                let of_kind = calls.iter().filter(|(of, ..)| of.is_beside == is_beside);
                let drawn: Vec<(&TimelineCall, usize)> =
                    of_kind.map(|&(_, call, rank)| (call, rank)).collect();
                if drawn.is_empty() {
                    continue;
                }
                let class = if is_beside { "call beside" } else { "call" };
                let words = if is_beside { "" } else { words.as_str() };
                sheet.group(class, &[("ranks", &row.numbers)], words, || {
                    self.draw_parts(sheet, row, &drawn, id);
                });
            }
        }
    }

    /// The parts of some calls in a row, one shape for each kind.
    fn draw_parts(
        &self,
        sheet: &Sheet,
        row: &RowGroup,
        calls: &[(&TimelineCall, usize)],
        id: &str,
    ) {
        let mut shapes: Vec<(&str, Vec<(BackendCoord, BackendCoord)>)> = Vec::new();
        for &(call, rank) in calls {
            let top = row.top_of(rank);
            for part in parts(call) {
                let (begin, end) = self.stretch_ns;
                if part.to_ns < begin || part.from_ns > end {
                    continue;
                }
                let (from, to) = (self.x(part.from_ns), self.x(part.to_ns));
                // Narrow ones must remain visible.
                let to = to.max(from + 0.4);
                let share = match part.class {
                    // Of low rows it must remain visible.
                    "wait" if row.height < LOW_ROW => 0.15,
                    _ if row.height < LOW_ROW => 0.0,
                    "wait" => 0.3,
                    "pending" => 0.42,
                    _ => 0.12,
                };
                let is_line = row.height < 3.0;
                let margin = if is_line { 0.0 } else { row.height * share };
                let corners = (at(from, top + margin), at(to, top + row.height - margin));
                match shapes.iter_mut().find(|(class, _)| *class == part.class) {
                    Some((_, shapes)) => shapes.push(corners),
                    None => shapes.push((part.class, vec![corners])),
                }
            }
        }
        for (class, corners) in &shapes {
            if *class == "unknown" {
                sheet.rectangles("wait", corners);
                sheet.hatched_all(id, corners);
            } else {
                sheet.rectangles(class, corners);
            }
        }
    }

    /// Who arrives last: a line through all rows, and words before its call.
    fn draw_last(&self, sheet: &Sheet, layout: &Layout) {
        let about = self.instances.iter().filter(|instance| !instance.is_beside);
        let mut about = about.filter_map(|instance| Some((instance, instance.last?)));
        let (Some((instance, (rank, excess_ns))), None) = (about.next(), about.next()) else {
            return;
        };
        let call = instance.calls.iter().find(|call| call.rank == rank);
        let (Some(call), Some(index)) = (call, self.index_of(rank)) else {
            return;
        };
        let x = self.x(call.enter_ns);
        let ends = [at(x, layout.top - 4.0), at(x, layout.bottom)];
        sheet.polyline("arrival", &ends);
        let Some(row) = layout.rows.iter().find(|row| row.ranks.contains(&index)) else {
            return;
        };
        let has_text = row.height >= TEXT_LINE - 4.0;
        if instance.is_late && excess_ns > 0 {
            // Below the words, as long as they say.
            let next = self.x(call.enter_ns.saturating_sub(excess_ns));
            let bottom = row.top_of(index) + row.height;
            let height = if has_text { LATE } else { row.height };
            sheet.rectangle("late", at(next, bottom - height), at(x, bottom));
        }
        if !has_text {
            return;
        }
        let words = format!("{}, {} after the next", is_last(call), duration(excess_ns));
        let y = row.top_of(index) + row.height / 2.0 + 4.0;
        let room = text_width(&words, SMALL) * BOLD + 8.0;
        if x - room > LEFT {
            sheet.text(at(x - 4.0, y), Anchor::End, "label", &words);
        }
    }

    /// The messages that are drawn, the slowest on top.
    fn arrows(&self, chosen: &Chosen) -> Vec<TimelineMessage> {
        let (begin, end) = self.stretch_ns;
        let shortest_ns = (end.saturating_sub(begin) as f64 * self.shortest_arrow) as i64;
        let is_inside = |message: &TimelineMessage| {
            let length_ns = message.received_ns.saturating_sub(message.sent_ns);
            message.sent_ns <= end && message.received_ns >= begin && length_ns >= shortest_ns
        };
        let mut arrows: Vec<TimelineMessage> =
            self.messages_among(chosen).filter(is_inside).collect();
        arrows.sort_by_key(|message| {
            (
                Reverse(message.transfer_ns()),
                message.sent_ns,
                message.from,
                message.to,
            )
        });
        arrows.truncate(self.max_arrows);
        arrows.reverse();
        arrows
    }

    /// The median transfer times within hosts and between them.
    fn medians(&self) -> Medians {
        let known: Vec<(Kind, StageTime)> = self
            .messages()
            .filter_map(|message| self.transfer(&message))
            .collect();
        Medians::of(known.into_iter())
    }

    /// Whether a message takes far longer than others of its kind.
    fn is_slow(&self, medians: &Medians, message: &TimelineMessage) -> bool {
        let transfer = self.transfer(message);
        transfer.is_some_and(|(kind, time)| medians.grade(kind, Some(time)) >= Grade::Above(1))
            && transfer.is_some_and(|(_, time)| time.is_resolved())
    }

    /// Kind and transfer time of a message.
    fn transfer(&self, message: &TimelineMessage) -> Option<(Kind, StageTime)> {
        let host = |rank| Some(&self.ranks[self.index_of(rank)?].host);
        let kind = Kind::of(host(message.from)?, host(message.to)?);
        Some((kind, StageTime::new(message.transfer_ns(), 1)?))
    }

    /// Messages of the instances that the picture is about.
    fn messages(&self) -> impl Iterator<Item = TimelineMessage> {
        let about = self.instances.iter().filter(|instance| !instance.is_beside);
        about.flat_map(|instance| instance.messages.iter().copied())
    }

    /// Those between ranks with a row.
    fn messages_among<'a>(&'a self, chosen: &'a Chosen) -> impl Iterator<Item = TimelineMessage> {
        let has_row = |rank: u32| {
            let index = self.index_of(rank);
            chosen.is_empty() || index.is_some_and(|index| chosen.has(index))
        };
        self.messages()
            .filter(move |message| has_row(message.from) && has_row(message.to))
    }

    fn draw_arrow(&self, sheet: &Sheet, layout: &Layout, message: &TimelineMessage, is_slow: bool) {
        let middle = |rank: u32| {
            let index = self.index_of(rank)?;
            let is_apart = !layout.chosen.is_empty();
            let mut rows = layout.rows.iter().filter(|row| row.is_apart == is_apart);
            let row = rows.find(|row| row.ranks.contains(&index))?;
            Some(row.top_of(index) + row.height / 2.0)
        };
        let (Some(from), Some(to)) = (middle(message.from), middle(message.to)) else {
            return;
        };
        let (x, end) = (self.x(message.sent_ns), self.x(message.received_ns));
        let ranks = format!("{} {}", message.from, message.to);
        let words = self.message_words(message);
        let class = if is_slow { "message slow" } else { "message" };
        sheet.group(class, &[("ranks", &ranks)], &words, || {
            sheet.polyline("", &[at(x, from), at(end, to)]);
            // Upright, since a picture that is zoomed in time keeps heads as they are.
            let back = to + if from < to { -HEAD.0 } else { HEAD.0 };
            let mark = [at(end, to), at(end - HEAD.1, back), at(end + HEAD.1, back)];
            let data = format!("{:.1}", end);
            sheet.group("head", &[("x", &data)], "", || sheet.polygon(&mark));
        });
    }

    /// What a call says.
    fn words(&self, instance: &TimelineInstance, call: &TimelineCall) -> String {
        let host = self
            .index_of(call.rank)
            .map_or("", |index| self.ranks[index].host.as_str());
        let waits = match (call.wait_ns, call.released_by) {
            (None, _) => "wait not known".to_owned(),
            (Some(ns @ 1..), Some(rank)) => format!("waits {} for rank {rank}", duration(ns)),
            (Some(ns @ 1..), None) => format!("waits {}", duration(ns)),
            (Some(_), _) => "does not wait".to_owned(),
        };
        let last = match instance.last {
            Some((rank, excess_ns)) if rank == call.rank => {
                format!(
                    "\n{}, {} after the next",
                    is_last(call),
                    duration(excess_ns)
                )
            }
            _ => String::new(),
        };
        let through = match call.completion_ns {
            Some((_, completion_ns)) => {
                format!(
                    "initiated at {}, completed from {}",
                    self.when(call.enter_ns),
                    self.when(completion_ns)
                )
            }
            None => format!("from {}", self.when(call.enter_ns)),
        };
        format!(
            "rank {} ({host}), {}\n{through} to {}: {waits}{last}",
            call.rank,
            instance.name,
            self.when(call.leave_ns),
        )
    }

    /// What the calls of a row say.
    fn row_words(
        &self,
        row: &RowGroup,
        calls: &[(&TimelineInstance, &TimelineCall, usize)],
    ) -> String {
        let about = || calls.iter().filter(|(of, ..)| !of.is_beside);
        let mut first_about = about();
        if let (Some((instance, call, _)), None) = (first_about.next(), first_about.next()) {
            return self.words(instance, call);
        }
        let about = || about().map(|(_, call, _)| *call);
        let enters = || about().map(|call| call.enter_ns);
        let leaves = about().map(|call| call.leave_ns);
        let (Some(first), Some(last), Some(leave)) = (enters().min(), enters().max(), leaves.max())
        else {
            return format!("{} ({})", row.name, row.host);
        };
        let longest = about().filter_map(|call| call.wait_ns).max();
        let waits = longest.map_or_else(
            || "waits not known".to_owned(),
            |ns| format!("wait at most {}", duration(ns)),
        );
        format!(
            "{} ({}): enter from {} to {}, {waits}, leave until {}",
            row.name,
            row.host,
            self.when(first),
            self.when(last),
            self.when(leave)
        )
    }

    fn message_words(&self, message: &TimelineMessage) -> String {
        let transfer_ns = message.received_ns.saturating_sub(message.sent_ns);
        let late_ns = message.posted_ns.saturating_sub(message.sent_ns);
        let late = match (late_ns > 0, message.transfer_ns()) {
            (true, ns @ 0..) => format!(
                "\nthe receiver was ready {} after it was sent, and had it {} later",
                duration(late_ns),
                duration(ns)
            ),
            _ => String::new(),
        };
        format!(
            "rank {} to rank {}: {}\nsent at {}, received {} later{late}",
            message.from,
            message.to,
            size(message.bytes),
            self.when(message.sent_ns),
            if transfer_ns < 0 {
                format!("-{}", duration(transfer_ns.saturating_neg()))
            } else {
                duration(transfer_ns)
            },
        )
    }

    /// Names of rows and hosts, as many as there is room for, and which ranks have a row.
    fn draw_names(&self, sheet: &Sheet, layout: &Layout) {
        let below = layout.rows.iter().find(|row| !row.is_apart);
        if let Some(below) = below.filter(|_| !layout.chosen.is_empty()) {
            let words = layout.chosen.words(self.ranks.len());
            sheet.text(at(LEFT, layout.top - 7.0), Anchor::Start, "minor", &words);
            let words = format!("all {} ranks", grouped(self.ranks.len() as u64));
            sheet.text(
                at(LEFT + 6.0, below.top - 8.0),
                Anchor::Start,
                "minor",
                &words,
            );
        }
        let (mut free, mut free_host) = (layout.top - TEXT_LINE, layout.top - TEXT_LINE);
        let mut host = None;
        for row in &layout.rows {
            let middle = (row.top + row.bottom()) / 2.0;
            if middle - TEXT_LINE / 2.0 >= free - 0.5 {
                let name = fit(&row.name, NAME_WIDTH, SMALL);
                let class = if row.is_on_path {
                    "minor label"
                } else {
                    "minor"
                };
                sheet.text(at(LEFT - 8.0, middle + 4.0), Anchor::End, class, &name);
                free = middle + TEXT_LINE / 2.0;
            }
            if host != Some(&row.host) && middle - TEXT_LINE / 2.0 >= free_host - 0.5 {
                let name = fit(&row.host, HOST_WIDTH, SMALL);
                sheet.text(
                    at(f64::from(MARGIN), middle + 4.0),
                    Anchor::Start,
                    "minor",
                    &name,
                );
                free_host = middle + TEXT_LINE / 2.0;
                host = Some(&row.host);
            }
        }
    }

    fn draw_axis(&self, sheet: &Sheet, layout: &Layout) {
        let bottom = layout.bottom;
        sheet.rectangle("frame", at(LEFT, layout.top), at(RIGHT, bottom));
        let (begin, end) = self.stretch_ns;
        let origin = self.origin.0 as f64;
        let (from_ns, to_ns) = (begin as f64 - origin, end as f64 - origin);
        let unit = TimeUnit::for_axis(to_ns - from_ns);
        let (from, to) = (from_ns / unit.ns, to_ns / unit.ns);
        let numbers = [LEFT, RIGHT, layout.top, bottom, from, to, DEEPEST];
        let numbers = numbers.map(|number| number.to_string());
        let names = ["left", "right", "top", "bottom", "start", "end", "deepest"];
        let data: Vec<(&str, &str)> = names
            .into_iter()
            .zip(numbers.iter().map(String::as_str))
            .collect();
        sheet.group("ticks", &data, "", || {
            for value in RangedCoordf64::from(from..to).key_points(9) {
                let x = LEFT + (value - from) / (to - from) * (RIGHT - LEFT);
                let ends = [at(x, bottom), at(x, bottom + 4.0)];
                sheet.group("axis", &[], "", || sheet.polyline("", &ends));
                sheet.text(at(x, bottom + 16.0), Anchor::Middle, "tick", &tick(value));
            }
        });
        let name = format!("time since {}, in {}", self.origin.1, unit.name);
        let middle = at((LEFT + RIGHT) / 2.0, bottom + 34.0);
        sheet.text(middle, Anchor::Middle, "minor", &name);
    }

    /// The entries of the legend: class, words and place.
    fn legend(&self, (has_messages, has_slow): (bool, bool)) -> Vec<Entry> {
        let calls = || self.instances.iter().flat_map(|instance| &instance.calls);
        let about = || {
            let about = self.instances.iter().filter(|of| !of.is_beside);
            about.flat_map(|instance| &instance.calls)
        };
        let entries = [
            ("wait", "waiting", true),
            ("work", "in the operation", true),
            (
                "unknown",
                "wait not known",
                calls().any(|call| call.wait_ns.is_none()),
            ),
            (
                "pending",
                "initiated",
                calls().any(|call| call.completion_ns.is_some()),
            ),
            (
                "beside",
                "other collectives",
                self.instances.iter().any(|of| of.is_beside),
            ),
            ("message", "message", has_messages),
            (
                "message slow",
                "slow message: more than 3 times the median",
                has_slow,
            ),
            (
                "arrival",
                if about().any(|call| call.completion_ns.is_some()) {
                    "the last initiates"
                } else {
                    "the last arrives"
                },
                self.instances
                    .iter()
                    .filter(|of| !of.is_beside && of.last.is_some())
                    .count()
                    == 1,
            ),
        ];
        let is_late = |of: &TimelineInstance| !of.is_beside && of.is_late && of.last.is_some();
        let late = (
            "late",
            "late: a cause of waiting",
            self.instances.iter().any(is_late),
        );
        let entries = entries.into_iter().chain([late]);
        let (mut x, mut row) = (f64::from(MARGIN), 0);
        let mut placed = Vec::new();
        for (class, words, _) in entries.filter(|(.., is_there)| *is_there) {
            let width = SWATCH + 6.0 + text_width(words, SMALL);
            if x + width > RIGHT {
                (x, row) = (f64::from(MARGIN), row + 1);
            }
            placed.push(Entry {
                class,
                words,
                x,
                row,
            });
            x += width + 18.0;
        }
        placed
    }

    fn draw_legend(&self, sheet: &Sheet, layout: &Layout, id: &str) {
        for &Entry {
            class,
            words,
            x,
            row,
        } in &layout.legend
        {
            let y = layout.bottom + AXIS + LEGEND_ROW * (row as f64 + 0.5);
            let half = match class {
                "wait" => 3.0,
                "late" => LATE / 2.0,
                "pending" => 1.5,
                _ => 6.0,
            };
            let (from, to) = (at(x, y - half), at(x + SWATCH, y + half));
            match class {
                "unknown" => {
                    sheet.rectangle("wait", from, to);
                    sheet.hatched(id, from, to);
                }
                "beside" => {
                    sheet.group("call beside", &[], "", || sheet.rectangle("work", from, to))
                }
                "message" | "message slow" => sheet.group(class, &[], "", || {
                    sheet.polyline("", &[at(x, y - 5.0), at(x + SWATCH, y + 5.0)]);
                }),
                "arrival" => {
                    let middle = x + SWATCH / 2.0;
                    sheet.polyline("arrival", &[at(middle, y - 8.0), at(middle, y + 8.0)]);
                }
                class => sheet.rectangle(class, from, to),
            }
            sheet.text(at(x + SWATCH + 6.0, y + 4.0), Anchor::Start, "minor", words);
        }
    }
}

/// The class of timelines in a page.
const CLASS: &str = "instances";

/// The rules of all timelines of a page.
pub(crate) fn page_style() -> String {
    rules_below(&format!(".{CLASS}"), &[TIMELINE])
}

/// How far the page zooms in.
const DEEPEST: f64 = 4_000.0;

fn class_of(instance: &TimelineInstance) -> &'static str {
    if instance.is_beside {
        "call beside"
    } else {
        "call"
    }
}

/// What the last rank does for which the others wait.
fn is_last(call: &TimelineCall) -> &'static str {
    if call.completion_ns.is_some() {
        "initiates last"
    } else {
        "arrives last"
    }
}

/// The parts of a call: what it waits, and the rest.
fn parts(call: &TimelineCall) -> Vec<Part> {
    let part = |class, from_ns, to_ns| Part {
        class,
        from_ns,
        to_ns,
    };
    let mut parts = Vec::with_capacity(4);
    let mut from_ns = call.enter_ns;
    if let Some((initiated_ns, completion_ns)) = call.completion_ns {
        parts.push(part("work", call.enter_ns, initiated_ns));
        parts.push(part("pending", initiated_ns, completion_ns));
        from_ns = completion_ns;
    }
    match call.wait_ns {
        None => parts.push(part("unknown", from_ns, call.leave_ns)),
        Some(wait_ns) => {
            let released_ns = from_ns.saturating_add(wait_ns).min(call.leave_ns);
            if released_ns > from_ns {
                parts.push(part("wait", from_ns, released_ns));
            }
            parts.push(part("work", released_ns, call.leave_ns));
        }
    }
    parts
}
