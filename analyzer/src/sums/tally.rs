//! Adds up instances.
//!
//! Memory grows with operations (as distinguished by communicator, root and payload), communicators
//! and processes, not with calls. Each worker has a tally of its own: the context, its sums, and
//! buffers that are reused. The buffers also hold parts of the sums: only [`Tally::finish`] returns
//! complete sums.

mod calls;
pub(crate) mod finalize;
mod instance;
mod wait_causes;

use collbench_causes::{Batch, Spare};

use crate::align::causality::ByHost;
use crate::calls::call::Call;
use crate::communicators::Communicators;
use crate::instances::complete::{CompleteInstance, PayloadSums};
use crate::instances::outcome::{Adder, Outcome};
use crate::measure::algorithm_finder::AlgorithmFinder;
use crate::measure::outside::Figures;
use crate::measure::shapes::Shapes;
use crate::selection::Resolved;
use crate::sums::column_buffer::ColumnBuffer;
use crate::sums::context::Context;
use crate::sums::graphs::figures::GraphScratch;
use crate::sums::graphs::graph_rows::GraphRows;
use crate::sums::graphs::own_trees;
use crate::sums::graphs::own_trees::OwnTreeScratch;
use crate::sums::instances::operation_key::{ByteClass, OperationKey};
use crate::sums::members::MemberColumns;
use crate::sums::mismatch::has_sizes_apart;
use crate::sums::operation::OperationTally;
use crate::sums::rows::{RowBuffer, RowCollector};
use crate::sums::run_sums::Sums;
use crate::sums::shown_at::ShownAt;
use crate::time::clocks::Clocks;
use crate::trace::record_at::CallOrder;
use crate::trace::run::Run;
use calls::PickedCalls;
use instance::Measured;

/// The sums of a worker, and what it adds up with.
pub struct Tally<'a> {
    pub(super) context: Context<'a>,
    pub(super) sums: Sums,
    /// Collects single instances, where these are passed on.
    pub(super) rows: Option<RowCollector<'a>>,
    scratch: Scratch,
}

/// Buffers that are reused for each instance, and what is not yet added to the sums.
#[derive(Default)]
struct Scratch {
    figures: Option<Box<Figures>>,
    calls: PickedCalls,
    times: Vec<i64>,
    shapes: Shapes,
    algorithm_finder: AlgorithmFinder,
    graph_scratch: GraphScratch,
    own_trees: OwnTreeScratch,
    by_host: ByHost,
    /// Where operations were found last.
    cache: OperationCache,
    /// The instances at hand, still to be added to the processes.
    column_buffer: ColumnBuffer,
    /// By number of an operation.
    operations: Vec<OperationScratch>,
    /// What is handed over next, and buffers for that.
    handed_over: Batch,
    spare: Spare,
}

/// What is not yet added to the sums of one operation.
#[derive(Default)]
struct OperationScratch {
    /// The hash of its key.
    hash: u64,
    columns: MemberColumns,
    /// Index of a communicator whose slots are positions, of all of its entry: the last of several.
    in_order: Option<usize>,
    rows: GraphRows,
    /// Index of the communicator whose processes were noted among the late, the last of several.
    noted: Option<usize>,
}

/// A small cache of the numbers of recent operations: consecutive instances are of a few operations
/// on a few communicators.
#[derive(Debug, Default)]
struct OperationCache {
    cells: [Option<(OperationKey, usize)>; 16],
}

impl OperationCache {
    fn cell(key: &OperationKey) -> usize {
        let bits = match key.class {
            ByteClass::PowerOfTwo(bits) => bits as usize,
            ByteClass::Zero | ByteClass::Unknown => 0,
        };
        let entry = key.entry.unwrap_or(0);
        (entry.wrapping_mul(5) ^ key.operation as usize ^ bits) % 16
    }

    #[inline]
    fn number(&self, key: &OperationKey) -> Option<usize> {
        let (known, number) = self.cells[Self::cell(key)].as_ref()?;
        (known == key).then_some(*number)
    }
}

impl<'a> Tally<'a> {
    /// Sums of nothing yet.
    #[must_use]
    pub fn new(
        run: &'a Run<'a>,
        clocks: &'a Clocks,
        communicators: &'a Communicators,
        selection: &'a Resolved,
    ) -> Self {
        Self {
            context: Context::new(run, clocks, communicators, selection),
            sums: Sums::new(run.processes.len()),
            rows: None,
            scratch: Scratch::default(),
        }
    }

    /// Collects the instances, too.
    pub(crate) fn with_rows(mut self, rows: RowCollector<'a>) -> Self {
        self.rows = Some(rows);
        self
    }

    pub(super) fn see(&mut self, call: &Call) {
        if !call.is_timed {
            return;
        }
        self.sums.end_ns = self.sums.end_ns.max(call.last_seen().ns());
    }

