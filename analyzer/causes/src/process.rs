//! What is retained of one process.

use std::collections::VecDeque;

use crate::amounts::{add, sum_ns};
use crate::blocking_calls::{BlockingCall, BlockingCalls};
use crate::cause::Cause;
use crate::instance::{Call, Calls, Part, PartOfProcess, Polled};
use crate::log::{Entry, Log};

/// What is retained of a process.
#[derive(Debug, Default)]
pub(crate) struct Process {
    /// Its blocking calls, but for those that overlap others and for old ones.
    pub(crate) calls: BlockingCalls,
    /// What else it did besides its own work; `None`: it waited.
    parts: Log<Option<Part>>,
    /// What it did besides, before calls that are not logged yet.
    pub(crate) besides: VecDeque<PartOfProcess>,
    /// Spans that are full of unsuccessful polls, before calls that are not logged yet.
    pub(crate) polls: VecDeque<Polled>,
    /// Its waits, by cause.
    pub(crate) waits: Log<Cause>,
    /// Its own work in spans that are full of unsuccessful polls, by the process of which it expected a message.
    polled: Log<Option<u32>>,
}

impl Process {
    /// Logs what it did besides.
    pub(crate) fn did(&mut self, of: &PartOfProcess) {
        let [from_ns, to_ns] = of.span_ns;
        self.parts.push(Entry {
            end_ns: to_ns,
            span_ns: to_ns.saturating_sub(from_ns),
            ns: of.ns,
            what: Some(of.part),
        });
    }

    /// Logs what it did besides until it entered a call, ns.
    #[inline]
    pub(crate) fn did_until(&mut self, enter_ns: i64) {
        while let Some(of) = self.besides.front()
            && of.span_ns[1] <= enter_ns
        {
            let of = *of;
            self.besides.pop_front();
            self.did(&of);
        }
        while let Some(of) = self.polls.front()
            && let [from_ns, to_ns] = of.span_ns
            && to_ns <= enter_ns
        {
            self.polled.push(Entry {
                end_ns: to_ns,
                span_ns: to_ns.saturating_sub(from_ns),
                ns: of.ns,
                what: of.partner,
            });
            self.polls.pop_front();
        }
    }

    /// Moves what it did besides after it entered an instance, ns, in which all processes were together, to what is retained of
    /// it from then on.
    pub(crate) fn pass_on_to(&mut self, next: &mut Self, enter_ns: i64) {
        pass_on(&mut self.besides, &mut next.besides, |of| {
            of.span_ns[1] <= enter_ns
        });
        pass_on(&mut self.polls, &mut next.polls, |of| {
            of.span_ns[1] <= enter_ns
        });
    }

    /// Communication point to point, if most of its own work between two times, ns, was between unsuccessful polls: with
    /// the partner for which that was the longest.
    pub(crate) fn polls_between(&self, [from_ns, to_ns]: [i64; 2], own_ns: i64) -> Option<Part> {
        if self.polled.is_empty() {
            return None;
        }
        let mut sums: Vec<(Option<u32>, i64)> = Vec::new();
        self.polled.between(from_ns, to_ns, |ns, partner| {
            add(&mut sums, partner, ns);
        });
        let all_ns = sum_ns(sums.iter().map(|&(_, ns)| ns));
        // Of equal ones the first.
        let &(partner, _) = sums.iter().rev().max_by_key(|&&(_, ns)| ns)?;
        (all_ns > own_ns / 2).then_some(Part::PointToPoint(partner))
    }

    /// How long it was in point-to-point communication between two times, ns, and the partner with which that was the
    /// longest.
    pub(crate) fn with_partners(&self, [from_ns, to_ns]: [i64; 2]) -> (i64, Option<u32>) {
        let mut sums: Vec<(Option<u32>, i64)> = Vec::new();
        self.parts.between(from_ns, to_ns, |ns, part| {
            if let Some(Part::PointToPoint(partner)) = part {
                add(&mut sums, partner, ns);
            }
        });
        let most = sums.iter().rev().max_by_key(|&&(_, ns)| ns);
        let partner = most.and_then(|&(partner, _)| partner);
        (sum_ns(sums.iter().map(|&(_, ns)| ns)), partner)
    }

