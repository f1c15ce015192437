//! Where the records of a process begin, if a ring has overwritten older ones.
//!
//! From that instant on all calls of the process are recorded, and the number of calls begun
//! earlier is known. So a call missing at an earlier position was overwritten, not never made.

use std::collections::BTreeMap;

use collbench_formats::{Initiation, ProcessState, Record, SequenceOf, Window};

use crate::trace::record_at::{CallOrder, RecordAt};
use crate::trace::records::RecordReader;

/// Where the recorded window of one process begins.
#[derive(Debug)]
pub(crate) struct WindowBegin {
    /// Calls entered earlier may have been overwritten.
    pub(crate) ticks: u64,
    /// `None`: it is not known what had begun besides the calls in `calls`.
    pub(crate) state: Option<ProcessState>,
    /// By index of the communicator: calls of the application, and of the MPI library itself (the
    /// lower 32 bits), that had begun.
    pub(crate) calls: BTreeMap<u32, [u64; 2]>,
    /// By index of the persistent collective: starts that had begun.
    pub(crate) starts: BTreeMap<u32, u64>,
}

impl WindowBegin {
    /// `None` if nothing was overwritten.
    pub(crate) fn of(window: Option<&Window<'_>>) -> Option<Self> {
        let window = window.filter(|window| window.is_cut())?;
        let mut this = Self {
            ticks: window.begin_ticks,
            state: window.process_state(),
            calls: BTreeMap::new(),
            starts: BTreeMap::new(),
        };
        for entry in window.sequences {
            match entry.of() {
                SequenceOf::Communicator(index) => {
                    // A damaged count must leave room to count on.
                    let calls = entry.calls.get().min(1 << 62);
                    let internal = u64::from(entry.internal_calls.get());
                    this.calls.insert(index, [calls, internal]);
                }
                SequenceOf::Persistent { definition, starts } => {
                    this.starts.insert(definition, starts.min(1 << 62));
                }
                SequenceOf::Process(_) => {}
            }
        }
        Some(this)
    }

    /// Whether the process has made the call at a position of a call order of its communicator (or
    /// persistent collective) `index` before, if it is not there.
    pub(crate) fn has_lost(&self, call_order: CallOrder, index: u32, position: u64) -> bool {
        match call_order {
            CallOrder::Application => match self.calls.get(&index) {
                Some([calls, _]) => position < *calls,
                // It was given back before, or is made later.
                None => self.state.is_none_or(|state| index < state.n_communicators),
            },
            CallOrder::Internal => match self.calls.get(&index) {
                Some([_, internal]) => position < *internal,
                None => self.state.is_none_or(|state| index < state.n_communicators),
            },
            // It knows the communicator: so it has made it.
            CallOrder::Creation => true,
            CallOrder::Persistent(_) => match self.starts.get(&index) {
                Some(starts) => position < *starts,
                None => self.state.is_none_or(|state| index < state.n_persistents),
            },
        }
    }

    /// When the last of the collectives begun before the window was completed, ticks; 0: none was.
    pub(crate) fn last_completed(&self, reader: &RecordReader<'_>) -> u64 {
        let mut last = 0;
        for (chunk, of) in (0..).zip(reader.chunks()) {
            let mut at = 0;
            while at < of.records.len() {
                let record = at as u32;
                let records = reader.slice(RecordAt { chunk, record }, of.records.len() - at);
                let before = records.iter().filter(|record| self.completes_older(record));
                let ends = before.map(|record| match record.leave.get() {
                    0 => u64::MAX,
                    leave => leave,
                });
                last = ends.fold(last, u64::max);
                at += records.len().max(1);
            }
        }
        last
    }

    /// Whether a record is the completion of a collective that had begun before.
    fn completes_older(&self, record: &Record) -> bool {
        let completion = record.completion();
        completion.is_some_and(|completion| match completion.of {
            Initiation::Nonblocking {
                communicator,
                position,
            } => self.has_lost(CallOrder::Application, communicator, position),
            Initiation::Persistent { definition, start } => {
                self.has_lost(CallOrder::Persistent(0), definition, start)
            }
        })
    }
}
