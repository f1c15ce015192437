//! The message matrix: who sends to whom, and how long it takes.

use collbench_text::quantity::{counted_grouped, size};

use crate::Text;
use crate::frame::{Head, MARGIN, WIDTH};
use crate::hops::{Grade, Kind, Medians};
use crate::style::{HEAT, TREE};
use crate::svg::{Anchor, Sheet, at, text_width};
use crate::timemap::{Heading, StageTime};

/// The messages from one process to another.
#[derive(Debug, Clone, Copy)]
pub struct Traffic {
    /// Index of the sender.
    pub from: usize,
    /// Index of the receiver.
    pub to: usize,
    /// Number of messages.
    pub messages: u64,
    /// Sum of their bytes.
    pub bytes: u64,
    /// Mean transfer time of a message, if it is known.
    pub transfer: Option<StageTime>,
}

/// Senders x receivers: a cell for each pair with messages, coloured where the mean transfer time is
/// longer than is usual within a host or between hosts.
#[derive(Debug, Clone)]
pub struct MessageMatrix {
    heading: Heading,
    /// Name and host of each process.
    processes: Vec<(Text, Text)>,
    traffic: Vec<Traffic>,
}

// All in px.
const LEFT: f64 = 150.0;
const SIZE: f64 = 640.0;
const CELL: (f64, f64) = (2.0, 34.0);
const LABEL: f64 = 13.0;
const ABOVE: f64 = 62.0;
const LEGEND: f64 = 40.0;
const LEGEND_ROW: f64 = 18.0;
/// With more cells than this, cells have no tooltips, to keep the picture small.
const MAX_TOOLTIPS: usize = 4_096;

impl MessageMatrix {
    /// A matrix of these processes, grouped by host. Traffic of other processes is ignored; of
    /// several entries for a pair the last one is visible.
    pub fn new(
        heading: Heading,
        processes: Vec<(Text, Text)>,
        traffic: impl IntoIterator<Item = Traffic>,
    ) -> MessageMatrix {
        let order = by_host(&processes);
        let mut places = vec![0; processes.len()];
        for (place, &process) in order.iter().enumerate() {
            places[process] = place;
        }
        let traffic = traffic.into_iter().filter_map(|found| {
            let (from, to) = (*places.get(found.from)?, *places.get(found.to)?);
            Some(Traffic { from, to, ..found })
        });
        MessageMatrix {
            heading,
            traffic: traffic.collect(),
            processes: order.iter().map(|&at| processes[at].clone()).collect(),
        }
    }

    /// The picture; see [`Picture::draw`](crate::Picture::draw).
    pub(crate) fn draw(&self, id: &str) -> String {
        let messages: u64 = self.traffic.iter().map(|traffic| traffic.messages).sum();
        let subtitle = format!(
            "{}, {}, {}; mean transfer times",
            self.heading.operation,
            counted_grouped(self.heading.n_instances, "instance"),
            counted_grouped(messages, "message"),
        );
        let head = Head::new(&self.heading.finding, &subtitle);
        let n = self.processes.len().max(1);
        let cell = (SIZE / n as f64).clamp(CELL.0, CELL.1);
        let top = f64::from(head.bottom()) + ABOVE;
        let side = cell * n as f64;
        let kind = |traffic: &Traffic| {
            Kind::of(
                &self.processes[traffic.from].1,
                &self.processes[traffic.to].1,
            )
        };
        let known = self.traffic.iter();
        let medians = Medians::of(known.filter_map(|of| Some((kind(of), of.transfer?))));
        let grade = |traffic: &Traffic| medians.grade(kind(traffic), traffic.transfer);
        let grades: Vec<Grade> = self.traffic.iter().map(grade).collect();
        let used = Grade::ALL
            .into_iter()
            .filter(|grade| grades.contains(grade));
        let legend: Vec<(Grade, String)> = used.map(|of| (of, medians.words(of))).collect();
        let sheet = Sheet::new(
            WIDTH.max((LEFT + side) as u32 + MARGIN),
            (top + side + LEGEND + LEGEND_ROW * legend.len() as f64) as u32,
        );
        head.draw(&sheet);
        let (from, to) = (at(LEFT, top), at(LEFT + side, top + side));
        sheet.rectangle("bar-room", from, to);
        let has_tooltips = self.traffic.len() <= MAX_TOOLTIPS;
        for (traffic, grade) in self.traffic.iter().zip(&grades) {
            let (x, y) = (
                LEFT + cell * traffic.to as f64,
                top + cell * traffic.from as f64,
            );
            let class = class(*grade);
            let draw = || sheet.rectangle(&class, at(x, y), at(x + cell, y + cell));
            if has_tooltips {
                let ends = [traffic.from, traffic.to].map(|end| self.processes[end].0.rank());
                let ranks = ends.into_iter().flatten().collect::<Vec<_>>().join(" ");
                sheet.group("cell", &[("ranks", &ranks)], &self.words(traffic), draw)
            } else {
                draw()
            }
        }
        self.draw_hosts(&sheet, top, cell);
        sheet.rectangle("frame", from, to);
        self.draw_names(&sheet, top, cell);
        draw_legend(&sheet, top + side + 24.0, &legend);
        let description = format!("Message matrix of {subtitle}.");
        sheet.finish(id, &self.heading.finding, &description, &[HEAT, TREE])
    }

    fn words(&self, traffic: &Traffic) -> String {
        let name = |process: usize| {
            let (name, host) = &self.processes[process];
            format!("{name} ({host})")
        };
        let mean = match traffic.transfer {
            Some(time) => format!("mean transfer {}", time.words()),
            None => "transfer not resolvable".to_owned(),
        };
        format!(
            "{} to {}: {}, {}\n{mean}",
            name(traffic.from),
            name(traffic.to),
            counted_grouped(traffic.messages, "message"),
            size(traffic.bytes),
        )
    }