    /// How long it was being started between two times, ns.
    pub(crate) fn launch_ns(&self, [from_ns, to_ns]: [i64; 2]) -> i64 {
        let mut sum_ns = 0_i64;
        self.parts.between(from_ns, to_ns, |ns, part| {
            if part == Some(Part::Launch) {
                sum_ns = sum_ns.saturating_add(ns);
            }
        });
        sum_ns
    }

    /// Logs its call in the slot of an instance.
    #[inline]
    pub(crate) fn called(&mut self, operation: u64, calls: &Calls, slot: usize) {
        let blocking = blocking_call(operation, calls, slot);
        if !(calls.are_blocking() && self.calls.push(blocking)) {
            self.called_besides(operation, &calls.call(slot));
        }
    }

    /// Logs a call that may overlap others.
    #[cold]
    fn called_besides(&mut self, operation: u64, call: &Call) {
        if let Some(wait) = call.wait {
            let completion = (call.completion_ns, call.leave_ns, call.n_together);
            self.parts.push(waiting_time(completion, wait.ns).on(None));
        }
        let operation = Some(Part::Operation(operation));
        let wait_ns = call.wait.map_or(0, |wait| wait.ns);
        for entry in operation_time(call, wait_ns) {
            self.parts.push(entry.on(operation));
        }
    }

    /// Passes what it did besides its own work between two times: ns, and what; `None`: it waited.
    pub(crate) fn between(
        &self,
        from_ns: i64,
        to_ns: i64,
        mut found: impl FnMut(i64, Option<Part>),
    ) {
        self.calls
            .between(from_ns, to_ns, |wait_ns, operation_ns, operation| {
                found(wait_ns, None);
                found(operation_ns, Some(Part::Operation(operation)));
            });
        self.parts.between(from_ns, to_ns, found);
    }

    /// Whether it did anything else than blocking calls of which none overlaps another.
    #[inline]
    pub(crate) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Whether anything else is known of it than blocking calls and waits.
    pub(crate) fn has_others(&self) -> bool {
        self.has_parts()
            || !self.besides.is_empty()
            || !self.polls.is_empty()
            || !self.polled.is_empty()
    }

    /// Passes of what it did between two times that which is not in its blocking calls.
    pub(crate) fn parts_between(
        &self,
        from_ns: i64,
        to_ns: i64,
        found: impl FnMut(i64, Option<Part>),
    ) {
        self.parts.between(from_ns, to_ns, found);
    }

    /// How long it was in collectives between two times, ns.
    #[inline]
    pub(crate) fn in_calls_ns(&self, from_ns: i64, to_ns: i64) -> i64 {
        let mut sum_ns = self.calls.ns_between(from_ns, to_ns);
        if self.has_parts() {
            self.parts.between(from_ns, to_ns, |ns, part| {
                if matches!(part, None | Some(Part::Operation(_))) {
                    sum_ns = sum_ns.saturating_add(ns);
                }
            });
        }
        sum_ns
    }

    /// When it left the last of its collectives before a time, or went on after it had initiated one, ns; `None` where it was in
    /// none since what is retained.
    #[inline]
    pub(crate) fn left_before(&self, at_ns: i64) -> Option<i64> {
        let left_ns = self.calls.left_before(at_ns);
        if left_ns.is_some_and(|left_ns| !self.parts.has_after(left_ns)) {
            return left_ns;
        }
        let besides_ns = self.parts.last_end(at_ns, |part| {
            matches!(part, None | Some(Part::Operation(_)))
        });
        left_ns.max(besides_ns)
    }

    /// Logs what it did besides until it entered a call, ns, and puts that into order of time: what it did between
    /// two times can be asked for after that.
    #[inline]
    pub(crate) fn prepare(&mut self, enter_ns: i64) {
        self.did_until(enter_ns);
        self.sort_parts();
    }

