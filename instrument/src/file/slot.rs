//! The slots of a mapped chunk: each is the space of one record, which a thread fills in place.
//!
//! All arithmetic on addresses of records is here. The thread that has taken a slot fills it: the
//! second and third word first, then the enter time ([`Slot::stamp`]), which makes it the record of
//! a call under way, and last the leave time ([`Slot::leave`]), which makes it complete. Readers of
//! the file look at these two times first, so they are stored by atomics, after the other two
//! words.

use std::ffi::c_int;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use collbench_formats::{
    CHUNK_ALIGN, CODE_FAILED, ChunkHeader, CommunicatorWord, Record, RecordKind, RecordWord,
    SequenceEntry,
};

use super::chunk::OpenChunk;

/// Size of a slot, bytes.
const SLOT: usize = size_of::<Record>();

/// Indexes of the words of a record.
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
    // The words of slots are aligned, since chunks are, and so are the header and table before
    // them.
    assert!(CHUNK_ALIGN.is_multiple_of(SLOT as u64));
    assert!(ChunkHeader::content_offset(0).is_multiple_of(align_of::<AtomicU64>()));
    assert!(size_of::<SequenceEntry>().is_multiple_of(align_of::<AtomicU64>()));
    // At least as many bytes precede the first slot.
    assert!(ChunkHeader::content_offset(0) >= SLOT);
    // Addresses have the size of words.
    assert!(size_of::<usize>() == WORD && size_of::<*mut u64>() == WORD);
};

/// The space of a record in a mapped chunk, or [`NONE`](Self::NONE).
///
/// Invariant: null, or the address of four aligned words in a chunk that stays mapped as
/// [`SlotCursor::open`] requires, into which only the thread that took the slot stores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot(*mut u64);

// SAFETY: by the invariant another thread may only load its contents, and the words that it loads
// (all but the third) are stored by atomics.
unsafe impl Send for Slot {}

impl Slot {
    /// The slot of a call that is not recorded.
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
    /// The slot is not null, and `number` is the index of a word.
    #[inline(always)]
    unsafe fn atomic(&self, number: usize) -> &AtomicU64 {
        // SAFETY: the invariant of `Slot`; the caller has checked that it is not null.
        unsafe { AtomicU64::from_ptr(self.0.add(number)) }
    }

    /// Stores all words but the times.
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

    /// Stores the enter time, which makes it the record of a call under way.
    #[inline]
    pub(crate) fn stamp(self, ticks: u64) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: by the invariant of `Slot`, it is the address of a record; it was checked not to
        // be null.
        unsafe { self.atomic(ENTER) }.store(ticks, Ordering::Release);
    }

    /// Stores the leave time, which makes the record complete.
    #[inline]
    pub(crate) fn leave(self, code: c_int, ticks: u64) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: the invariant of `Slot`; a full chunk stays mapped while a call in it is under
        // way.
        unsafe {
            if code != 0 {
                let word = RecordWord::from_bits(self.atomic(CODE).load(Ordering::Relaxed));
                self.atomic(CODE)
                    .store(word.with(CODE_FAILED).bits(), Ordering::Relaxed);
            }
            self.atomic(LEAVE).store(ticks, Ordering::Release);
        }
    }

    /// Stores the leave time of a message that had arrived when the library's call returned.
    #[inline]
    pub(crate) fn leave_immediately(self, code: c_int, ticks: u64) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: by the invariant of `Slot`, it is the address of a record; it was checked not to
        // be null.
        unsafe {
            let word = RecordWord::from_bits(self.atomic(CODE).load(Ordering::Relaxed));
            self.atomic(CODE)
                .store(word.at_once().bits(), Ordering::Relaxed);
        }
        self.leave(code, ticks);
    }

    /// Stores the index of the communicator that a constructor created.
    pub(crate) fn made(self, index: u32) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: by the invariant of `Slot`, it is the address of a record; it was checked not to
        // be null.
        unsafe {
            let word = CommunicatorWord::from_bits(self.0.add(PLACE).read());
            let word = word.with_root(index.cast_signed());
            self.0.add(PLACE).write(word.bits());
        }
    }

    /// When the call was entered, ticks; 0 if it was not entered yet, or is not recorded.
    pub(crate) fn enter_ticks(self) -> u64 {
        self.word(ENTER)
    }

    /// When the call was left, ticks; 0 if it was not left yet, or is not recorded.
    pub(crate) fn leave_ticks(self) -> u64 {
        self.word(LEAVE)
    }

    /// Whether nothing more will be stored into it.
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
        // SAFETY: by the invariant of `Slot`, it is the address of a record; it was checked not to
        // be null.
        unsafe { self.atomic(number) }.load(Ordering::Acquire)
    }

    /// The current contents of the record; only for the thread that has taken the slot.
    pub(crate) fn record(self) -> Option<Record> {
        // SAFETY: the invariant of `Slot`, and nobody stores into it now.
        (!self.0.is_null()).then(|| unsafe { self.0.cast::<Record>().read() })
    }

    /// The latest time in the slot before this one, ticks; 0 if it has none. Only for a slot that is
    /// not the first of its chunk.
    #[inline]
    pub(crate) fn time_before(self) -> u64 {
        if self.0.is_null() {
            return 0;
        }
        // SAFETY: there is a slot before it; even at the begin of a chunk there are words, its
        // header and table.
        let before = Self(unsafe { self.0.sub(4) });
        before.enter_ticks().max(before.leave_ticks())
    }

    /// When the call in the slot before this one was entered, ticks, if it is still under way;
    /// `None` if there is no such call.
    pub(crate) fn entered_before(self) -> Option<u64> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: the header and table of a chunk precede its first slot, and are at least as long
        // as a slot. Their words are not taken for a call: where the kind of a record would be,
        // they have counts.
        let [enter, word, _, leave] = unsafe { self.0.sub(4).cast::<[u64; 4]>().read() };
        let is_call = RecordWord::from_bits(word).is_of(RecordKind::Call);
        (is_call && leave == 0 && enter != 0).then_some(enter)
    }
}

