//! The table of operations on the screen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::OperationSummary;
use collbench_stats::integers::sum_ns;
use collbench_text::{inert, quantity};

use crate::screen::lines::{BOLD, Screen, in_two_lines, table_lines};
use crate::words;
use crate::words::arrivals::{self, LastToArrive};

/// Rows shown, at most and at least; the JSON has all operations.
pub(crate) const MAX_OPERATIONS: usize = 12;
pub(crate) const MIN_OPERATIONS: usize = 6;
/// From so many communicators of one name on, what is the same on them is one row.
const MANY: usize = 3;
/// Columns for the name of a communicator, as far as there is room, and at least.
const COMMUNICATOR: usize = 18;
const MIN_COMMUNICATOR: usize = 8;
/// Columns for the name of an operation, and for a communicator, on narrow screens, at least.
const MIN_OPERATION: usize = 8;
const MIN_COMMUNICATOR_ID: usize = 4;

/// A row: an operation, or the same operation on several communicators of one name.
struct Row<'a> {
    operations: Vec<&'a OperationSummary>,
}

/// The rows, by time. Operations are the same if they have the same name, root or none, algorithm, and power of two of
/// the payload, on communicators of one name and, where that is known, made at one place in the program, of one size.
fn rows(analysis: &Analysis) -> Vec<Row<'_>> {
    type Made<'a> = (&'a str, Option<(usize, u64)>);
    type Alike<'a> = (
        &'a str,
        Made<'a>,
        bool,
        Option<Option<u32>>,
        Option<&'a str>,
    );
    let mut rows: Vec<(Option<Alike<'_>>, Row<'_>)> = Vec::new();
    let mut known: BTreeMap<Alike<'_>, usize> = BTreeMap::new();
    for operation in &analysis.operations {
        let communicator = operation.communicator;
        let communicator = communicator.and_then(|id| analysis.communicators.get(id));
        let alike = communicator.map(|communicator| {
            (
                &*operation.operation,
                (
                    communicator.name_of_each(),
                    communicator.site.map(|site| (site, communicator.size)),
                ),
                operation.root.is_some(),
                operation.bytes_max.map(u64::checked_ilog2),
                operation.algorithm.as_deref(),
            )
        });
        let row = alike.and_then(|alike| known.get(&alike));
        match row {
            Some(&row) => rows[row].1.operations.push(operation),
            None => {
                if let Some(alike) = alike {
                    known.insert(alike, rows.len());
                }
                let operations = vec![operation];
                rows.push((alike, Row { operations }));
            }
        }
    }
    let split = rows.into_iter().flat_map(|(_, row)| {
        if row.entries().len() >= MANY {
            vec![row]
        } else {
            let each = row.operations.into_iter();
            let one = |operation| Row {
                operations: vec![operation],
            };
            each.map(one).collect()
        }
    });
    let mut rows: Vec<Row<'_>> = split.collect();
    // Stable: rows of equal time stay in the order of their first operations.
    rows.sort_by_key(|row| std::cmp::Reverse(row.time_ns()));
    rows
}

