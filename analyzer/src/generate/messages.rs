//! Collectives of a run that are seen inside: what the network does with them, and the records of
//! their messages.

use collbench_formats::{Direction, Message};

use super::group::Members;
use super::inside::{Course, Inside, Setting, Side};
use super::rank_file::{Body, NewRecord};
use super::simulate::{FileError, Group, Simulation, Turn};

impl Simulation<'_> {
    /// Lets a collective happen message by message, among those who were heard of.
    pub(super) fn happen(
        &self,
        turn: Turn<'_>,
        members: &Members,
        inside: &Inside,
        heard: &[Option<u64>],
    ) -> Course {
        let n = members.ranks.len();
        let top = turn.root(members).unwrap_or(0);
        let bytes = turn.call.bytes.of(members.ranks[top]);
        let plans = inside.plans(turn.operation.semantics(), n, top, bytes);
        Course::of(&Setting {
            plans: &plans,
            enters: heard,
            members: &members.ranks,
            inside,
            network: &self.scenario.network,
            host_of: &self.scenario.host_of,
            seed: self.seed,
            instance: turn.instance,
            delay_ns: &|delay, rank| self.delay_ns(delay, turn.instance, rank),
            snap: &|t| self.snap(t),
        })
    }

    /// Writes the ends of messages of member `i` in the scratch; says whether all are in the trace.
    pub(super) fn write_messages(
        &mut self,
        turn: Turn<'_>,
        group: &Group,
        i: usize,
    ) -> Result<bool, FileError> {
        let rank = group.members.ranks[i];
        // The library's own tags lie below zero.
        let tag = turn.operation.code().wrapping_neg();
        let course = std::mem::take(&mut self.scratch.course);
        let mut are_all_recorded = true;
        for end in course.ends.get(i).into_iter().flatten() {
            let message = course.messages[end.message];
            let (direction, partner, enter, leave) = match end.side {
                Side::Send => (Direction::Send, message.to, message.sent, message.returned),
                Side::Receive => (
                    Direction::Receive,
                    message.from,
                    message.posted,
                    message.completed,
                ),
            };
            // An end is there from when it began.
            let Some(enter) = enter else { continue };
            let words = Message {
                direction,
                is_nonblocking: message.is_nonblocking && end.side == Side::Receive,
                partner: group.members.ranks[partner],
                communicator: group.indexes[i],
                tag,
                bytes: message.bytes,
            }
            .words();
            let record = NewRecord {
                thread: turn.thread,
                enter,
                leave,
                body: Body::Words(words),
            };
            let is_recorded = self.write(rank, record)?;
            are_all_recorded &= is_recorded;
            if is_recorded {
                let until = leave.unwrap_or(enter);
                self.truth.message_end(rank, until, end.side == Side::Send);
            }
        }
        self.scratch.course = course;
        Ok(are_all_recorded)
    }
}