    /// Lines between hosts.
    fn draw_hosts(&self, sheet: &Sheet, top: f64, cell: f64) {
        let side = cell * self.processes.len() as f64;
        let mut before = 0;
        let host = |process: &(Text, Text)| process.1.clone();
        for run in self.processes.chunk_by(|a, b| host(a) == host(b)) {
            let offset = cell * before as f64;
            if before > 0 {
                let ends = [
                    [at(LEFT, top + offset), at(LEFT + side, top + offset)],
                    [at(LEFT + offset, top), at(LEFT + offset, top + side)],
                ];
                ends.iter().for_each(|ends| sheet.polyline("border", ends));
            }
            before += run.len();
        }
    }

    /// Processes whose names are shown, at least `every` cells apart; the first of each host is
    /// preferred.
    fn named(&self, every: usize) -> Vec<usize> {
        let n = self.processes.len();
        let (mut named, mut free, mut first) = (Vec::new(), 0, 0);
        for run in self.processes.chunk_by(|a, b| a.1 == b.1) {
            let end = first + run.len();
            // Just before the first of the next host.
            let last = if end == n {
                n
            } else {
                end.saturating_sub(every - 1)
            };
            for number in (free.max(first)..end).step_by(every) {
                if number == first || number < last {
                    named.push(number);
                    free = number + every;
                }
            }
            first = end;
        }
        named
    }

    /// As many names as there is room for, and hosts whose rows are adjacent.
    fn draw_names(&self, sheet: &Sheet, top: f64, cell: f64) {
        let every = (LABEL / cell).ceil().max(1.0) as usize;
        for number in self.named(every) {
            let y = top + cell * (number as f64 + 0.5) + 4.0;
            let name = self.processes[number].0.cut(10);
            sheet.text(at(LEFT - 8.0, y), Anchor::End, "minor", &name);
        }
        let middle = LEFT + cell * self.processes.len() as f64 / 2.0;
        sheet.text(at(LEFT - 8.0, top - 22.0), Anchor::End, "minor", "sender ↓");
        sheet.text(
            at(middle, top - 22.0),
            Anchor::Middle,
            "minor",
            "receiver (rank) →",
        );
        // Names of columns are wider than a cell, so numbers are shown, with a gap like that between
        // words at least.
        let numbers = self
            .processes
            .iter()
            .map(|process| text_width(last_word(&process.0), 11.0));
        let widest = numbers.fold(0.0, f64::max) + 14.0;
        let every = (widest / cell).ceil().max(1.0) as usize;
        for number in self.named(every) {
            let x = LEFT + cell * (number as f64 + 0.5);
            let short = last_word(&self.processes[number].0);
            sheet.text(at(x, top - 6.0), Anchor::Middle, "minor", short);
        }
        let (mut before, mut free) = (0, top);
        for run in self.processes.chunk_by(|a, b| a.1 == b.1) {
            let y = top + cell * before as f64 + LABEL;
            if y >= free {
                let host = run[0].1.cut(11);
                sheet.text(at(f64::from(MARGIN), y), Anchor::Start, "minor", &host);
                free = y + LABEL;
            }
            before += run.len();
        }
    }
}

/// The processes grouped by host, in the order of the first process of each; otherwise in their own
/// order.
fn by_host(processes: &[(Text, Text)]) -> Vec<usize> {
    let mut hosts: Vec<&Text> = Vec::new();
    let mut order: Vec<(usize, usize)> = Vec::new();
    for (process, (_, host)) in processes.iter().enumerate() {
        let known = hosts.iter().position(|known| *known == host);
        let number = known.unwrap_or_else(|| {
            hosts.push(host);
            hosts.len() - 1
        });
        order.push((number, process));
    }
    order.sort_unstable();
    order.into_iter().map(|(_, process)| process).collect()
}

fn last_word(name: &Text) -> &str {
    let name = name.as_str();
    name.rsplit(' ').next().unwrap_or(name)
}

/// The class of a cell.
fn class(grade: Grade) -> String {
    match grade.color() {
        Some(color) => format!("field{color}"),
        None => "unknown".to_owned(),
    }
}

/// One row for each grade that the picture has.
fn draw_legend(sheet: &Sheet, top: f64, legend: &[(Grade, String)]) {
    let left = f64::from(MARGIN);
    for (row, (grade, words)) in legend.iter().enumerate() {
        let y = top + LEGEND_ROW * row as f64;
        let (from, to) = (at(left, y - 6.0), at(left + 24.0, y + 6.0));
        sheet.rectangle(&class(*grade), from, to);
        let text = at(left + 32.0, y + 4.0);
        sheet.text(text, Anchor::Start, "minor", &format!("transfer: {words}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(hosts: &[usize], every: usize) -> Vec<usize> {
        let of_host = |(host, &n): (usize, &usize)| {
            let name = move |_| ("rank".into(), format!("n{host}").into());
            (0..n).map(name).collect::<Vec<(Text, Text)>>()
        };
        let heading = Heading {
            finding: "".into(),
            operation: "".into(),
            n_instances: 1,
        };
        let processes = hosts.iter().enumerate().flat_map(of_host).collect();
        MessageMatrix::new(heading, processes, []).named(every)
    }

    #[test]
    fn the_first_of_each_host_is_named_and_others_where_there_is_room() {
        assert_eq!(named(&[4, 4], 1), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(named(&[8, 8], 3), [0, 3, 8, 11, 14]);
        assert_eq!(named(&[8, 8], 6), [0, 8, 14]);
        assert_eq!(named(&[2, 2, 2, 2], 3), [0, 4, 7]);
        assert!(named(&[], 3).is_empty());
    }
}