impl Row<'_> {
    fn first(&self) -> &OperationSummary {
        self.operations[0]
    }

    /// Ids of the communicators.
    fn entries(&self) -> BTreeSet<Option<usize>> {
        self.operations.iter().map(|of| of.communicator).collect()
    }

    /// Time of all calls, ns; `None` where no call returned.
    fn time_ns(&self) -> Option<i64> {
        let mut known = self.operations.iter();
        let times = || {
            let all = self.operations.iter();
            all.filter_map(|of| Some(of.call_time_ns.as_ref()?.total))
        };
        known
            .any(|of| of.call_time_ns.is_some())
            .then(|| sum_ns(times()))
    }

    fn communicator(&self, analysis: &Analysis, width: usize) -> String {
        let ids = self.entries();
        let known = ids.iter().flatten();
        let counts = known.filter_map(|&id| Some(analysis.communicators.get(id)?.count));
        match (self.first().communicator, counts.sum()) {
            (Some(id), n @ 2..) => group_cell(analysis, id, (n, ids.len()), width),
            (id, _) => communicator_cell(analysis, id, width),
        }
    }

    /// The root; of several ones `*`.
    fn root(&self) -> String {
        let root = self.first().root;
        match root {
            None => "-".to_owned(),
            Some(_) if self.operations.iter().any(|of| of.root != root) => "*".to_owned(),
            Some(root) => root.to_string(),
        }
    }

    fn bytes(&self) -> String {
        let least = self.operations.iter().filter_map(|of| of.bytes_min).min();
        let most = self.operations.iter().filter_map(|of| of.bytes_max).max();
        words::byte_range(least, most)
    }

    fn calls(&self) -> u64 {
        self.operations.iter().map(|of| of.calls).sum()
    }

    fn instances(&self) -> String {
        let instances: u64 = self.operations.iter().map(|of| of.instances).sum();
        let incomplete: u64 = self.operations.iter().map(|of| of.incomplete).sum();
        match incomplete {
            0 => quantity::short_count(instances),
            n => format!(
                "{} (+{} incomplete)",
                quantity::short_count(instances),
                quantity::short_count(n)
            ),
        }
    }

    /// The median call; of several operations the greatest of their medians, which the median of all their
    /// calls does not exceed.
    fn median(&self) -> String {
        let medians = self.operations.iter();
        let medians = medians.filter_map(|of| Some(of.call_time_ns.as_ref()?.median));
        match (medians.max(), self.operations.len()) {
            (None, _) => "-".to_owned(),
            (Some(median), 1) => quantity::duration(median),
            (Some(median), _) => format!("<={}", quantity::duration(median)),
        }
    }

    fn waiting(&self) -> String {
        let [operation] = self.operations[..] else {
            return self.waiting_together();
        };
        words::waiting(operation)
    }

    /// What of the time is waiting; a lower bound if only some of it is known.
    fn waiting_together(&self) -> String {
        let each: Vec<String> = self
            .operations
            .iter()
            .map(|of| words::waiting(of))
            .collect();
        if each.iter().all(|part| part == "-") {
            return "-".to_owned();
        }
        let is_least = each
            .iter()
            .any(|part| part == "-" || part.starts_with(">="));
        let known = self.operations.iter().zip(&each);
        let known = known.filter(|(_, part)| *part != "-");
        let waits = known.filter_map(|(of, _)| Some(of.wait_ns.as_ref()?.total));
        let (wait_ns, time_ns) = (sum_ns(waits), self.time_ns().unwrap_or(0));
        if is_least {
            format!(">= {}", quantity::least_percent(wait_ns, time_ns))
        } else {
            quantity::percent(wait_ns, time_ns)
        }
    }

    /// Who arrives last; on several communicators how many of them have such a rank.
    fn arrives_last(&self, analysis: &Analysis) -> String {
        let [operation] = self.operations[..] else {
            return self.arrive_last(analysis);
        };
        arrivals::cell(analysis, operation)
    }

    fn arrive_last(&self, analysis: &Analysis) -> String {
        let (mut named, mut always) = (BTreeMap::new(), BTreeMap::new());
        let (mut any_resolved, mut n_resolved) = (false, 0);
        for operation in &self.operations {
            let last = arrivals::at_operation(analysis, operation);
            any_resolved |= last != LastToArrive::Unresolved;
            n_resolved += operation.last_arrivals.iter().sum::<u64>();
            if let LastToArrive::Mostly {
                who,
                n,
                of,
                is_rule,
            } = last
            {
                if n == of {
                    *always.entry(who.clone()).or_insert(0) += n;
                }
                if is_rule {
                    named.entry(who).or_insert(operation.communicator);
                }
            }
        }
        if let Some((who, &n)) = always.first_key_value()
            && n == n_resolved
        {
            return arrivals::named(who, n, n);
        }
        let mut all = named.iter();
        match (all.next(), named.len()) {
            (None, _) if any_resolved => "varies".to_owned(),
            (None, _) => "not resolved".to_owned(),
            (Some((who, Some(id))), 1) => format!("{who} (#{id})"),
            (_, n) => quantity::counted(n as u64, "rank"),
        }
    }
}

