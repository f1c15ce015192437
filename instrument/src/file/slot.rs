//! The slots of a mapped chunk: where each has room for one record, which a thread fills in place.
//!
//! All arithmetic on addresses of records is here. A slot is filled by the thread that has taken it:
//! the second and third word first, then the enter time ([`Slot::stamp`]), with which the record is that
//! of a call under way, and last the leave time ([`Slot::leave`]), with which it is there. Whoever reads
//! the file looks at these two first, so they are stored by atomics, and the other two before them.

use std::ffi::c_int;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use collbench_formats::{
    CHUNK_ALIGN, CODE_FAILED, ChunkHeader, CommunicatorWord, Record, RecordKind, RecordWord,
    SequenceEntry,
};

use super::chunk::OpenChunk;

/// Bytes of a slot.
const SLOT: usize = size_of::<Record>();

/// The words of a record.
const ENTER: usize = 0;
const CODE: usize = 1;
const PLACE: usize = 2;
const LEAVE: usize = 3;

const _: () = {
    const WORD: usize = size_of::<u64>();
    assert!(SLOT == 4 * WORD);
    assert!(offset_of!(Record, enter) == ENTER * WORD);
    assert!(offset_of!(Record, payload) == CODE * WORD);
    assert!(size_of::<RecordWord>() == WORD);
    assert!(offset_of!(Record, communicator) == PLACE * WORD);
    assert!(size_of::<CommunicatorWord>() == WORD);
    assert!(offset_of!(Record, leave) == LEAVE * WORD);
    // Words of slots are aligned: chunks are, and the header and table in front of them.
    assert!(CHUNK_ALIGN.is_multiple_of(SLOT as u64));
    assert!(ChunkHeader::content_offset(0).is_multiple_of(align_of::<AtomicU64>()));
    assert!(size_of::<SequenceEntry>().is_multiple_of(align_of::<AtomicU64>()));
    // There are as many bytes in front of the first slot.
    assert!(ChunkHeader::content_offset(0) >= SLOT);
    // Addresses are numbers of the same size as words.
    assert!(size_of::<usize>() == WORD && size_of::<*mut u64>() == WORD);
};

/// Extent for a record in a mapped chunk, of the thread that has taken it; or nowhere.
///
/// Invariant: null, or the address of four aligned words in a chunk that stays mapped as
/// [`SlotCursor::open`] demands, which only the thread that took the slot stores into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot(*mut u64);

// SAFETY: by the invariant another thread may load what stands there: the words that it looks at (all but
// the third) are stored by atomics.
unsafe impl Send for Slot {}

impl Slot {
    /// Where nothing is recorded.
    pub(crate) const NONE: Self = Self(std::ptr::null_mut());

    #[inline]
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    /// A word of the record.
    ///
    /// # Safety
    /// The slot is not null, and `number` is that of a word.
    #[inline(always)]
    unsafe fn atomic(&self, number: usize) -> &AtomicU64 {
        // SAFETY: the invariant of `Slot`, which the caller has looked at.
        unsafe { AtomicU64::from_ptr(self.0.add(number)) }
    }

