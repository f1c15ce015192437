//! Brings what the threads of a rank did into the order of time.
//!
//! Instances come in the order of their first enter over all ranks, so the calls of one thread do not come sorted. A call is
//! kept until nothing that comes can begin before it any more: all later instances begin at or after the newest one. What
//! comes later nevertheless, as damaged traces have it, begins when the last that was passed on happened.
//!
//! Calls of one thread follow each other or lie in each other. If stamps say otherwise, as damaged ones may, the one that
//! began later begins when the other one ends.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Stands for a leave that did not happen: it comes at the end.
pub(super) const OPEN: u64 = u64::MAX;

/// One call on a timeline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit<T> {
    /// When it was entered, ns on the time of the archive.
    pub(super) enter_ns: u64,
    /// When it was left, not before; [`OPEN`]: never.
    pub(super) leave_ns: u64,
    /// What it was.
    pub(super) what: T,
}

/// What is part of the same call as another one if both have the same enter and leave.
pub(super) trait Joins {
    /// Whether it is.
    fn joins(&self, other: &Self) -> bool;
}

/// What happens next on a timeline. Several visits are parts of one call.
#[derive(Debug)]
pub(super) enum Step<'v, T> {
    /// A call is entered.
    Enter(&'v [Visit<T>]),
    /// A call is left at this time.
    Leave(&'v [Visit<T>], u64),
}

/// A visit that was not passed on yet.
#[derive(Debug)]
struct Pending<T> {
    visit: Visit<T>,
    /// The number of visits before it.
    number: u64,
    /// Whether it was moved.
    is_moved: bool,
}

impl<T> Pending<T> {
    /// Of those that begin together first what took no time, then what encloses others.
    fn order(&self) -> (u64, bool, Reverse<u64>, u64) {
        let Visit {
            enter_ns, leave_ns, ..
        } = self.visit;
        let takes_time = leave_ns > enter_ns;
        (enter_ns, takes_time, Reverse(leave_ns), self.number)
    }
}

impl<T> PartialEq for Pending<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Pending<T> {}

impl<T> PartialOrd for Pending<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Pending<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// What one thread did.
#[derive(Debug)]
pub(super) struct Timeline<T> {
    pending: BinaryHeap<Reverse<Pending<T>>>,
    n_pushed: u64,
    /// The calls that were entered and not left, one in the other.
    inside: Vec<Visit<T>>,
    /// Where in `inside` each call begins.
    calls: Vec<usize>,
    /// When the last step was.
    last_ns: u64,
    /// How many visits were moved since they came too late, or overlapped others.
    n_moved: u64,
}

impl<T> Default for Timeline<T> {
    fn default() -> Self {
        Self {
            pending: BinaryHeap::new(),
            n_pushed: 0,
            inside: Vec::new(),
            calls: Vec::new(),
            last_ns: 0,
            n_moved: 0,
        }
    }
}

impl<T: Joins> Timeline<T> {
    /// Adds a visit, and passes on what lies before `until_ns`; the same or a later time than before.
    pub(super) fn add<E>(
        &mut self,
        mut visit: Visit<T>,
        until_ns: u64,
        pass_on: &mut impl FnMut(Step<'_, T>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.advance(until_ns, pass_on)?;
        let is_moved = visit.enter_ns < self.last_ns;
        if is_moved {
            visit.enter_ns = self.last_ns;
            self.n_moved += 1;
        }
        visit.leave_ns = visit.leave_ns.max(visit.enter_ns);
        let number = self.n_pushed;
        self.n_pushed += 1;
        self.pending.push(Reverse(Pending {
            visit,
            number,
            is_moved,
        }));
        Ok(())
    }

    /// Passes on what lies before `until_ns`; of [`OPEN`] everything but the leaves of calls that were never left.
    pub(super) fn advance<E>(
        &mut self,
        until_ns: u64,
        pass_on: &mut impl FnMut(Step<'_, T>) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(first) = self.pop_before(until_ns) {
            self.leave_until(first.visit.enter_ns, pass_on)?;
            let Visit {
                enter_ns, leave_ns, ..
            } = first.visit;
            if let Some(around) = self.inside.last()
                && around.leave_ns < leave_ns
            {
                let mut moved = first;
                moved.visit.enter_ns = around.leave_ns;
                self.n_moved += u64::from(!moved.is_moved);
                moved.is_moved = true;
                self.pending.push(Reverse(moved));
                continue;
            }
            let begin = self.inside.len();
            self.inside.push(first.visit);
            while let Some(Reverse(next)) = self.pending.peek()
                && (next.visit.enter_ns, next.visit.leave_ns) == (enter_ns, leave_ns)
                && next.visit.what.joins(&self.inside[begin].what)
                && let Some(Reverse(next)) = self.pending.pop()
            {
                self.inside.push(next.visit);
            }
            self.calls.push(begin);
            self.last_ns = enter_ns;
            pass_on(Step::Enter(&self.inside[begin..]))?;
        }
        // Whatever comes is entered at `until_ns` at the earliest.
        self.leave_until(until_ns.saturating_sub(1), pass_on)
    }

    fn pop_before(&mut self, until_ns: u64) -> Option<Pending<T>> {
        let Reverse(first) = self.pending.peek()?;
        let is_ready = first.visit.enter_ns < until_ns;
        is_ready.then(|| self.pending.pop())?.map(|first| first.0)
    }

    /// Leaves the calls that were left up to some time.
    fn leave_until<E>(
        &mut self,
        until_ns: u64,
        pass_on: &mut impl FnMut(Step<'_, T>) -> Result<(), E>,
    ) -> Result<(), E> {
        while let (Some(&begin), Some(last)) = (self.calls.last(), self.inside.last())
            && last.leave_ns <= until_ns
        {
            self.last_ns = last.leave_ns;
            pass_on(Step::Leave(&self.inside[begin..], self.last_ns))?;
            self.inside.truncate(begin);
            self.calls.pop();
        }
        Ok(())
    }

    /// Leaves all calls that were never left. There is nothing else any more.
    pub(super) fn close<E>(
        mut self,
        at_ns: u64,
        pass_on: &mut impl FnMut(Step<'_, T>) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(begin) = self.calls.pop() {
            pass_on(Step::Leave(&self.inside[begin..], at_ns))?;
            self.inside.truncate(begin);
        }
        Ok(())
    }

    /// When the last step was.
    pub(super) fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// How many visits were moved since they came too late, or overlapped others.
    pub(super) fn n_moved(&self) -> u64 {
        self.n_moved
    }

    /// How many were not passed on yet.
    pub(super) fn n_pending(&self) -> usize {
        self.pending.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Joins for (char, bool) {
        fn joins(&self, other: &Self) -> bool {
            self.1 && other.1
        }
    }

    /// The steps of visits that come with these times up to which nothing more comes.
    fn steps(visits: &[(u64, u64, (char, bool), u64)]) -> (String, u64) {
        let mut timeline = Timeline::default();
        let mut said = String::new();
        let mut last = 0;
        let mut say = |step: Step<'_, (char, bool)>| {
            let (at, visits, sign) = match step {
                Step::Enter(visits) => (visits[0].enter_ns, visits, '+'),
                Step::Leave(visits, at) => (at, visits, '-'),
            };
            assert!(at >= last, "{at} after {last}");
            last = at;
            let names: String = visits.iter().map(|visit| visit.what.0).collect();
            said.push_str(&format!("{at}{sign}{names} "));
            Ok::<_, ()>(())
        };
        for &(enter_ns, leave_ns, what, until_ns) in visits {
            let visit = Visit {
                enter_ns,
                leave_ns,
                what,
            };
            timeline.add(visit, until_ns, &mut say).unwrap();
        }
        timeline.advance(OPEN, &mut say).unwrap();
        let (n_moved, last_ns) = (timeline.n_moved(), timeline.last_ns());
        timeline.close(last_ns, &mut say).unwrap();
        (said.trim_end().to_owned(), n_moved)
    }

    fn call(name: char) -> (char, bool) {
        (name, false)
    }

    #[test]
    fn calls_that_come_in_another_order_are_sorted() {
        let (said, n_moved) = steps(&[
            (0, 5, call('a'), 0),
            (30, 40, call('d'), 2),
            (5, 9, call('b'), 5),
            (12, 20, call('c'), 7),
        ]);
        assert_eq!(said, "0+a 5-a 5+b 9-b 12+c 20-c 30+d 40-d");
        assert_eq!(n_moved, 0);
    }

    #[test]
    fn a_call_inside_another_one_is_left_before_it() {
        let (said, n_moved) = steps(&[
            (3, 4, call('b'), 0),
            (0, 9, call('a'), 0),
            (9, 9, call('c'), 0),
            (9, 12, call('d'), 0),
        ]);
        assert_eq!(said, "0+a 3+b 4-b 9-a 9+c 9-c 9+d 12-d");
        assert_eq!(n_moved, 0);
    }

    #[test]
    fn calls_that_overlap_follow_each_other() {
        let (said, n_moved) = steps(&[
            (0, 10, call('a'), 0),
            (1, 11, call('b'), 0),
            (2, 12, call('c'), 0),
            (11, 13, call('d'), 0),
        ]);
        assert_eq!(said, "0+a 10-a 10+c 10+b 11-b 12-c 12+d 13-d");
        assert_eq!(n_moved, 3);
    }

    #[test]
    fn a_call_that_comes_too_late_begins_when_the_last_one_happened() {
        let (said, n_moved) = steps(&[
            (0, 10, call('a'), 0),
            (20, 30, call('b'), 20),
            (5, 7, call('c'), 20),
            (6, 25, call('d'), 20),
        ]);
        assert_eq!(said, "0+a 10-a 10+c 10-c 10+d 25-d 25+b 30-b");
        assert_eq!(n_moved, 3);
    }

    #[test]
    fn what_one_call_completed_is_entered_and_left_once() {
        let (said, _) = steps(&[
            (0, 5, ('a', true), 0),
            (7, 7, ('x', true), 0),
            (0, 5, ('b', true), 0),
            (0, 5, call('c'), 0),
            (7, 7, ('y', true), 0),
        ]);
        assert_eq!(said, "0+ab 0+c 5-c 5-ab 7+xy 7-xy");
    }

    #[test]
    fn calls_that_were_never_left_are_left_at_the_end() {
        let (said, _) = steps(&[
            (0, 5, call('a'), 0),
            (6, OPEN, call('b'), 0),
            (8, 9, call('c'), 0),
        ]);
        assert_eq!(said, "0+a 5-a 6+b 8+c 9-c 9-b");
    }

    #[test]
    fn it_does_not_matter_how_far_is_looked_ahead_at_once() {
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % below
        };
        for _ in 0..200 {
            let mut visits = Vec::new();
            let mut until = 0;
            for number in 0..40 {
                until += next(5);
                let enter = (until + next(20)).saturating_sub(next(9) / 8 * 15);
                let name = char::from(b'A' + number);
                visits.push((enter, enter + next(12), (name, next(2) == 0), until));
            }
            let alone = steps(&visits);
            // One timeline that is also advanced between the visits.
            let mut timeline = Timeline::default();
            let mut said = String::new();
            let mut say = |step: Step<'_, (char, bool)>| {
                let (at, visits, sign) = match step {
                    Step::Enter(visits) => (visits[0].enter_ns, visits, '+'),
                    Step::Leave(visits, at) => (at, visits, '-'),
                };
                let names: String = visits.iter().map(|visit| visit.what.0).collect();
                said.push_str(&format!("{at}{sign}{names} "));
                Ok::<_, ()>(())
            };
            for &(enter_ns, leave_ns, what, until_ns) in &visits {
                timeline.advance(until_ns, &mut say).unwrap();
                let visit = Visit {
                    enter_ns,
                    leave_ns,
                    what,
                };
                timeline.add(visit, until_ns, &mut say).unwrap();
                timeline.advance(until_ns, &mut say).unwrap();
            }
            timeline.advance(OPEN, &mut say).unwrap();
            assert_eq!((said.trim_end().to_owned(), timeline.n_moved()), alone);
        }
    }
}