pub(crate) fn operations(screen: &mut Screen, analysis: &Analysis, n_rows: usize) {
    let _ = writeln!(
        screen.text,
        "\n{BOLD}Operations by time{BOLD:#} (summed over all ranks)"
    );
    if analysis.operations.is_empty() {
        let none = if analysis.restriction.is_some() {
            "none in the selected part"
        } else {
            "none was recorded"
        };
        screen.item(none);
        return;
    }
    let rows = rows(analysis);
    let (shown, rest) = rows.split_at(rows.len().min(n_rows));
    for line in fitting_lines(analysis, shown, screen.columns()) {
        screen.row(&line);
    }
    if !rest.is_empty() {
        screen.item(&format!(
            "and {} more, {} in total (each root, communicator and payload has a row of its own)",
            rest.len(),
            quantity::duration(sum_ns(rest.iter().filter_map(Row::time_ns)))
        ));
    }
}

/// The table, at most so many columns wide if possible. On a narrow screen names are shortened, and who
/// arrives last takes two lines.
fn fitting_lines(analysis: &Analysis, rows: &[Row<'_>], columns: usize) -> Vec<String> {
    let shown = rows.iter().map(|row| row.first().operation.len());
    let longest = shown.max().unwrap_or(0);
    let of = |has_two_lines, has_short_names| {
        move |communicator| Layout {
            has_two_lines,
            has_short_names,
            operation: longest,
            communicator,
        }
    };
    let wide = (MIN_COMMUNICATOR..=COMMUNICATOR).rev();
    // The id of a communicator says as much as its name.
    let narrow = (MIN_COMMUNICATOR_ID..=COMMUNICATOR).rev();
    let narrowest = (MIN_OPERATION..longest).rev().map(|operation| Layout {
        operation,
        ..of(true, true)(MIN_COMMUNICATOR_ID)
    });
    let layouts = (wide.clone().map(of(false, false)))
        .chain(wide.map(of(true, false)))
        .chain(narrow.map(of(true, true)))
        .chain(narrowest);
    let mut lines = Vec::new();
    for layout in layouts {
        lines = table(analysis, rows, layout);
        if lines.iter().all(|line| inert::columns(line) <= columns) {
            break;
        }
    }
    lines
}

/// Layout of a table, which depends on the width of the terminal.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Who arrives last, and instances with incomplete ones, take further lines.
    has_two_lines: bool,
    /// Operations are without `MPI_`.
    has_short_names: bool,
    /// Columns for names of operations.
    operation: usize,
    /// Columns for names of communicators.
    communicator: usize,
}

impl Layout {
    fn operation(self, name: &str) -> String {
        let short = name.strip_prefix("MPI_").filter(|_| self.has_short_names);
        inert::line(short.unwrap_or(name), self.operation)
    }

    fn arrives_last(self, text: String) -> String {
        match self.has_two_lines {
            true if text.contains(" (") => in_two_lines(&text),
            true => text.replacen(' ', "\n", 1),
            false => text,
        }
    }

    fn instances(self, text: String) -> String {
        if self.has_two_lines {
            text.replace(' ', "\n")
        } else {
            text
        }
    }
}