/// How far a thread has filled its chunk: the next slot, and the end of the chunk.
#[derive(Debug, Default)]
pub(crate) struct SlotCursor {
    /// Addresses of the next free slot and of the end of the chunk. They are equal if the chunk is
    /// full; the end is 0 if recording has stopped, or the cursor is held.
    next: AtomicUsize,
    end: AtomicUsize,
    /// Address of the end of the chunk; 0 if recording has stopped.
    end_of_chunk: AtomicUsize,
}

impl SlotCursor {
    /// Continues at the begin of a chunk.
    ///
    /// # Safety
    /// The chunk stays mapped as long as anything is stored into slots that are taken from it. No
    /// other cursor uses it, and no definitions are appended to it.
    pub(crate) unsafe fn open(&self, chunk: &OpenChunk) {
        let first = chunk.content() as usize;
        let n_slots = chunk.content_bytes() / SLOT;
        self.next.store(first, Ordering::Relaxed);
        let end = first + n_slots * SLOT;
        self.end_of_chunk.store(end, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
    }

    /// Makes [`take`](Self::take) return `None` until [`release`](Self::release) is called. Only for
    /// the thread that the cursor belongs to.
    #[inline(always)]
    pub(crate) fn hold(&self) {
        self.end.store(0, Ordering::Relaxed);
    }

    /// Ends what [`hold`](Self::hold) has begun. Only for the thread that the cursor belongs to, and
    /// where no signal handler opens a chunk: on a guarded path. If another thread stops recording
    /// meanwhile, the cursor may go on.
    pub(crate) fn release(&self) {
        let end = self.end_of_chunk.load(Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
    }

    /// Takes the next slot; `None` if the chunk is full, or recording has ended. Only for the
    /// thread that the cursor belongs to.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<Slot> {
        let slot = self.next.load(Ordering::Relaxed);
        (slot < self.end.load(Ordering::Relaxed)).then(|| {
            self.next.store(slot + SLOT, Ordering::Relaxed);
            Slot(slot as *mut u64)
        })
    }

    /// Takes the next two slots; `None` if there are not as many, or recording has ended. Only for
    /// the thread that the cursor belongs to.
    #[inline]
    pub(crate) fn take_two(&self) -> Option<[Slot; 2]> {
        let first = self.next.load(Ordering::Relaxed);
        self.has_two().then(|| {
            self.next.store(first + 2 * SLOT, Ordering::Relaxed);
            [first, first + SLOT].map(|slot| Slot(slot as *mut u64))
        })
    }

    /// Whether [`take_two`](Self::take_two) returns two slots.
    pub(crate) fn has_two(&self) -> bool {
        self.next.load(Ordering::Relaxed) + SLOT < self.end.load(Ordering::Relaxed)
    }

    /// Leaves the rest of the chunk unused. Only for the thread that the cursor belongs to.
    pub(crate) fn skip_rest(&self) {
        self.end.store(self.next(), Ordering::Relaxed);
    }

    /// Takes the first slot of a chunk that was just opened, even if recording has ended since.
    pub(crate) fn take_first(&self) -> Slot {
        let slot = self.next.load(Ordering::Relaxed);
        self.next.store(slot + SLOT, Ordering::Relaxed);
        Slot(slot as *mut u64)
    }

    /// Whether [`take`](Self::take) returns `None`.
    pub(crate) fn is_at_end(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.end.load(Ordering::Relaxed)
    }

    /// Makes [`take`](Self::take) return `None` from now on. Other threads may call this.
    pub(crate) fn stop(&self) {
        self.end_of_chunk.store(0, Ordering::Relaxed);
        self.end.store(0, Ordering::Relaxed);
    }

    /// Address of the next slot.
    pub(crate) fn next(&self) -> usize {
        self.next.load(Ordering::Acquire)
    }

    /// The slots that were taken from the chunk; empty without a chunk.
    pub(crate) fn taken(&self, chunk: Option<&OpenChunk>) -> Slots {
        let end = self.next();
        Slots {
            first: chunk.map_or(end, |chunk| chunk.content() as usize),
            end,
        }
    }
}

impl OpenChunk {
    /// Whether a slot belongs to this chunk.
    pub(crate) fn has(&self, slot: Slot) -> bool {
        let first = self.content() as usize;
        (first..first + self.content_bytes()).contains(&slot.address())
    }
}

/// Contiguous slots of one chunk that were taken. The chunk must stay mapped while they are used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots {
    /// Addresses of the first slot, and of the end of the last one.
    first: usize,
    end: usize,
}

impl Slots {
    pub(crate) fn len(&self) -> usize {
        (self.end - self.first) / SLOT
    }

    /// Size of all slots, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.end - self.first
    }

    /// Address of the end of the last slot.
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

    /// The last slot.
    pub(crate) fn last(&self) -> Option<Slot> {
        self.iter().next_back()
    }

    /// The slots before one of them.
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

    /// A slot at any address, of which only the address is used.
    pub(crate) fn slot_at(address: usize) -> Slot {
        Slot(std::ptr::without_provenance_mut(address))
    }

    /// Slots with these records, which are only read.
    pub(crate) fn slots_of(records: &[Record]) -> Slots {
        let first = records.as_ptr() as usize;
        Slots {
            first,
            end: first + size_of_val(records),
        }
    }

    #[test]
    fn a_record_is_stored_by_words_and_read_as_a_record() {
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
