//! From where a process makes its calls: what the last note of each thread said.

use std::collections::BTreeMap;

use collbench_formats::{CallSiteChange, Note, Record};

use crate::trace::call_sites::NO_SITE;

/// The call sites of the next calls of the threads of a process.
#[derive(Debug)]
pub(crate) struct NotedSites<'a> {
    /// The numbers of the call sites of the process, by its own index.
    numbers: &'a [u32],
    by_thread: BTreeMap<u32, u32>,
}

impl<'a> NotedSites<'a> {
    /// Nothing noted yet; `numbers` are those of the call sites of the process, by its own index.
    pub(crate) fn new(numbers: &'a [u32]) -> Self {
        Self {
            numbers,
            by_thread: BTreeMap::new(),
        }
    }

    /// Whether there may be any.
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// A chunk of a thread begins: notes in the one before do not hold for it.
    pub(crate) fn begin_chunk(&mut self, thread: u32) {
        self.by_thread.remove(&thread);
    }

    /// Takes a note of a thread.
    pub(crate) fn take(&mut self, thread: u32, change: CallSiteChange) {
        let number = change.known().and_then(|index| {
            let number = self.numbers.get(index as usize).copied();
            number.filter(|&number| number != NO_SITE)
        });
        match number {
            Some(number) => self.by_thread.insert(thread, number),
            None => self.by_thread.remove(&thread),
        };
    }

    /// Takes the last note among some records of a thread that are passed over.
    pub(crate) fn pass_over(&mut self, thread: u32, records: &[Record]) {
        let notes = records.iter().rev().filter_map(Record::note);
        let mut changes = notes.filter_map(|note| match note {
            Note::CallSite(change) => Some(change),
            _ => None,
        });
        if let Some(last) = changes.next() {
            self.take(thread, last);
        }
    }

    /// The number of the call site of the next call of a thread, or [`NO_SITE`].
    #[inline]
    pub(crate) fn of_thread(&self, thread: u32) -> u32 {
        if self.by_thread.is_empty() {
            return NO_SITE;
        }
        self.by_thread.get(&thread).copied().unwrap_or(NO_SITE)
    }
}