fn table(analysis: &Analysis, rows: &[Row<'_>], layout: Layout) -> Vec<String> {
    let heads = [
        "operation",
        if layout.has_short_names {
            "comm."
        } else {
            "communicator"
        },
        "root",
        "bytes",
        "calls",
        "inst.",
        "time",
        "median",
        "waiting",
        if layout.has_two_lines {
            "arrives\nlast"
        } else {
            "arrives last"
        },
    ];
    let cells = rows.iter().map(|row| {
        [
            layout.operation(&row.first().operation),
            row.communicator(analysis, layout.communicator),
            row.root(),
            row.bytes(),
            quantity::short_count(row.calls()),
            layout.instances(row.instances()),
            row.time_ns()
                .map_or_else(|| "-".to_owned(), quantity::duration),
            row.median(),
            row.waiting(),
            layout.arrives_last(row.arrives_last(analysis)),
        ]
    });
    table_lines(heads, cells, |column| (2..9).contains(&column), None)
}

/// A name that fits: the whole, or without what all such names begin with; with the id where another
/// communicator is called the same, or where the name is cut.
fn communicator_cell(analysis: &Analysis, id: Option<usize>, width: usize) -> String {
    let known = id.and_then(|id| analysis.communicators.get(id));
    let Some(known) = known else {
        return words::communicator(analysis, id, width);
    };
    let number = format!(" #{}", known.id);
    let short = short_name(&known.name);
    let is_one_of_many = words::has_namesakes(analysis, known);
    let same_short = analysis
        .communicators
        .iter()
        .filter(|of| short_name(of.name_of_each()) == short);
    let needs_id = [is_one_of_many, same_short.count() > 1];
    for (name, needs_id) in [&known.name, &short].into_iter().zip(needs_id) {
        let number = if needs_id { &*number } else { "" };
        let name = format!("{}{number}", inert::line(name, width + 1));
        if inert::columns(&name) <= width {
            return name;
        }
    }
    cut_before(&short, &number, width)
}

/// Communicators of one name: `columns (8)`; with the id where all of them have one, and others are called the same.
fn group_cell(
    analysis: &Analysis,
    id: usize,
    (n, n_entries): (usize, usize),
    width: usize,
) -> String {
    let known = &analysis.communicators[id];
    let number = match n_entries {
        1 if words::has_namesakes(analysis, known) => format!(" #{id} ({n})"),
        _ => format!(" ({n})"),
    };
    let name = known.name_of_each();
    let whole = format!("{}{number}", inert::line(name, width + 1));
    if inert::columns(&whole) <= width {
        return whole;
    }
    cut_before(&short_name(name), &number, width)
}

/// A name, cut so that a number fits behind it; the number alone where hardly any of the name would be left.
fn cut_before(name: &str, number: &str, width: usize) -> String {
    let left = match width.saturating_sub(number.len()) {
        0..4 => return number.trim_start().to_owned(),
        left => left,
    };
    let mut cut = String::new();
    for c in inert::line(name, usize::MAX).chars() {
        cut.push(c);
        if inert::columns(&cut) > left {
            cut.pop();
            break;
        }
    }
    (cut + number).trim_start().to_owned()
}

/// The name of a communicator that has none of its own, without what all such names begin with, and
/// without what it was made of: `split 3` of `MPI_Comm_split 3 of MPI_COMM_WORLD`.
fn short_name(name: &str) -> String {
    let begins = ["MPI_Comm_", "MPI_COMM_", "MPI_"];
    let mut bare = begins.iter().filter_map(|begin| name.strip_prefix(begin));
    let Some(bare) = bare.next() else {
        return name.to_owned();
    };
    bare.split(" of ").next().unwrap_or(bare).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_whole_behind_as_much_of_a_name_as_there_is_room_for() {
        assert_eq!(cut_before("columns", " (8)", 18), "columns (8)");
        assert_eq!(cut_before("columns", " (8)", 9), "colum (8)");
        assert_eq!(cut_before("columns", " #12", 7), "#12");
        assert_eq!(
            cut_before("\u{6f22}\u{5b57}\u{6f22}", " #1", 8),
            "\u{6f22}\u{5b57} #1"
        );
        assert_eq!(cut_before("", " #1", 8), " #1".trim_start());
    }

    #[test]
    fn a_short_name_keeps_what_tells_a_communicator_apart() {
        for (name, short) in [
            ("MPI_Comm_split 12 of MPI_COMM_WORLD", "split 12"),
            ("MPI_Cart_create 1 of communicator 4", "Cart_create 1"),
            ("MPI_COMM_WORLD", "WORLD"),
            ("rows of the matrix", "rows of the matrix"),
        ] {
            assert_eq!(short_name(name), short);
        }
    }
}