    /// Stores all but the times.
    #[inline]
    pub(crate) fn write(self, [second, third]: [u64; 2]) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: the invariant of `Slot`; nobody else stores or loads the third word meanwhile.
        unsafe {
            self.atomic(CODE).store(second, Ordering::Relaxed);
            self.0.add(PLACE).write(third);
        }
    }

    /// Stores the enter time: with it the record is that of a call under way.
    #[inline]
    pub(crate) fn stamp(self, ticks: u64) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: the invariant of `Slot`.
        unsafe { self.atomic(ENTER) }.store(ticks, Ordering::Release);
    }

    /// Stores the leave time: with it the record is there.
    #[inline]
    pub(crate) fn leave(self, code: c_int, ticks: u64) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: the invariant of `Slot`; a full chunk stays mapped while a call in it is under way.
        unsafe {
            if code != 0 {
                let word = RecordWord::from_bits(self.atomic(CODE).load(Ordering::Relaxed));
                self.atomic(CODE)
                    .store(word.with(CODE_FAILED).bits(), Ordering::Relaxed);
            }
            self.atomic(LEAVE).store(ticks, Ordering::Release);
        }
    }

    /// Stores the leave time of a message that was there when the library's call returned.
    #[inline]
    pub(crate) fn leave_at_once(self, code: c_int, ticks: u64) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: the invariant of `Slot`.
        unsafe {
            let word = RecordWord::from_bits(self.atomic(CODE).load(Ordering::Relaxed));
            self.atomic(CODE)
                .store(word.at_once().bits(), Ordering::Relaxed);
        }
        self.leave(code, ticks);
    }

    /// Stores which communicator a constructor has made.
    pub(crate) fn made(self, index: u32) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: the invariant of `Slot`.
        unsafe {
            let word = CommunicatorWord::from_bits(self.0.add(PLACE).read());
            let word = word.with_root(index.cast_signed());
            self.0.add(PLACE).write(word.bits());
        }
    }

    /// When the call was entered, ticks; 0: not yet, or nothing is recorded.
    pub(crate) fn enter_ticks(self) -> u64 {
        self.word(ENTER)
    }

    /// When the call was left, ticks; 0: not yet, or nothing is recorded.
    pub(crate) fn leave_ticks(self) -> u64 {
        self.word(LEAVE)
    }

    /// Whether nothing is to be stored any more.
    pub(crate) fn has_left(self) -> bool {
        self.0.is_null() || self.leave_ticks() != 0
    }

    /// The second word of the record: payload and code.
    pub(crate) fn code_word(self) -> RecordWord {
        RecordWord::from_bits(self.word(CODE))
    }

    #[inline]
    fn word(self, number: usize) -> u64 {
        if self.0.is_null() {
            return 0;
        }
        // SAFETY: the invariant of `Slot`.
        unsafe { self.atomic(number) }.load(Ordering::Acquire)
    }

    /// The record as far as it is there; for the thread that has taken the slot.
    pub(crate) fn record(self) -> Option<Record> {
        // SAFETY: the invariant of `Slot`, and nobody stores into it now.
        (!self.0.is_null()).then(|| unsafe { self.0.cast::<Record>().read() })
    }

    /// When the call in the slot before this one was entered, if it is still under way; `None` where
    /// there is none.
    pub(crate) fn entered_before(self) -> Option<u64> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: before the first slot of a chunk are its header and table, which are as long, and whose
        // words are no call's: where the kind of a record would stand, they are counts.
        let [enter, word, _, leave] = unsafe { self.0.sub(4).cast::<[u64; 4]>().read() };
        let is_call = RecordWord::from_bits(word).is_of(RecordKind::Call);
        (is_call && leave == 0 && enter != 0).then_some(enter)
    }
}

/// How far a thread has filled its chunk: the next slot, and the end.
#[derive(Debug, Default)]
pub(crate) struct SlotCursor {
    /// Address of the next free slot, and of the end of the chunk: equal when it is full, the end 0
    /// when recording has stopped.
    next: AtomicUsize,
    end: AtomicUsize,
}

impl SlotCursor {
    /// Goes on at the beginning of a chunk.
    ///
    /// # Safety
    /// The chunk stays mapped as long as anything is stored into what is taken of it. No other cursor
    /// gives it out, and no definitions are appended to it.
    pub(crate) unsafe fn open(&self, chunk: &OpenChunk) {
        let first = chunk.content() as usize;
        let n_slots = chunk.content_bytes() / SLOT;
        self.next.store(first, Ordering::Relaxed);
        self.end.store(first + n_slots * SLOT, Ordering::Relaxed);
    }

