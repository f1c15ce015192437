//! The blocking calls of all processes since they were last together, in columns: those of many processes are added up at once.

use crate::amounts::{largest, smallest};
use crate::blocking_calls::BlockingCall;
use crate::instance::Instance;
use crate::process::blocking_call;
use crate::times::{
    RANGE_NS, add_range, add_some, are_in_order, relative, set_calls, set_ends, set_not_below_0,
    set_rest, subtract,
};

/// Calls of a process, at most.
const MOST_LEVELS: usize = 64;
/// After all times.
const NEVER: f64 = f64::MAX;

/// The calls of each process, one after the other. Level 0 are the first calls of all, level 1 the second ones, and so on.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// What times are relative to, ns.
    base_ns: i64,
    /// The levels; behind the first `n` of them what is used again.
    levels: Vec<Level>,
    n: usize,
    /// How many calls each process has.
    heights: Vec<usize>,
    /// When the last call ended, ns.
    latest_ns: i64,
}

/// A call of each process: times relative to the base, ns; [`NEVER`] where a process has none. Then nothing of it is in any span.
#[derive(Debug, Default)]
struct Level {
    operations: Vec<u64>,
    /// Whether these are several.
    is_mixed: bool,
    enters: Vec<f64>,
    releases: Vec<f64>,
    leaves: Vec<f64>,
    /// The first enter and the last leave.
    span: [f64; 2],
}

/// The processes that are looked at, and in which span each; buffers that are used again.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    /// Their numbers.
    pub(crate) processes: Vec<u32>,
    /// Begin and end, relative to the base, ns.
    pub(crate) from: Vec<f64>,
    pub(crate) to: Vec<f64>,
    /// The first begin and the last end.
    pub(crate) around: [f64; 2],
}

/// Of consecutive numbers the first.
#[inline]
fn first_of_range(numbers: &[u32]) -> Option<usize> {
    let &first = numbers.first()?;
    let expected = (first..).zip(numbers);
    let differ = expected.fold(0, |differ, (at, &number)| differ | (at ^ number));
    (differ == 0).then_some(first as usize)
}

impl Spans {
    /// No processes yet.
    pub(crate) fn clear(&mut self) {
        self.processes.clear();
        self.from.clear();
        self.to.clear();
        self.around = [f64::INFINITY, f64::NEG_INFINITY];
    }

    /// Adds the span of a process.
    pub(crate) fn push(&mut self, process: u32, [from, to]: [f64; 2]) {
        self.processes.push(process);
        self.from.push(from);
        self.to.push(to);
        let [first, last] = self.around;
        self.around = [smallest(first, from), largest(last, to)];
    }

    /// All spans, whose ends are known, have begun at a time, and end at another at the latest.
    pub(crate) fn begin_at(&mut self, [from, to]: [f64; 2]) {
        self.from.resize(self.to.len(), from);
        self.around = [from, to];
    }

    /// Finds out how long each process was in no call. The first column is how long it waited, the second one is replaced: so far it
    /// is how long it was in operations that are in none of the others.
    pub(crate) fn set_own(&self, rows: &mut [f64]) {
        let n = self.processes.len();
        let (waits, others) = rows.split_at_mut(n);
        let (own, operations) = others.split_at_mut(n);
        set_rest(own, &self.from, &self.to, waits);
        for column in operations.chunks_exact(n.max(1)) {
            subtract(own, column);
        }
        set_not_below_0(own);
    }

    /// The own work of each process, which is known, below 0 where its span is empty.
    pub(crate) fn did(&self, own: &[f64], did: &mut Vec<f64>) {
        let spans = self.from.iter().zip(&self.to).zip(own);
        did.clear();
        did.extend(spans.map(|((from, to), &own)| if to > from { own } else { -1.0 }));
    }
}

impl Level {
    /// The calls of some processes one after the other: enters, releases, leaves.
    #[inline]
    fn part(&self, [from, to]: [usize; 2]) -> [&[f64]; 3] {
        let Self {
            enters,
            releases,
            leaves,
            ..
        } = self;
        [&enters[from..to], &releases[from..to], &leaves[from..to]]
    }
}

impl Levels {
    /// Of so many processes, no calls.
    pub(crate) fn new(n_processes: usize) -> Self {
        Self {
            heights: vec![0; n_processes],
            latest_ns: i64::MIN,
            ..Self::default()
        }
    }

    /// Forgets the calls that ended before a time, ns; gives whether these are all.
    pub(crate) fn forget_before(&mut self, at_ns: i64) -> bool {
        let are_all = self.latest_ns <= at_ns;
        if are_all {
            self.forget();
        }
        are_all
    }

    fn forget(&mut self) {
        self.n = 0;
        self.heights.fill(0);
        self.latest_ns = i64::MIN;
    }

    /// Whether times between two, ns, are near enough.
    #[inline]
    pub(crate) fn are_near(&mut self, [first_ns, last_ns]: [i64; 2]) -> bool {
        if self.n == 0 {
            self.base_ns = first_ns;
        }
        let is_near = |ns: i64| ns.abs_diff(self.base_ns) < RANGE_NS as u64;
        is_near(first_ns) && is_near(last_ns)
    }

