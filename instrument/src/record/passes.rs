//! Passes of values through event collectors of spanning trees of our own, and calls of programs that
//! execute operations over such trees themselves.

use std::sync::atomic::Ordering;

use collbench_formats::tree::Wrappers;
use collbench_formats::{
    CollectorPass, ControlPoint, Definition, Operation, PassedWays, SpanningTree,
};
use collbench_paths::Pass;

use super::local::Local;
use super::recorder::Recorder;

/// Defines a tree of a communicator, and returns its index for [`record_pass`]; `None` if nothing is
/// recorded, or the communicator is not known. All processes of the communicator define its trees in
/// the same order. `wrappers` is the tree itself at the process with rank 0 in the communicator.
#[must_use]
pub fn define_tree(
    comm: usize,
    threads: u32,
    name: String,
    wrappers: Option<Wrappers>,
) -> Option<u32> {
    let recorder = Recorder::active()?;
    let entry = Local::of_this_thread().communicator(recorder, comm)?;
    let index = recorder.n_trees.fetch_add(1, Ordering::Relaxed);
    recorder.define(&Definition::SpanningTree(SpanningTree {
        index,
        communicator: entry.index,
        threads,
        name,
        wrappers,
    }));
    Some(index)
}

/// Defines a control point of calls on a communicator, made by its index and the time, ticks.
pub(crate) fn define_control_point(comm: usize, point: impl FnOnce(u32, u64) -> ControlPoint) {
    let Some(recorder) = Recorder::active() else {
        return;
    };
    if let Some(entry) = Local::of_this_thread().communicator(recorder, comm) {
        let point = point(entry.index, recorder.clock.now());
        recorder.define(&Definition::ControlPoint(point));
    }
}

/// Records a pass through an event collector of the tree with this index.
#[inline]
pub fn record_pass(tree: u32, pass: &Pass) {
    let Some(recorder) = Recorder::active() else {
        return;
    };
    let (ways, enter, leave) = match (pass.down, pass.up) {
        (down, 0) => (PassedWays::Down, down, down),
        (0, up) => (PassedWays::Up, up, up),
        (down, up) => (PassedWays::Both, down, up),
    };
    let record = CollectorPass {
        tree,
        call: pass.call as u32,
        collector: pass.collector,
        segment: pass.segment,
        ways,
    };
    let slot = Local::of_this_thread().take_slot_of_part(recorder);
    slot.write(record.words());
    slot.stamp(enter);
    slot.leave(0, leave);
}

/// Begins the record of a call that the program itself executes, on a communicator of the MPI
/// library; `root` is negative for operations without one. Returns whether it is recorded.
#[must_use]
pub fn begin_own_call(comm: usize, operation: Operation, root: i32, bytes: u64) -> bool {
    let Some(recorder) = Recorder::active() else {
        return false;
    };
    let local = Local::of_this_thread();
    let root = usize::try_from(root).ok();
    let entry = local.communicator(recorder, comm);
    let call = local.prepare(recorder, operation, entry, root, true, |_| Some(bytes));
    local.begin_own_call(recorder, &call);
    !call.slot.is_null()
}

/// Ends the call of this thread that [`begin_own_call`] has begun.
pub fn end_own_call() {
    if let Some(recorder) = Recorder::active() {
        Local::of_this_thread().end_own_call(recorder);
    }
}
