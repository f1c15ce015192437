//! Calls on one-process communicators, which need no matching with other processes.

use crate::calls::context::MatchContext;
use crate::calls::process::Process;
use crate::instances::columns::Block;
use crate::instances::decode::{Decoder, Settled, block_length};
use crate::instances::member_calls::MemberCalls;
use crate::instances::outcome::Outcome;
use crate::trace::record_at::CallOrder;

/// Passes on the new calls of a process on one-process communicators.
pub(crate) fn emit_own(
    process: &mut Process<'_>,
    context: MatchContext<'_>,
    decoder: &mut Decoder,
    sink: &mut dyn FnMut(Outcome<'_>),
) {
    for at in 0..process.touched.len() {
        let (local_comm, call_order) = process.touched[at];
        let communicator = process.communicator_of(local_comm, call_order);
        let of = &context.communicators.list[communicator];
        if !of.is_own() {
            continue;
        }
        let local_comm = local_comm as usize;
        while let Some(queue) = process.queue(local_comm, call_order)
            && let Some(from) = queue.first_from(0)
        {
            // As far as it is known which messages are its own.
            let known = process.next_on(local_comm, call_order);
            let to = from.saturating_add(block_length(1, false)).min(known);
            if to <= from {
                break;
            }
            let block = Block {
                communicator,
                call_order,
                from,
                to,
            };
            if !matches!(call_order, CallOrder::Persistent(_)) {
                let source = MemberCalls {
                    process,
                    local_comm,
                    queue: Some(queue),
                };
                decoder.decode(&block, &[Some(source)], of, sink);
            }
            process.drop_before(local_comm, call_order, to);
        }
        let call_order = OwnOrder {
            communicator,
            local_comm,
            call_order,
        };
        emit_settled(process, call_order, context, decoder, sink);
    }
    if !process.has_ended {
        return;
    }
    for call_order in own_orders(process, context) {
        emit_settled(process, call_order, context, decoder, sink);
    }
}

/// A call order of a communicator of one process.
#[derive(Clone, Copy)]
struct OwnOrder {
    /// Index in [`Communicators::list`](crate::communicators::Communicators::list).
    communicator: usize,
    /// Local communicator, or index of the process's persistent collective.
    local_comm: usize,
    call_order: CallOrder,
}

/// The call orders of its own communicators on which something may still be under way.
fn own_orders(process: &Process<'_>, context: MatchContext<'_>) -> Vec<OwnOrder> {
    let local_comms =
        (0..process.n_local_comms()).map(|local_comm| (local_comm, CallOrder::Application));
    let starts = process.persistents().iter().enumerate();
    let starts = starts.map(|(local, own)| (local, CallOrder::Persistent(own.persistent)));
    let call_orders = local_comms.chain(starts).map(|(local_comm, call_order)| {
        let communicator = process.communicator_of(local_comm as u32, call_order);
        OwnOrder {
            communicator,
            local_comm,
            call_order,
        }
    });
    call_orders
        .filter(|call_order| context.communicators.list[call_order.communicator].is_own())
        .collect()
}

/// Passes on the complete nonblocking calls of one call order of a one-process communicator.
fn emit_settled(
    process: &mut Process<'_>,
    of: OwnOrder,
    context: MatchContext<'_>,
    decoder: &mut Decoder,
    sink: &mut dyn FnMut(Outcome<'_>),
) {
    let OwnOrder {
        communicator,
        local_comm,
        call_order,
    } = of;
    while let Some(queue) = process.queue(local_comm, call_order)
        && let Some(position) = if process.has_ended {
            queue.outstanding.first()
        } else {
            queue.outstanding.first_complete()
        }
    {
        let settled = Settled {
            communicator,
            call_order,
            positions: vec![position],
        };
        let source = MemberCalls {
            process,
            local_comm,
            queue: Some(queue),
        };
        let communicator = &context.communicators.list[communicator];
        decoder.decode_settled(&settled, &[Some(source)], communicator, sink);
        process.drop_initiated(local_comm, call_order, position);
    }
}