    /// A time relative to the base, ns; `None` where it is too far away.
    #[inline]
    pub(crate) fn time(&self, ns: i64) -> Option<f64> {
        (ns.abs_diff(self.base_ns) < RANGE_NS as u64).then(|| relative(ns, self.base_ns))
    }

    /// Begin and end of a span, likewise.
    #[inline]
    pub(crate) fn span(&self, [from_ns, to_ns]: [i64; 2]) -> Option<[f64; 2]> {
        Some([self.time(from_ns)?, self.time(to_ns)?])
    }

    /// A time near the base relative to it, ns.
    #[inline]
    pub(crate) fn near(&self, ns: i64) -> f64 {
        relative(ns, self.base_ns)
    }

    /// Several such times, none later than a limit.
    pub(crate) fn ends(&self, times_ns: &[i64], limit: f64, found: &mut Vec<f64>) {
        found.resize(times_ns.len(), 0.0);
        set_ends(found, times_ns, self.base_ns, limit);
    }

    /// Since when some processes are looked at, each since a time of its own, ns; gives whether these are near enough.
    pub(crate) fn begin(
        &self,
        spans: &mut Spans,
        n: usize,
        from_ns: impl Fn(usize) -> i64,
    ) -> bool {
        spans.from.resize(n, 0.0);
        let (mut far, mut first) = (0_u64, f64::INFINITY);
        for (slot, from) in spans.from.iter_mut().enumerate() {
            let ns = from_ns(slot);
            far |= (ns.wrapping_sub(self.base_ns) as u64).wrapping_add(RANGE_NS as u64);
            *from = relative(ns, self.base_ns);
            first = smallest(first, *from);
        }
        spans.around = [first, f64::INFINITY];
        far >> 52 == 0
    }

    /// Adds the calls of an instance, which are between two times, ns; gives whether that is so. Where it is not, because there
    /// are too many, or overlap others, or are of another operation than others, there must be nothing else than moving all.
    pub(crate) fn add(&mut self, instance: &Instance, span_ns: [i64; 2]) -> bool {
        let Instance { calls, members, .. } = instance;
        if !(calls.are_blocking() && self.are_near(span_ns)) {
            return false;
        }
        let is_added = match first_of_range(members) {
            Some(first) if !calls.waits_ns.is_empty() => self.add_range(first, instance, span_ns),
            _ => self.add_each(instance, span_ns),
        };
        if is_added {
            self.latest_ns = self.latest_ns.max(span_ns[1]);
        }
        is_added
    }

    /// The level at a height, for the calls of an instance between two times, ns, which may be those of all processes.
    fn level(
        &mut self,
        height: usize,
        operation: u64,
        span_ns: [i64; 2],
        are_all: bool,
    ) -> Option<&mut Level> {
        let span = span_ns.map(|ns| relative(ns, self.base_ns));
        if height == self.n {
            if height == MOST_LEVELS {
                return None;
            }
            if self.levels.len() == height {
                self.levels.push(Level::default());
            }
            self.n += 1;
            let level = &mut self.levels[height];
            (level.is_mixed, level.span) = (false, span);
            level.operations.resize(self.heights.len(), operation);
            if !are_all {
                level.operations.fill(operation);
            }
            for times in [&mut level.enters, &mut level.releases, &mut level.leaves] {
                times.resize(self.heights.len(), NEVER);
                if !are_all {
                    times.fill(NEVER);
                }
            }
        }
        let level = &mut self.levels[height];
        level.span = [level.span[0].min(span[0]), level.span[1].max(span[1])];
        level.is_mixed |= !are_all && level.operations[0] != operation;
        Some(level)
    }

    /// Adds the calls of an instance in which some waited, whose members are processes one after the other.
    fn add_range(&mut self, first: usize, instance: &Instance, span_ns: [i64; 2]) -> bool {
        let calls = &instance.calls;
        let n = calls.len();
        let heights = &self.heights[first..first + n];
        let height = heights[0];
        if heights
            .iter()
            .fold(0, |differ, other| differ | (other ^ height))
            != 0
        {
            return self.add_each(instance, span_ns);
        }
        let base_ns = self.base_ns;
        let are_all = n == self.heights.len();
        if self
            .level(height, instance.operation, span_ns, are_all)
            .is_none()
        {
            return false;
        }
        let (below, level) = self.levels.split_at_mut(height);
        let level = &mut level[0];
        level.operations[first..first + n].fill(instance.operation);
        let [enters, releases, leaves] =
            [&mut level.enters, &mut level.releases, &mut level.leaves]
                .map(|times| &mut times[first..first + n]);
        let times_ns = (
            &calls.enters_ns[..],
            &calls.waits_ns[..],
            &calls.leaves_ns[..],
        );
        let mut is_in_order = set_calls(enters, releases, leaves, times_ns, base_ns);
        if let Some(below) = below.last() {
            is_in_order &= are_in_order(&below.leaves[first..first + n], enters);
        }
        for height in &mut self.heights[first..first + n] {
            *height += usize::from(is_in_order);
        }
        is_in_order
    }