    /// A complete instance: everything that is summed up of those begins here.
    fn take_complete(&mut self, instance: &CompleteInstance<'_>) {
        self.sums.end_ns = self.sums.end_ns.max(instance.extent.last_leave);
        if let Some(messages) = &instance.messages {
            self.sums.counts.messages.add(messages);
        }
        if instance.call_order == CallOrder::Internal {
            self.sums.counts.internal_calls += instance.n_calls() as u64;
            return;
        }
        let payloads = instance.payloads.sums(instance.n_calls());
        self.count_calls(instance, &payloads);
        let shown_at = self
            .context
            .shown_at(instance.communicator, instance.called_on);
        let root = instance.root;
        let key = OperationKey {
            entry: Some(shown_at.entry),
            operation: instance.operation,
            root: root.map(|slot| instance.communicator.members[slot].world_rank),
            class: ByteClass::of(payloads.range.map(|(_, greatest)| greatest)),
            algorithm: None,
            reported: instance.reported,
            tree: None,
        };
        let first_enter = instance.extent.first_enter;
        let selection = self.context.selection;
        let is_wanted = selection.has_instance(key.operation, key.entry, first_enter)
            && selection.has_phase(instance.phase);
        if instance.n_failed > 0 {
            if is_wanted {
                self.count_failed(instance, key, &shown_at);
                self.add_rows(instance, key, None);
            }
            self.hand_over_waits(instance, key.stable_hash(), (None, false), 0);
            return;
        }
        if !is_wanted {
            self.take_unwanted(instance, key);
            return;
        }
        self.take_wanted(instance, key, shown_at);
    }

    /// Counts the calls of a complete instance, wanted or not.
    fn count_calls(&mut self, instance: &CompleteInstance<'_>, payloads: &PayloadSums) {
        let context = &self.context;
        let before_ns = |host: usize, time_ns: i64| context.local_ns(host, time_ns);
        let counts = &mut self.sums.counts.causality;
        self.scratch.by_host.count(instance, &before_ns, counts);
        self.sums.n_calls += instance.n_calls() as u64;
        self.sums.n_bytes = self.sums.n_bytes.saturating_add(payloads.n_bytes);
        self.sums.counts.failed += instance.n_failed;
        self.sums.counts.payload_unknown += payloads.n_unknown;
        if has_sizes_apart(instance, payloads) {
            self.take_sizes_apart(instance);
        }
    }

    /// An instance in which calls returned an error: what that took says nothing of the operation. Its
    /// calls are counted, and that is all.
    #[cold]
    fn count_failed(
        &mut self,
        instance: &CompleteInstance<'_>,
        key: OperationKey,
        shown_at: &ShownAt<'_>,
    ) {
        self.sums.counts.failed_instances += 1;
        let number = self.number_of(&key);
        let tally = self.sums.operations.get_mut(number);
        tally.failed += 1;
        for (slot, member) in instance.communicator.members.iter().enumerate() {
            if self.context.selection.has_rank(member.world_rank) {
                tally.calls += 1;
                if let Some(bytes) = instance.payloads.of(slot) {
                    tally.see_bytes(bytes, bytes);
                }
                let process = &mut self.sums.processes[member.process];
                process.count(instance.operation, shown_at.scope, 1);
            }
        }
    }

    /// An instance that is not wanted: it only explains what is.
    #[cold]
    fn take_unwanted(&mut self, instance: &CompleteInstance<'_>, key: OperationKey) {
        let mut figures = self.scratch.figures.take().unwrap_or_default();
        figures.measure(instance, &self.context.resolution);
        self.hand_over_waits(instance, key.stable_hash(), (Some(&figures), false), 0);
        self.scratch.figures = Some(figures);
    }

