//! What a process did since an instant, as columns that others are compared in.

use crate::amounts::{add, in_proportion, sum_ns};
use crate::instance::Part;
use crate::process::Process;
use crate::processes::Processes;

/// Not a column of a row.
const NOWHERE: usize = usize::MAX;

/// Columns of a row before the parts.
pub(crate) const WAIT: usize = 0;
pub(crate) const OWN: usize = 1;
const PARTS: usize = 2;

/// What a process did since an instant.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    /// Waits, own work, and each part, ns.
    pub(crate) row: Vec<i64>,
    /// The parts, ascending, ns each.
    parts: Vec<(Part, i64)>,
    /// Of those, communication point to point, ns.
    pub(crate) with_partners_ns: i64,
    /// The operations of its blocking calls, the latest first, and the column of each.
    calls: Vec<(u64, usize)>,
}

/// How long a process that is compared with another was in calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared {
    /// In collectives, ns.
    pub(crate) in_calls_ns: i64,
    /// In point-to-point communication, ns.
    pub(crate) with_partners_ns: i64,
}

impl Spent {
    /// What a process did between two times.
    pub(crate) fn of(&mut self, processes: &Processes, at: usize, [from_ns, to_ns]: [i64; 2]) {
        let process = &processes.each[at];
        self.parts.clear();
        let parts = &mut self.parts;
        let mut wait_ns = 0_i64;
        let mut found = |ns: i64, part: Option<Part>| match part {
            Some(part) => add(parts, part, ns),
            None => wait_ns = wait_ns.saturating_add(ns),
        };
        if processes.are_in_columns {
            let calls = processes.levels.of(at);
            for call in calls.take_while(|call| call.leave_ns > from_ns) {
                let (wait_ns, operation_ns) = call.within(from_ns, to_ns);
                found(wait_ns, None);
                found(operation_ns, Some(Part::Operation(call.operation)));
            }
        } else {
            process.between(from_ns, to_ns, found);
        }
        parts.sort_unstable();
        let in_parts = sum_ns(parts.iter().map(|&(_, ns)| ns));
        let own_ns = to_ns
            .saturating_sub(from_ns)
            .saturating_sub(in_parts)
            .saturating_sub(wait_ns)
            .max(0);
        self.row.clear();
        self.row.extend([wait_ns, own_ns]);
        self.row.extend(parts.iter().map(|&(_, ns)| ns));
        let with_partners = self.parts.iter().filter(|(part, _)| part.has_partner());
        self.with_partners_ns = sum_ns(with_partners.map(|&(_, ns)| ns));
        let mut calls = std::mem::take(&mut self.calls);
        calls.clear();
        process.calls.between(from_ns, to_ns, |_, _, operation| {
            calls.push((operation, self.place(Part::Operation(operation))));
        });
        self.calls = calls;
    }

    /// The part in a column, and how much of it, ns; `None`: own work.
    pub(crate) fn column(&self, column: usize) -> (Option<Part>, i64) {
        if column == OWN {
            return (None, self.row[OWN]);
        }
        let (part, ns) = self.parts[column - PARTS];
        (Some(part), ns)
    }

    /// The column of an operation; [`OWN`] if it was not in that.
    pub(crate) fn column_of(&self, operation: u64) -> usize {
        let mut parts = self.parts.iter();
        let at = parts.position(|&(part, _)| part == Part::Operation(operation));
        at.map_or(OWN, |at| PARTS + at)
    }

    /// The column of a part; [`NOWHERE`] where it did nothing of that.
    #[inline(never)]
    fn place(&self, part: Part) -> usize {
        let at = self.parts.iter().position(|(other, _)| *other == part);
        at.map_or(NOWHERE, |at| PARTS + at)
    }

    /// Whether a process is one that it communicated with.
    pub(crate) fn has_partner(&self, process: u32) -> bool {
        let with = Part::PointToPoint(Some(process));
        self.parts.iter().any(|&(part, _)| part == with)
    }

    /// Adds what another process did in its blocking calls in a span, ns, by column, to a row that is all 0, and its own work
    /// beside them; gives how long it was in these calls, ns. Always inlined, into loops over many processes.
    #[inline(always)]
    pub(crate) fn compare_calls(
        &self,
        process: &Process,
        [from_ns, to_ns]: [i64; 2],
        row: &mut [i64],
    ) -> i64 {
        // Blocking calls follow each other: together they are no longer than the span.
        let (mut waited_ns, mut in_operations_ns) = (0_i64, 0_i64);
        let mut expected = self.calls.iter();
        for call in process.calls.until(to_ns) {
            if call.leave_ns <= from_ns {
                break;
            }
            let (wait_ns, operation_ns) = call.within(from_ns, to_ns);
            let column = match expected.next() {
                Some(&(other, column)) if other == call.operation => column,
                _ => self.place(Part::Operation(call.operation)),
            };
            if let Some(cell) = row.get_mut(column) {
                *cell += operation_ns;
            }
            waited_ns += wait_ns;
            in_operations_ns += operation_ns;
        }
        let in_calls_ns = waited_ns + in_operations_ns;
        row[WAIT] = waited_ns;
        row[OWN] = (to_ns - from_ns - in_calls_ns).max(0);
        in_calls_ns
    }

    /// What another process did in a span, ns, by column; the row is all 0 before.
    #[inline]
    pub(crate) fn compare(&self, process: &Process, span: [i64; 2], row: &mut [i64]) -> Compared {
        let compared = Compared {
            in_calls_ns: self.compare_calls(process, span, row),
            with_partners_ns: 0,
        };
        if process.has_parts() {
            return self.compare_parts(process, span, compared, row);
        }
        compared
    }

    /// Adds to the row what is not in the blocking calls of a process, in which it was for so long.
    fn compare_parts(
        &self,
        process: &Process,
        [from_ns, to_ns]: [i64; 2],
        Compared {
            in_calls_ns: mut in_calls,
            mut with_partners_ns,
        }: Compared,
        row: &mut [i64],
    ) -> Compared {
        let mut in_others = 0_i64;
        process.parts_between(from_ns, to_ns, |ns, part| {
            if matches!(part, None | Some(Part::Operation(_))) {
                in_calls = in_calls.saturating_add(ns);
            } else {
                in_others = in_others.saturating_add(ns);
            }
            let column = match part {
                None => WAIT,
                Some(part) if part.has_partner() => {
                    with_partners_ns = with_partners_ns.saturating_add(ns);
                    return;
                }
                Some(part) => self.place(part),
            };
            if let Some(cell) = row.get_mut(column) {
                *cell = cell.saturating_add(ns);
            }
        });
        // With whom it communicated does not matter to how long that took.
        if self.with_partners_ns > 0 && with_partners_ns > 0 {
            for (&(part, ns), cell) in self.parts.iter().zip(&mut row[PARTS..]) {
                if part.has_partner() {
                    *cell = in_proportion(with_partners_ns, ns, self.with_partners_ns);
                }
            }
        }
        row[OWN] = to_ns
            .saturating_sub(from_ns)
            .saturating_sub(in_calls)
            .saturating_sub(in_others)
            .max(0);
        Compared {
            in_calls_ns: in_calls,
            with_partners_ns,
        }
    }
}