    /// Puts what it did so far into order of time.
    #[inline]
    pub(crate) fn sort_parts(&mut self) {
        self.parts.sort();
    }

    /// Puts into order of time why it waited, and its polls.
    pub(crate) fn prepare_waits(&mut self) {
        self.waits.sort();
        self.polled.sort();
    }

    /// Forgets what ended before a time, ns.
    #[inline]
    pub(crate) fn forget_before(&mut self, at_ns: i64) {
        self.calls.forget_before(at_ns);
        self.parts.forget_before(at_ns);
        self.waits.forget_before(at_ns);
        self.polled.forget_before(at_ns);
    }

    /// Whether so much is retained that what is old should be added up.
    #[inline]
    pub(crate) fn is_long(&mut self) -> bool {
        self.calls.move_old_to(&mut self.parts);
        self.parts.is_long() || self.waits.is_long() || self.polled.is_long()
    }

    /// Adds up what it did long ago between boundaries, ns, ascending.
    pub(crate) fn fold(&mut self, boundaries: &[i64]) {
        self.parts.fold(boundaries);
        self.waits.fold(boundaries);
        self.polled.fold(boundaries);
    }
}

/// Moves what is behind the last of those at the begin that are before an instance.
fn pass_on<T>(own: &mut VecDeque<T>, next: &mut VecDeque<T>, is_before: impl Fn(&T) -> bool) {
    let n_before = own.iter().take_while(|of| is_before(of)).count();
    next.extend(own.drain(n_before..));
}

/// The blocking call of an operation in a slot of an instance.
#[inline]
pub(crate) fn blocking_call(operation: u64, calls: &Calls, slot: usize) -> BlockingCall {
    let enter_ns = calls.enters_ns[slot];
    let wait_ns = calls.waits_ns.get(slot).copied().unwrap_or(0);
    BlockingCall {
        enter_ns,
        release_ns: enter_ns.saturating_add(wait_ns.max(0)),
        leave_ns: calls.leaves_ns[slot],
        operation,
    }
}

/// The time of a wait in a call that was completed from a time on, left at another, ns, and completed so
/// many operations.
#[inline]
pub(crate) fn waiting_time(
    (completion_ns, leave_ns, n_together): (i64, i64, u32),
    wait_ns: i64,
) -> Entry<()> {
    let (end_ns, span_ns) = match n_together {
        1 => (completion_ns.saturating_add(wait_ns), wait_ns),
        _ => (leave_ns, leave_ns - completion_ns),
    };
    Entry {
        end_ns,
        span_ns,
        ns: wait_ns,
        what: (),
    }
}

/// What a process did in a span that is its own, of which so much was in collectives, ns; -1 where the
/// span is empty.
#[inline]
pub(crate) fn did_ns([from_ns, to_ns]: [i64; 2], in_calls_ns: i64) -> i64 {
    if to_ns > from_ns {
        to_ns
            .saturating_sub(from_ns)
            .saturating_sub(in_calls_ns)
            .max(0)
    } else {
        -1
    }
}

/// The time of a call without its wait: of its initiation, if it is nonblocking, and of its completion.
fn operation_time(call: &Call, wait_ns: i64) -> [Entry<()>; 2] {
    let initiation_ns = call.initiated_ns.saturating_sub(call.enter_ns);
    let completion_ns = call.leave_ns.saturating_sub(call.completion_ns);
    let own_ns = (completion_ns / i64::from(call.n_together.max(1))).saturating_sub(wait_ns);
    let span_ns = match call.n_together {
        1 => own_ns,
        _ => completion_ns,
    };
    [
        (call.initiated_ns, initiation_ns, initiation_ns),
        (call.leave_ns, span_ns, own_ns),
    ]
    .map(|(end_ns, span_ns, ns)| Entry {
        end_ns,
        span_ns,
        ns,
        what: (),
    })
}