    /// An instance that is wanted, and in which no call returned an error.
    fn take_wanted(
        &mut self,
        instance: &CompleteInstance<'_>,
        mut key: OperationKey,
        shown_at: ShownAt<'_>,
    ) {
        let Scratch {
            shapes,
            algorithm_finder,
            ..
        } = &mut self.scratch;
        let shape = (instance.messages.as_ref())
            .map(|messages| messages.shape(|| shapes.of(instance, messages)));
        let mut is_contradicted = false;
        key.algorithm = match instance.reported {
            None => shape.as_ref().and_then(|shape| shape.algorithm()),
            Some(reported) => {
                let names = &self.context.run.names;
                let called = algorithm_finder.called(instance, names, reported, shape.as_ref());
                is_contradicted = called.is_contradicted;
                called.algorithm
            }
        };
        key.tree = instance.passes.first().map(|pass| pass.tree);
        let number = self.number_of(&key);
        let mut figures = self.scratch.figures.take().unwrap_or_default();
        figures.measure(instance, &self.context.resolution);
        let measured = Measured {
            instance,
            key: &key,
            number,
            shown_at,
            figures: &figures,
        };
        // To add up something else, do it here, from the instance and its figures, and in
        // `Sums::merge`.
        let section = match self.add_columns(&measured) {
            Some(section) => section,
            None => self.add_calls(&measured),
        };
        if !instance.sites.is_empty() {
            self.add_sites(&measured);
        }
        self.add_to_phase(&measured, section);
        self.add_instance(&measured, shape.as_deref(), section);
        if !instance.passes.is_empty() {
            let tally = self.sums.operations.get_mut(number);
            let trees = &self.context.communicators.trees;
            let from = (trees, &self.context.resolution);
            own_trees::add(
                &mut tally.own_trees,
                (instance, figures.last_enter_ns(instance)),
                from,
                &mut self.scratch.own_trees,
            );
        }
        if let Some(shape) = shape {
            self.add_messages(&measured, &shape, is_contradicted);
        }
        if instance.n_calls() > 1 && figures.has_waits() {
            self.add_lateness(&measured, section);
        }
        let id = self.add_rows(instance, key, Some(&figures));
        let hash = self.scratch.operations[number].hash;
        self.hand_over_waits(instance, hash, (Some(&figures), true), id);
        self.scratch.figures = Some(figures);
    }

    /// Collects a complete instance, where these are passed on; gives its id, else 0. Without figures some of its calls failed.
    #[inline]
    fn add_rows(
        &mut self,
        instance: &CompleteInstance<'_>,
        key: OperationKey,
        figures: Option<&Figures>,
    ) -> u64 {
        let Some(rows) = &mut self.rows else {
            return 0;
        };
        let id = rows.next_id();
        let Context {
            selection,
            resolution,
            ..
        } = &self.context;
        rows.add_complete(instance, key, figures, (selection, resolution));
        id
    }

    /// Adds the instances at hand to the processes.
    fn flush_column_buffer(&mut self) {
        let column_buffer = &mut self.scratch.column_buffer;
        if let Some(communicator) = column_buffer.communicator() {
            let communicator = &self.context.communicators.list[communicator];
            column_buffer.flush(communicator, &mut self.sums.processes);
        }
    }

    /// The number of an operation.
    pub(super) fn number_of(&mut self, key: &OperationKey) -> usize {
        let Scratch {
            cache, operations, ..
        } = &mut self.scratch;
        if let Some(number) = cache.number(key) {
            return number;
        }
        let n_positions = self.context.n_positions(key.entry);
        let new = || OperationTally::new(n_positions);
        let number = self.sums.operations.number_of(*key, new);
        if operations.len() <= number {
            operations.resize_with(number + 1, OperationScratch::default);
            operations[number].hash = key.stable_hash();
        }
        cache.cells[OperationCache::cell(key)] = Some((*key, number));
        number
    }
}

impl Adder for Tally<'_> {
    type Sums = Sums;
    type Rows = RowBuffer;

    fn take(&mut self, matched: Outcome<'_>) {
        match matched {
            // Not moved: it is large.
            Outcome::Complete(ref instance) => self.take_complete(instance),
            Outcome::Irregular {
                instance,
                disagreement,
            } => self.take_irregular(&instance, disagreement),
            Outcome::Unmatched {
                process,
                called_on,
                call,
                is_internal,
            } => self.take_unmatched(process, called_on, &call, is_internal),
            Outcome::Process {
                process,
                call,
                is_first,
            } => {
                self.see(&call);
                if is_first {
                    self.hand_over_begin(process, &call);
                }
            }
            Outcome::Finalize { spans } => self.take_finalize(spans),
            // Their sums are among the findings.
            Outcome::Gap { process, gap } => self.hand_over_gap(process, &gap),
        }
    }

    fn hand_over(&mut self, spare: Spare) -> Batch {
        self.scratch.spare = spare;
        // The next time there will be about as many.
        let n_instances = self.scratch.handed_over.instances.len();
        let next = Batch {
            instances: Vec::with_capacity(n_instances),
            ..Batch::default()
        };
        std::mem::replace(&mut self.scratch.handed_over, next)
    }

    fn give_back_spare(&mut self) -> Spare {
        std::mem::take(&mut self.scratch.spare)
    }

    fn hand_over_rows(&mut self) -> RowBuffer {
        let rows = self.rows.as_mut();
        rows.map_or_else(RowBuffer::default, RowCollector::take)
    }

    fn finish(mut self) -> Sums {
        self.flush_column_buffer();
        let tallies = self.sums.operations.list_mut();
        for (tally, rest) in tallies.iter_mut().zip(self.scratch.operations) {
            rest.columns
                .flush(&mut tally.members, &mut tally.serialization);
            if let Some(inside) = &mut tally.inside {
                inside.add_rows(rest.rows);
            }
        }
        self.sums.even_out_activities();
        self.sums
    }
}