    /// Adds the calls of an instance one by one: all or none.
    fn add_each(&mut self, instance: &Instance, span_ns: [i64; 2]) -> bool {
        let n_added = self.add_first(instance, span_ns);
        let are_all = n_added == instance.members.len();
        if !are_all {
            for &process in &instance.members[..n_added] {
                self.heights[process as usize] -= 1;
            }
        }
        are_all
    }

    /// Adds the first calls of an instance; gives how many.
    fn add_first(&mut self, instance: &Instance, span_ns: [i64; 2]) -> usize {
        let base_ns = self.base_ns;
        for (slot, &process) in instance.members.iter().enumerate() {
            let process = process as usize;
            let call = blocking_call(instance.operation, &instance.calls, slot);
            let height = self.heights[process];
            let has_ended = height.checked_sub(1).is_none_or(|before| {
                self.levels[before].leaves[process] <= relative(call.enter_ns, base_ns)
            });
            let is_in_order = call.release_ns <= call.leave_ns;
            let Some(level) = self.level(height, instance.operation, span_ns, false) else {
                return slot;
            };
            if !(has_ended && is_in_order) {
                return slot;
            }
            level.operations[process] = instance.operation;
            level.enters[process] = relative(call.enter_ns, base_ns);
            level.releases[process] = relative(call.release_ns, base_ns);
            level.leaves[process] = relative(call.leave_ns, base_ns);
            self.heights[process] += 1;
        }
        instance.members.len()
    }

    /// The calls of a process, the latest first.
    pub(crate) fn of(&self, process: usize) -> impl Iterator<Item = BlockingCall> + '_ {
        let levels = self.levels[..self.heights[process]].iter().rev();
        let ns = |time: f64| self.base_ns + time as i64;
        levels.map(move |level| BlockingCall {
            enter_ns: ns(level.enters[process]),
            release_ns: ns(level.releases[process]),
            leave_ns: ns(level.leaves[process]),
            operation: level.operations[process],
        })
    }

    /// Adds to sums by slot, ns, how long ago each member of an instance left the last of its calls before that.
    pub(crate) fn add_gaps(&self, instance: &Instance, sums: &mut [i64]) {
        let members = instance.members.iter().zip(&instance.calls.enters_ns);
        for ((&process, &enter_ns), sum) in members.zip(sums) {
            let process = process as usize;
            let enter = relative(enter_ns, self.base_ns);
            let levels = self.levels[..self.heights[process]].iter().rev();
            let mut leaves = levels.map(|level| level.leaves[process]);
            if let Some(left) = leaves.find(|&leave| leave <= enter) {
                *sum += (enter - left) as i64;
            }
        }
    }

    /// Passes all calls of all processes, in order of time for each, and forgets them.
    pub(crate) fn drain(&mut self, mut found: impl FnMut(usize, BlockingCall)) {
        for process in 0..self.heights.len() {
            let mut calls: Vec<BlockingCall> = self.of(process).collect();
            while let Some(call) = calls.pop() {
                found(process, call);
            }
        }
        self.forget();
    }

    /// Adds up how long each process waited in its span, in the first of some columns that are all 0, and how long it was in
    /// operations, in that of each operation. The second column, where operations without one of their own are added, becomes its
    /// own work.
    pub(crate) fn add_up(&self, spans: &Spans, rows: &mut [f64], column_of: impl Fn(u64) -> usize) {
        let n = spans.processes.len();
        let Spans {
            processes,
            from,
            to,
            around,
        } = spans;
        let first = first_of_range(processes);
        let (waits, others) = rows.split_at_mut(n);
        for level in &self.levels[..self.n] {
            let [enter, leave] = level.span;
            if leave <= around[0] || enter >= around[1] {
                continue;
            }
            let operation = |at: usize| level.operations[processes[at] as usize];
            let mut begin = 0;
            while begin < n {
                // Those whose operations are in one column.
                let mut known = operation(begin);
                let column = column_of(known);
                let mut end = if level.is_mixed { begin + 1 } else { n };
                while end < n {
                    let next = operation(end);
                    if next != known && column_of(next) != column {
                        break;
                    }
                    (known, end) = (next, end + 1);
                }
                let part = begin..end;
                let column = &mut others[(column - 1) * n..][part.clone()];
                let waits = &mut waits[part.clone()];
                let (from, to) = (&from[part.clone()], &to[part.clone()]);
                match first {
                    Some(first) => {
                        let [enters, releases, leaves] = level.part([first + begin, first + end]);
                        add_range(enters, releases, leaves, from, to, waits, column);
                    }
                    None => {
                        let calls = level.part([0, self.heights.len()]);
                        add_some(calls, &processes[part], from, to, waits, column);
                    }
                }
                begin = end;
            }
        }
        spans.set_own(rows);
    }
}
