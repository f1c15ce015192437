//! Simulates collectives message by message, and writes the records of their messages.

use collbench_formats::{Direction, Message, NO_RANK};

use super::group::Members;
use super::messages::{InstanceMessages, MessageModel, ProgressCalls, Receives, Setting, Side};
use super::rank_file::{Body, NewRecord};
use super::state::{Execution, FileError, Group, Simulation};

impl Simulation<'_> {
    /// Simulates a collective message by message, among the members that have entered. `calls`: the
    /// calls of each member in which a nonblocking one progresses.
    pub(super) fn simulate_messages(
        &self,
        execution: Execution<'_>,
        members: &Members,
        model: &MessageModel,
        heard: &[Option<u64>],
        calls: Option<&[ProgressCalls]>,
    ) -> InstanceMessages {
        let n = members.ranks.len();
        let top = execution.root(members).unwrap_or(0);
        let bytes = execution.call.bytes.of(members.ranks[top]);
        let plans = model.plans(execution.operation.semantics(), n, top, bytes);
        InstanceMessages::of(&Setting {
            plans: &plans,
            enters: heard,
            members: &members.ranks,
            model,
            network: &self.scenario.network,
            host_of: &self.scenario.host_of,
            seed: self.seed,
            instance: execution.instance,
            delay_ns: &|delay, rank| self.delay_ns(delay, execution.instance, rank),
            calls,
            snap: &|t| self.snap(t),
        })
    }

    /// Writes the ends of messages of member `i` in the scratch; returns whether all are in the
    /// trace.
    pub(super) fn write_messages(
        &mut self,
        execution: Execution<'_>,
        group: &Group,
        i: usize,
        receives: Receives,
    ) -> Result<bool, FileError> {
        let simulated = std::mem::take(&mut self.scratch.simulated);
        let ends = Ends {
            members: &group.members,
            i,
            communicator: group.indexes[i],
            // The library's own tags are negative.
            tag: execution.operation.code().wrapping_neg(),
            thread: execution.thread,
            receives,
        };
        let are_all_recorded = self.write_ends(&simulated, &ends, &|_| true);
        self.scratch.simulated = simulated;
        are_all_recorded
    }

    /// Writes the ends of messages of a member whose begin satisfies `is_wanted`; returns whether
    /// all are in the trace.
    pub(super) fn write_ends(
        &mut self,
        simulated: &InstanceMessages,
        of: &Ends<'_>,
        is_wanted: &dyn Fn(u64) -> bool,
    ) -> Result<bool, FileError> {
        let rank = of.members.ranks[of.i];
        let mut are_all_recorded = true;
        for end in simulated.ends.get(of.i).into_iter().flatten() {
            let message = simulated.messages[end.message];
            let (direction, partner, enter, leave) = match end.side {
                Side::Send => (Direction::Send, message.to, message.sent, message.returned),
                Side::Receive => (
                    Direction::Receive,
                    message.from,
                    message.posted,
                    (message.completed).filter(|_| of.receives != Receives::Unseen),
                ),
            };
            let is_from_any = end.side == Side::Receive && of.receives == Receives::FromAny;
            // An end is recorded at its begin.
            let Some(enter) = enter.filter(|&enter| is_wanted(enter)) else {
                continue;
            };
            let words = Message {
                direction,
                is_nonblocking: message.is_nonblocking && end.side == Side::Receive,
                partner: if is_from_any {
                    NO_RANK
                } else {
                    of.members.ranks[partner]
                },
                communicator: of.communicator,
                tag: of.tag,
                bytes: message.bytes,
            }
            .words();
            let record = NewRecord {
                thread: of.thread,
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
        Ok(are_all_recorded)
    }
}

/// A member whose ends of messages are written, and how.
pub(super) struct Ends<'a> {
    pub(super) members: &'a Members,
    /// Position of the member.
    pub(super) i: usize,
    /// Index of the communicator in its file.
    pub(super) communicator: u32,
    pub(super) tag: u16,
    pub(super) thread: u32,
    /// What a recorder sees of receives.
    pub(super) receives: Receives,
}
