//! Brings the instances of all workers into one order.

use std::collections::BTreeMap;

use collbench_causes::{Cause, Charged};
use rustc_hash::FxHashMap;

use super::names::{CauseRow, Names, OperationRow};
use super::{InstanceWithCalls, Rows, TakeInstances};
use crate::communicators::Communicators;
use crate::instances::outcome::TakeRows;
use crate::sums::rows::{CallRow, MessageRow, PassRow, RowBuffer, RowKey};
use crate::trace::run::Run;

/// Calls, messages and passes that wait for an instance that began before them, at most: then it comes behind them.
pub const MOST_PENDING: usize = 1 << 22;

/// Instances that may still be followed by some that come before them, or whose waits are not attributed.
pub(super) struct InOrder<'a, 't> {
    taker: &'t mut dyn TakeInstances,
    names: Names<'a>,
    /// What workers handed over, by serial.
    buffers: FxHashMap<u64, Pending>,
    /// Where each instance is: the buffer, and its index there.
    pending: BTreeMap<(RowKey, u64), (u64, u32)>,
    /// Calls, messages and passes in them.
    n_pending: usize,
    /// The causes of pending waits.
    causes: Vec<Cause>,
    by_cause: FxHashMap<Cause, u32>,
    /// What is passed on together.
    ready: RowBuffer,
}

/// A buffer, and how many of its instances were not yet passed on.
struct Pending {
    buffer: RowBuffer,
    n_left: usize,
}

impl<'a, 't> InOrder<'a, 't> {
    pub(super) fn new(
        run: &'a Run<'a>,
        communicators: &'a Communicators,
        taker: &'t mut dyn TakeInstances,
    ) -> Self {
        Self {
            taker,
            names: Names::new(run, communicators),
            buffers: FxHashMap::default(),
            pending: BTreeMap::new(),
            n_pending: 0,
            causes: Vec::new(),
            by_cause: FxHashMap::default(),
            ready: RowBuffer::default(),
        }
    }

    /// What numbers of operations and causes stand for.
    pub(super) fn finish(self) -> (Vec<OperationRow>, Vec<CauseRow>) {
        self.names.finish()
    }

    fn add(&mut self, buffer: RowBuffer) {
        if buffer.instances.is_empty() {
            return;
        }
        for (at, instance) in buffer.instances.iter().enumerate() {
            // Of two that are the same in everything that they are ordered by, either may be first.
            let alike = (instance.key, 0)..=(instance.key, u64::MAX);
            let last = self.pending.range(alike).next_back();
            let nth = last.map_or(0, |((_, nth), _)| nth + 1);
            let place = (buffer.serial, at as u32);
            self.pending.insert((instance.key, nth), place);
        }
        self.n_pending += n_rows(&buffer.calls, &buffer.messages, &buffer.passes);
        let n_left = buffer.instances.len();
        let serial = buffer.serial;
        self.buffers.insert(serial, Pending { buffer, n_left });
    }

    /// Notes the cause of a wait. Of the two parts that the wait of a nonblocking operation may have it is that of the
    /// longer one.
    fn charge(&mut self, charged: &Charged) {
        let (serial, at) = RowBuffer::place_of(charged.id);
        let Some(Pending { buffer, .. }) = self.buffers.get_mut(&serial) else {
            return;
        };
        let [from, to] = [at.checked_sub(1), Some(at)]
            .map(|at| at.map_or(0, |at| buffer.instances[at].ends[0] as usize));
        let calls = &mut buffer.calls[from..to];
        let known = calls.get(charged.slot as usize);
        let place = if known.is_some_and(|call| call.slot == charged.slot) {
            charged.slot as usize
        } else if let Ok(place) = calls.binary_search_by_key(&charged.slot, |call| call.slot) {
            place
        } else {
            // Of a rank that is not wanted.
            return;
        };
        let call = &mut calls[place];
        let before = call.cause().map(|number| self.causes[number as usize]);
        let wait_ns = call.wait_ns().unwrap_or(0);
        let is_kept = before.is_some_and(|before| {
            let twice_ns = charged.wait_ns.saturating_mul(2);
            (twice_ns, before) < (wait_ns, charged.cause)
        });
        if !is_kept {
            let causes = &mut self.causes;
            call.cause = *self.by_cause.entry(charged.cause).or_insert_with(|| {
                causes.push(charged.cause);
                causes.len() as u32 - 1
            });
        }
    }

    /// Passes on an instance with the others that are ready.
    fn pass_on(&mut self, (serial, at): (u64, u32)) {
        let Some(Pending { buffer, n_left }) = self.buffers.get_mut(&serial) else {
            return;
        };
        let at = at as usize;
        let begins = at
            .checked_sub(1)
            .map_or([0; 3], |before| buffer.instances[before].ends);
        let InstanceWithCalls {
            instance,
            calls,
            overlaps,
            messages,
            passes,
        } = buffer.from(begins, &buffer.instances[at]);
        let ready = &mut self.ready;
        let mut instance = *instance;
        instance.operation = self.names.operation(&instance.operation_key);
        let n_before = ready.calls.len();
        ready.calls.extend_from_slice(calls);
        for call in &mut ready.calls[n_before..] {
            if let Some(cause) = call.cause() {
                call.cause = self.names.cause(self.causes[cause as usize]);
            }
        }
        if instance.is_overlapped {
            ready.overlaps.resize(n_before, None);
            ready.overlaps.extend_from_slice(overlaps);
            ready.overlaps.resize(ready.calls.len(), None);
        }
        ready.messages.extend_from_slice(messages);
        ready.passes.extend_from_slice(passes);
        self.n_pending -= n_rows(calls, messages, passes);
        *n_left -= 1;
        if *n_left == 0 {
            self.buffers.remove(&serial);
        }
        ready.end(instance);
    }
}

/// How many rows there are.
fn n_rows(calls: &[CallRow], messages: &[MessageRow], passes: &[PassRow]) -> usize {
    calls.len() + messages.len() + passes.len()
}

impl TakeRows<RowBuffer> for InOrder<'_, '_> {
    fn take(&mut self, rows: Vec<RowBuffer>, charged: Vec<Charged>, until_ns: i64) -> bool {
        for buffer in rows {
            self.add(buffer);
        }
        for charged in &charged {
            self.charge(charged);
        }
        self.ready.clear();
        while let Some(first) = self.pending.first_entry() {
            let (serial, at) = *first.get();
            let buffer = self.buffers.get(&serial).map(|pending| &pending.buffer);
            let is_settled =
                buffer.is_none_or(|of| of.instances[at as usize].settled_ns() < until_ns);
            let is_full = self.n_pending > MOST_PENDING;
            if !(is_settled || until_ns == i64::MAX || is_full) {
                break;
            }
            first.remove();
            self.pass_on((serial, at));
        }
        if self.ready.instances.is_empty() {
            return true;
        }
        self.taker.take(&Rows {
            buffer: &self.ready,
            operations: &self.names.operations,
            causes: &self.names.causes,
        })
    }
}