    /// Takes the next slot; `None` where the chunk is full, or recording has ended. For the thread whose
    /// cursor it is.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<Slot> {
        let slot = self.next.load(Ordering::Relaxed);
        (slot < self.end.load(Ordering::Relaxed)).then(|| {
            self.next.store(slot + SLOT, Ordering::Relaxed);
            Slot(slot as *mut u64)
        })
    }

    /// Takes the first slot of a chunk that was just opened, also where recording has ended since.
    pub(crate) fn take_first(&self) -> Slot {
        let slot = self.next.load(Ordering::Relaxed);
        self.next.store(slot + SLOT, Ordering::Relaxed);
        Slot(slot as *mut u64)
    }

    /// Whether [`take`](Self::take) gives nothing.
    pub(crate) fn is_at_end(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.end.load(Ordering::Relaxed)
    }

    /// Gives out nothing more. Other threads may call this.
    pub(crate) fn stop(&self) {
        self.end.store(0, Ordering::Relaxed);
    }

    /// Address of the next slot.
    pub(crate) fn next(&self) -> usize {
        self.next.load(Ordering::Acquire)
    }

    /// The slots that were taken of the chunk; none without one.
    pub(crate) fn taken(&self, chunk: Option<&OpenChunk>) -> Slots {
        let end = self.next();
        Slots {
            first: chunk.map_or(end, |chunk| chunk.content() as usize),
            end,
        }
    }
}

impl OpenChunk {
    /// Whether a slot is one of this chunk.
    pub(crate) fn has(&self, slot: Slot) -> bool {
        let first = self.content() as usize;
        (first..first + self.content_bytes()).contains(&slot.address())
    }
}

/// Slots that were taken, side by side in one chunk, which must stay mapped as long as they are used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots {
    /// Addresses of the first one, and behind the last one.
    first: usize,
    end: usize,
}

impl Slots {
    pub(crate) fn len(&self) -> usize {
        (self.end - self.first) / SLOT
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> usize {
        self.end - self.first
    }

    /// Address behind the last one.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    pub(crate) fn has(&self, slot: Slot) -> bool {
        (self.first..self.end).contains(&slot.address())
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Slot> + use<> {
        let first = self.first;
        (0..self.len()).map(move |i| Slot((first + i * SLOT) as *mut u64))
    }

    /// The last one.
    pub(crate) fn last(&self) -> Option<Slot> {
        self.iter().next_back()
    }

    /// Those before a slot among them.
    pub(crate) fn before(self, slot: Slot) -> Self {
        Self {
            end: slot.address().max(self.first),
            ..self
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use collbench_formats::Operation;

    use super::*;

    /// A slot at any address, of which only that is looked at.
    pub(crate) fn slot_at(address: usize) -> Slot {
        Slot(std::ptr::without_provenance_mut(address))
    }

    /// The slots in which records stand that are read only.
    pub(crate) fn slots_of(records: &[Record]) -> Slots {
        let first = records.as_ptr() as usize;
        Slots {
            first,
            end: first + size_of_val(records),
        }
    }

    #[test]
    fn a_record_is_stored_word_by_word_and_read_as_a_whole() {
        let mut words = [[0u64; 4]; 2];
        let slots = Slots {
            first: words.as_mut_ptr() as usize,
            end: words.as_mut_ptr() as usize + 2 * SLOT,
        };
        let [before, slot] = [0, 1].map(|i| slots.iter().nth(i).unwrap());
        before.write([RecordWord::call(Operation::Barrier, 0, 0).bits(), 0]);
        before.stamp(3);
        assert_eq!(slot.entered_before(), Some(3));
        slot.write([
            RecordWord::call(Operation::CommDup, 0, 0).bits(),
            CommunicatorWord::new(5, 9).bits(),
        ]);
        slot.stamp(4);
        slot.made(11);
        let record = slot.record().unwrap();
        assert!(record.is_in_flight() && !slot.has_left());
        assert_eq!((record.communicator.get(), record.root.get()), (5, 11));
        slot.leave(1, 6);
        let record = slot.record().unwrap();
        assert_eq!((record.enter.get(), record.leave.get()), (4, 6));
        assert_eq!(record.code.get() & CODE_FAILED, CODE_FAILED);
        assert!(slots.has(slot) && !slots.before(slot).has(slot));
        assert_eq!(slots.last().map(Slot::address), Some(slot.address()));
        before.leave(0, 8);
        assert_eq!(slot.entered_before(), None);
    }
}
