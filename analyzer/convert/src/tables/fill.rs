//! Instances to rows of tables.

use collbench_analyzer::rows::{InstanceState, InstanceWithCalls, Rows};

use super::WriteTables;
use super::batch::Batch;
use super::schema::{CALLS, INSTANCES, MESSAGES, PASSES};
use crate::error::ExportError;

/// Rows that are written together, at least.
const ROWS: usize = 1 << 13;

/// Indexes of the columns of [`CALLS`] with texts.
const CALL_OPERATION: usize = 3;
const CALL_CAUSE: usize = 16;
const CALL_ALGORITHM: usize = 18;

/// Fills the tables that have a row for each instance, call, message or pass.
#[derive(Debug)]
pub struct RowTables {
    calls: Batch,
    instances: Batch,
    messages: Batch,
    passes: Batch,
    /// By number of an operation: the numbers of its name and of its algorithm in `calls`.
    operations: Vec<(u32, Option<u32>)>,
    /// By number of a cause: the number of its kind in `calls`.
    causes: Vec<u32>,
    /// The number of the next instance.
    next: u64,
    /// Whether messages were recorded in any of them.
    has_messages: bool,
}

impl Default for RowTables {
    fn default() -> Self {
        Self {
            calls: Batch::new(&CALLS),
            instances: Batch::new(&INSTANCES),
            messages: Batch::new(&MESSAGES),
            passes: Batch::new(&PASSES),
            operations: Vec::new(),
            causes: Vec::new(),
            next: 0,
            has_messages: false,
        }
    }
}

impl RowTables {
    /// Takes instances; writes rows as soon as there are many.
    ///
    /// # Errors
    /// [`ExportError`] if they cannot be written.
    pub fn take(
        &mut self,
        rows: &Rows<'_>,
        writer: &mut dyn WriteTables,
    ) -> Result<(), ExportError> {
        for operation in &rows.operations[self.operations.len()..] {
            let name = self.calls.number_of(CALL_OPERATION, operation.operation);
            let algorithm = operation.algorithm.as_deref();
            let algorithm = algorithm.map(|name| self.calls.number_of(CALL_ALGORITHM, name));
            self.operations.push((name, algorithm));
        }
        for cause in &rows.causes[self.causes.len()..] {
            let kind = self.calls.number_of(CALL_CAUSE, cause.kind.code());
            self.causes.push(kind);
        }
        for of in rows.instances() {
            self.add_calls(&of);
            self.add_instance(&of, rows);
            self.add_inside(&of);
            self.next += 1;
            self.has_messages |= of.instance.has_messages;
            self.write(writer, ROWS)?;
        }
        Ok(())
    }

    /// Writes what is left; gives whether messages were recorded in any instance.
    ///
    /// # Errors
    /// [`ExportError`] if it cannot be written.
    pub fn finish(mut self, writer: &mut dyn WriteTables) -> Result<bool, ExportError> {
        self.write(writer, 1).map(|()| self.has_messages)
    }

    fn write(&mut self, writer: &mut dyn WriteTables, least: usize) -> Result<(), ExportError> {
        let batches = [
            &mut self.calls,
            &mut self.instances,
            &mut self.messages,
            &mut self.passes,
        ];
        for batch in batches {
            if batch.n_rows() >= least {
                if writer.wants(batch.schema.name) {
                    writer.write(batch)?;
                }
                batch.clear();
            }
        }
        Ok(())
    }

    fn add_calls(&mut self, of: &InstanceWithCalls<'_>) {
        let instance = of.instance;
        let (operation, algorithm) = self.operations[instance.operation as usize];
        let is_complete = instance.state == InstanceState::Complete;
        for (at, call) in of.calls.iter().enumerate() {
            let overlap = of.overlaps.get(at).copied().flatten();
            let cause = call.cause();
            self.calls
                .int(self.next)
                .int(call.rank)
                .int(call.thread)
                .numbered(Some(operation))
                .int(instance.operation)
                .maybe(instance.entry())
                .maybe(instance.root())
                .maybe(call.bytes())
                .int(call.enter_ns)
                .maybe(call.leave_ns())
                .maybe(overlap.map(|overlap| overlap.initiated_ns))
                .maybe(overlap.and_then(|overlap| overlap.completing_ns))
                .maybe(call.time_ns())
                .maybe(call.wait_ns())
                .maybe(call.waited_for())
                .maybe(cause)
                .numbered(cause.map(|cause| self.causes[cause as usize]))
                .maybe(call.site())
                .numbered(algorithm)
                .truth(Some(is_complete));
        }
    }

    fn add_instance(&mut self, of: &InstanceWithCalls<'_>, rows: &Rows<'_>) {
        let instance = of.instance;
        let operation = &rows.operations[instance.operation as usize];
        self.instances
            .int(self.next)
            .text(Some(operation.operation))
            .int(instance.operation)
            .maybe(instance.entry())
            .maybe(instance.position())
            .maybe(instance.root())
            .text(Some(state(instance.state)))
            .maybe(instance.phase)
            .int(instance.first_enter_ns)
            .int(instance.last_enter_ns)
            .maybe(instance.last_leave_ns)
            .maybe(instance.duration_ns)
            .maybe(instance.core_ns)
            .maybe(instance.last)
            .int(of.calls.len());
    }

    fn add_inside(&mut self, of: &InstanceWithCalls<'_>) {
        for message in of.messages {
            self.messages
                .int(self.next)
                .int(message.sender)
                .int(message.receiver)
                .int(message.bytes)
                .int(message.sent_ns)
                .int(message.send_returned_ns)
                .int(message.posted_ns)
                .maybe(message.received_ns)
                .truth(message.is_resolved);
        }
        for pass in of.passes {
            self.passes
                .int(self.next)
                .int(pass.rank)
                .int(pass.tree)
                .int(pass.collector)
                .int(pass.segment)
                .maybe(pass.down_ns)
                .maybe(pass.up_ns);
        }
    }
}

/// The state of an instance, as the tables have it.
fn state(state: InstanceState) -> &'static str {
    match state {
        InstanceState::Complete => "complete",
        InstanceState::Failed => "failed",
        InstanceState::Incomplete => "incomplete",
        InstanceState::Cut => "cut",
        InstanceState::Unmatched => "unmatched",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_calls_stand_in_their_columns() {
        let name = |at: usize| CALLS.columns[at].name;
        assert_eq!(
            [CALL_OPERATION, CALL_CAUSE, CALL_ALGORITHM].map(name),
            ["operation", "cause", "algorithm"]
        );
    }
}
