//! From where a process makes its calls: what notes say, and what follows from those before.

use std::collections::BTreeMap;

use collbench_formats::{CallSiteForecast, NO_CALL_SITE, Note, Record};

use crate::trace::call_sites::NO_SITE;
use crate::trace::record_at::RecordAt;

/// The call sites of the calls of the threads of a process.
#[derive(Debug)]
pub(crate) struct NotedSites<'a> {
    /// The numbers of the call sites of the process, by its own index.
    numbers: &'a [u32],
    by_thread: BTreeMap<u32, OfThread>,
    /// Of the current batch: its first record, and the number of the call site of each.
    first: u32,
    of_batch: Vec<u32>,
}

/// What is known of the next calls of a thread.
#[derive(Debug, Default)]
struct OfThread {
    forecast: CallSiteForecast,
    /// What a note said of all calls that follow, in an older trace.
    of_all: Option<u32>,
}

impl OfThread {
    /// Takes a record; gives the call site of its call, as the process numbers them.
    fn take(&mut self, record: &Record) -> u32 {
        match record.note() {
            Some(Note::CallSite(change)) => self.of_all = Some(change.index),
            Some(Note::NextCallSite(next)) => self.forecast.correct(next.index),
            _ if record.has_call_site() => {
                let forecast = self.forecast.take();
                return self.of_all.unwrap_or(forecast);
            }
            _ => {}
        }
        NO_CALL_SITE
    }
}

impl<'a> NotedSites<'a> {
    /// Nothing noted yet; `numbers` are those of the call sites of the process, by its own index.
    pub(crate) fn new(numbers: &'a [u32]) -> Self {
        Self {
            numbers,
            by_thread: BTreeMap::new(),
            first: 0,
            of_batch: Vec::new(),
        }
    }

    /// Whether there may be any.
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// A chunk of a thread begins: notes in the one before do not hold for it.
    pub(crate) fn begin_chunk(&mut self, thread: u32) {
        if let Some(known) = self.by_thread.get_mut(&thread) {
            known.forecast.begin_chunk();
            known.of_all = None;
        }
    }

    /// Takes the next records of a thread, of which the first is at this location.
    pub(crate) fn take(&mut self, thread: u32, location: RecordAt, records: &[Record]) {
        let known = self.by_thread.entry(thread).or_default();
        self.first = location.record;
        self.of_batch.clear();
        self.of_batch.extend(records.iter().map(|record| {
            let number = self.numbers.get(known.take(record) as usize);
            number.copied().unwrap_or(NO_SITE)
        }));
    }

    /// The number of the call site of a call among the records that were taken last, or [`NO_SITE`].
    #[inline]
    pub(crate) fn at(&self, location: RecordAt) -> u32 {
        let site = self.of_batch.get((location.record - self.first) as usize);
        site.copied().unwrap_or(NO_SITE)
    }
}
