//! Calls of one process on communicators of its own: they wait for nobody.

use crate::calls::context::MatchContext;
use crate::calls::process::Process;
use crate::instances::decode::{Block, Decoder, Settled, Source, block_length};
use crate::instances::matched::Matched;
use crate::trace::place::Lane;

/// Hands on the new calls of a process on communicators of its own.
pub(crate) fn hand_on_own(
    process: &mut Process<'_>,
    context: MatchContext<'_>,
    decoder: &mut Decoder,
    sink: &mut dyn FnMut(Matched<'_>),
) {
    for at in 0..process.touched.len() {
        let (binding, lane) = process.touched[at];
        let communicator = process.communicator_of(binding, lane);
        let of = &context.communicators.list[communicator];
        if !of.is_own() {
            continue;
        }
        let binding = binding as usize;
        while let Some(queue) = process.queue(binding, lane)
            && let Some(from) = queue.first_from(0)
        {
            // As far as it is known which messages are its own.
            let known = process.next_on(binding, lane);
            let to = from.saturating_add(block_length(1, false)).min(known);
            if to <= from {
                break;
            }
            let block = Block {
                communicator,
                lane,
                from,
                to,
            };
            if !matches!(lane, Lane::Persistent(_)) {
                let source = Source {
                    process,
                    binding,
                    queue: Some(queue),
                };
                decoder.decode(&block, &[Some(source)], of, sink);
            }
            process.drop_before(binding, lane, to);
        }
        let lane = OwnLane {
            communicator,
            binding,
            lane,
        };
        hand_on_settled(process, lane, context, decoder, sink);
    }
    if !process.has_ended {
        return;
    }
    for lane in own_lanes(process, context) {
        hand_on_settled(process, lane, context, decoder, sink);
    }
}

/// A lane of a communicator of one process.
#[derive(Clone, Copy)]
struct OwnLane {
    /// Index in [`Communicators::list`](crate::communicators::Communicators::list).
    communicator: usize,
    /// Binding of the communicator, or index of the process's persistent collective.
    binding: usize,
    lane: Lane,
}

/// The lanes of its own communicators on which something may still be under way.
fn own_lanes(process: &Process<'_>, context: MatchContext<'_>) -> Vec<OwnLane> {
    let bindings = (0..process.n_bindings()).map(|binding| (binding, Lane::Application));
    let starts = process.persistents().iter().enumerate();
    let starts = starts.map(|(local, own)| (local, Lane::Persistent(own.persistent)));
    let lanes = bindings.chain(starts).map(|(binding, lane)| {
        let communicator = process.communicator_of(binding as u32, lane);
        OwnLane {
            communicator,
            binding,
            lane,
        }
    });
    lanes
        .filter(|lane| context.communicators.list[lane.communicator].is_own())
        .collect()
}

/// Hands on what is settled of one lane of a communicator of one process.
fn hand_on_settled(
    process: &mut Process<'_>,
    of: OwnLane,
    context: MatchContext<'_>,
    decoder: &mut Decoder,
    sink: &mut dyn FnMut(Matched<'_>),
) {
    let OwnLane {
        communicator,
        binding,
        lane,
    } = of;
    while let Some(queue) = process.queue(binding, lane)
        && let Some(position) = if process.has_ended {
            queue.outstanding.first()
        } else {
            queue.outstanding.first_complete()
        }
    {
        let settled = Settled {
            communicator,
            lane,
            positions: vec![position],
        };
        let source = Source {
            process,
            binding,
            queue: Some(queue),
        };
        let communicator = &context.communicators.list[communicator];
        decoder.decode_settled(&settled, &[Some(source)], communicator, sink);
        process.drop_begun(binding, lane, position);
    }
}
