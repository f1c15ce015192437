//! The places of a ring, into which `--keep last:SIZE` puts chunks.
//!
//! A place is a range of the file for one chunk. The file grows place by place to the size of the
//! ring; from then on a new chunk replaces the oldest one. Places in use are left out: the chunk
//! that a thread stores into, chunks in which a call under way may still store its leave, and
//! chunks of definitions, which are retained. So the file grows beyond its size where no place is
//! free: for threads whose places are all in use, and for definitions beyond half of the size.
//!
//! Pages stay mapped. A process that reads the file at any instant (after a kill, for example)
//! finds in each place a complete old chunk, a complete new one, or [`PLACE_MAGIC`] with a valid
//! length. When a place is reused, this magic is stored first, then the content, then the new
//! header with its magic last.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use collbench_formats::{CHUNK_ALIGN, ChunkHeader, PLACE_MAGIC};

use super::error::GrowError;
use super::growing::{Extent, GrowingFile};
use super::mapping::Mapping;
use super::reserve::make_ready;

/// A ring has about this many places. Each time a place is reused, this fraction of the records is
/// overwritten at once.
const PLACES: u64 = 16;
/// The least number of places for records, whatever the size.
const MIN_PLACES: usize = 4;

/// The places of a rank file.
#[derive(Debug)]
pub(super) struct Ring {
    /// Size of a place, bytes, unless a table needs more.
    place_bytes: u64,
    places: Mutex<Places>,
}

#[derive(Debug)]
struct Places {
    /// The size of the ring, bytes.
    size: u64,
    /// The places, by offset.
    list: Vec<Place>,
    n_chunks: u64,
    /// Size of the places with definitions, bytes.
    definition_bytes: u64,
}

#[derive(Debug)]
struct Place {
    offset: u64,
    /// The user of the chunk also has a reference to it.
    map: Arc<Mapping>,
    /// The number of its chunk among all that were opened, from 1; 0 if it has none.
    chunk_number: u64,
    is_permanent: bool,
}

impl Place {
    fn end(&self) -> u64 {
        self.offset + self.map.len() as u64
    }

    fn is_free(&self) -> bool {
        !self.is_permanent && Arc::strong_count(&self.map) == 1
    }

    /// Removes its chunk: stores [`PLACE_MAGIC`].
    fn clear(&mut self) {
        // SAFETY: the address is the first word of a page-aligned mapping of at least one page.
        unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().cast()) }
            .store(u32::from_ne_bytes(PLACE_MAGIC), Ordering::Release);
        self.chunk_number = 0;
    }

    /// Writes zeros after magic and length.
    fn wipe(&self) {
        const AT: usize = std::mem::offset_of!(ChunkHeader, length);
        // SAFETY: the range is within the mapping, and nobody else stores into it, since the place
        // is free.
        unsafe {
            let to = self.map.as_mut_ptr().add(AT);
            AtomicU64::from_ptr(to.cast())
                .store((self.map.len() as u64).to_le(), Ordering::Release);
            // Readers must not see new content while they still see the magic of the old chunk.
            fence(Ordering::SeqCst);
            to.add(8).write_bytes(0, self.map.len() - AT - 8);
        }
    }
}

impl Ring {
    /// A ring of `size` bytes, including the file header; `largest` is the upper limit of the size
    /// of a place.
    pub(super) fn new(size: u64, largest: u64) -> Self {
        let place_bytes = (size / PLACES / CHUNK_ALIGN * CHUNK_ALIGN).clamp(CHUNK_ALIGN, largest);
        Self {
            place_bytes,
            places: Mutex::new(Places {
                size,
                list: Vec::new(),
                n_chunks: 0,
                definition_bytes: 0,
            }),
        }
    }

    pub(super) fn place_bytes(&self) -> u64 {
        self.place_bytes
    }

    /// A place of `at_least` bytes (a multiple of [`CHUNK_ALIGN`]), all zero after the length in
    /// its header. If `is_permanent`, it is never reused.
    pub(super) fn take(
        &self,
        file: &GrowingFile,
        at_least: u64,
        is_permanent: bool,
    ) -> Result<(u64, Arc<Mapping>), GrowError> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = if is_permanent && places.list.is_empty() {
            // There are few definitions in the first chunk of them.
            at_least
        } else {
            at_least.max(self.place_bytes)
        };
        let at = places.take(file, wanted, at_least, is_permanent)?;
        places.n_chunks += 1;
        let n_chunks = places.n_chunks;
        let place = &mut places.list[at];
        (place.chunk_number, place.is_permanent) = (n_chunks, is_permanent);
        let taken = (place.offset, Arc::clone(&place.map));
        if is_permanent {
            places.definition_bytes += taken.1.len() as u64;
        }
        Ok(taken)
    }

    /// The end of the last place that is not that of one of these chunks (by their offsets).
    pub(super) fn end_without(&self, chunks: [Option<u64>; 2]) -> u64 {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let others = places.list.iter();
        let others = others.filter(|place| !chunks.contains(&Some(place.offset)));
        others.map(Place::end).max().unwrap_or(0)
    }
}

impl Places {
    /// The index of a place that is ready.
    fn take(
        &mut self,
        file: &GrowingFile,
        wanted: u64,
        at_least: u64,
        is_permanent: bool,
    ) -> Result<usize, GrowError> {
        let end = file.end();
        let left = self.size.saturating_sub(end) / CHUNK_ALIGN * CHUNK_ALIGN;
        let n_others = self.list.iter().filter(|place| !place.is_permanent).count();
        let is_beyond = is_permanent && (self.definition_bytes + at_least) * 2 > self.size;
        let oldest = self.oldest(at_least);
        if left >= at_least && left >= wanted / 2 {
            return match self.append(file, wanted.min(left)) {
                // Then an old place has to be used.
                Err(GrowError::NoSpace { .. }) if oldest.is_some() => {
                    self.size = end;
                    self.take(file, wanted, at_least, is_permanent)
                }
                appended => appended,
            };
        }
        match oldest {
            Some(run) if n_others >= MIN_PLACES && !is_beyond => self.reuse(file, run),
            _ => self.append(file, wanted),
        }
    }

    fn append(&mut self, file: &GrowingFile, length: u64) -> Result<usize, GrowError> {
        // This is the only code that makes this file longer, and the lock of the ring is held.
        let (offset, map) = file.append(length)?;
        self.list.push(Place {
            offset,
            map,
            chunk_number: 0,
            is_permanent: false,
        });
        Ok(self.list.len() - 1)
    }

    /// The oldest contiguous free places that are long enough together.
    fn oldest(&self, at_least: u64) -> Option<Range<usize>> {
        let runs = (0..self.list.len()).filter_map(|first| {
            let mut newest = 0;
            for (at, place) in self.list.iter().enumerate().skip(first) {
                let is_beside = at == first || self.list[at - 1].end() == place.offset;
                if !is_beside || !place.is_free() {
                    return None;
                }
                newest = newest.max(place.chunk_number);
                if place.end() - self.list[first].offset >= at_least {
                    return Some((newest, first..at + 1));
                }
            }
            None
        });
        let oldest = runs.min_by_key(|(newest, run)| (*newest, run.start));
        oldest.map(|(_, run)| run)
    }

    fn reuse(&mut self, file: &GrowingFile, run: Range<usize>) -> Result<usize, GrowError> {
        let at = run.start;
        let newest = self.list[run.clone()]
            .iter()
            .map(|place| place.chunk_number);
        let newest = newest.max().unwrap_or(0);
        // The chunks of a thread are freed in the order of their time: no newer one before the
        // older ones.
        for place in &mut self.list {
            if place.is_free() && (1..=newest).contains(&place.chunk_number) {
                place.clear();
            }
        }
        if run.len() > 1 {
            let first = &self.list[at];
            let length = self.list[run.end - 1].end() - first.offset;
            let offset = first.offset;
            let map = file.map(Extent { offset, length })?;
            self.list.drain(at + 1..run.end);
            self.list[at] = Place {
                offset,
                map,
                chunk_number: 0,
                is_permanent: false,
            };
        }
        let place = &self.list[at];
        // Pages that were written to the disk meanwhile are read-only; this makes them writable.
        make_ready(&place.map)?;
        place.wipe();
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use collbench_formats::{Damage, Operation, ProcessState, RankTrace, SequenceEntry};

    use super::super::RankFile;
    use super::super::rank_file::tests::{anchor, identity, names, opening, store};
    use super::super::{Limit, OpenChunk, Opening};
    use super::*;
    use collbench_formats::Record;

    const SIZE: u64 = 64 << 10;

    /// A thread that stores numbered records as the recorder does.
    struct Writer<'f> {
        file: &'f RankFile,
        thread: u32,
        ordinal: u32,
        n: u64,
        current: Option<(OpenChunk, usize)>,
    }

    impl<'f> Writer<'f> {
        fn new(file: &'f RankFile, thread: u32) -> Self {
            Self {
                file,
                thread,
                ordinal: 0,
                n: 0,
                current: None,
            }
        }

        /// Stores one more record; its payload and its stamps are its number.
        fn store(&mut self) {
            let is_full =
                |(chunk, used): &(OpenChunk, usize)| (used + 1) * 32 > chunk.content_bytes();
            if self.current.as_ref().is_none_or(is_full) {
                if let Some((full, used)) = &self.current {
                    full.close(*used as u64, self.n);
                }
                let table = [
                    SequenceEntry {
                        communicator: 0.into(),
                        internal_calls: 0.into(),
                        calls: self.n.into(),
                    },
                    SequenceEntry::of_process(ProcessState::default()),
                ];
                let opening = Opening {
                    thread: self.thread,
                    ordinal: self.ordinal,
                    first_record: self.n,
                    first_call: self.n,
                    sequences: &table,
                    begin_ticks: 10 + self.n,
                };
                let chunk = self.file.open_records(&opening, || 10 + self.n, anchor);
                self.current = Some((chunk.unwrap(), 0));
                self.ordinal += 1;
            }
            let (chunk, used) = self.current.as_mut().unwrap();
            let at = 10 + self.n;
            let record = Record::call(Operation::Barrier, 0, 0, -1, self.n, at, at);
            store(chunk, *used, record);
            *used += 1;
            self.n += 1;
        }
    }

    fn create(path: &Path, size: u64) -> RankFile {
        let (folder, name) = (path.parent().unwrap(), path.file_name().unwrap());
        let name = name.to_str().unwrap();
        RankFile::create(folder, name, &identity(), Limit::Keep(size)).unwrap()
    }

    /// Numbers of the records of a thread.
    fn numbers(trace: &RankTrace<'_>, thread: u32) -> Vec<u64> {
        let chunks = trace.chunks.iter().filter(|chunk| chunk.thread == thread);
        let records = chunks.flat_map(|chunk| chunk.records.iter());
        records.map(|r| r.payload_bytes().unwrap()).collect()
    }

    #[test]
    fn the_newest_records_are_retained_and_all_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let file = create(&path, SIZE);
        let mut writer = Writer::new(&file, 0);
        for _ in 0..100_000 {
            writer.store();
        }
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() as u64 <= SIZE, "{}", bytes.len());
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.damage, [Damage::NotFinalized]);
        let found = numbers(&trace, 0);
        // All places but one, without the header and tables.
        assert!(found.len() > 1500, "{}", found.len());
        let dropped = 100_000 - found.len() as u64;
        assert_eq!(found, (dropped..100_000).collect::<Vec<_>>());
        let window = trace.window.unwrap();
        assert_eq!(window.keep_bytes, SIZE);
        assert_eq!(window.begin_ticks, 10 + dropped);
        assert_eq!(window.sequences[0].calls.get(), dropped);
        assert_eq!(
            (window.n_records_overwritten, window.n_calls_dropped),
            (dropped, dropped)
        );
        assert_eq!(window.n_calls_in_window, found.len() as u64);
    }

    #[test]
    fn a_finished_ring_knows_how_many_there_were_and_is_cut_only_before_it_is_full() {
        let folder = tempfile::tempdir().unwrap();
        for n in [5, 100_000] {
            let path = folder.path().join(format!("{n}.trace"));
            let file = create(&path, SIZE);
            let mut writer = Writer::new(&file, 0);
            for _ in 0..n {
                writer.store();
            }
            let (chunk, used) = writer.current.as_ref().unwrap();
            chunk.close(*used as u64, 1 << 40);
            file.finish(n, [1 << 40, 5, 5, 5, 1].into(), Some((chunk, used * 32)));
            let bytes = std::fs::read(&path).unwrap();
            let trace = RankTrace::parse(&bytes).unwrap();
            assert_eq!(trace.damage, [], "{n}");
            assert_eq!(numbers(&trace, 0).last(), Some(&(n - 1)));
            assert_eq!(bytes.len() < 8192, n == 5, "{}", bytes.len());
        }
    }

    #[test]
    fn chunks_in_use_and_definitions_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let file = create(&path, SIZE);
        let mut idle = Writer::new(&file, 1);
        idle.store();
        let mut busy = Writer::new(&file, 0);
        let mut expected = Vec::new();
        for i in 0..50_000 {
            busy.store();
            if i % 10_000 == 0 {
                let definition = names(i, 1500);
                file.define(&definition, || 3, anchor).unwrap();
                expected.push(definition);
            }
        }
        idle.store();
        let bytes = std::fs::read(&path).unwrap();
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.damage, [Damage::NotFinalized]);
        assert_eq!(numbers(&trace, 1), [0, 1]);
        assert_eq!(numbers(&trace, 0).last(), Some(&49_999));
        assert!(trace.definitions.iter().eq(expected));
        assert!(bytes.len() as u64 <= SIZE, "{}", bytes.len());
    }

    #[test]
    fn where_nothing_is_free_the_file_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let file = create(&path, SIZE);
        let mut threads: Vec<_> = (0..40).map(|thread| Writer::new(&file, thread)).collect();
        for _ in 0..1000 {
            threads.iter_mut().for_each(Writer::store);
        }
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() as u64 <= 43 * 4096, "{}", bytes.len());
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.damage, [Damage::NotFinalized]);
        for thread in 0..40 {
            let found = numbers(&trace, thread);
            assert_eq!(found, (1000 - found.len() as u64..1000).collect::<Vec<_>>());
        }
        // Definitions beyond half of the size.
        for i in 0..100 {
            file.define(&names(i, 3000), || 3, anchor).unwrap();
        }
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(RankTrace::parse(&bytes).unwrap().definitions.len(), 100);
    }

    #[test]
    fn places_are_joined_for_a_table_that_needs_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let file = create(&path, SIZE);
        let mut writer = Writer::new(&file, 0);
        for _ in 0..5000 {
            writer.store();
        }
        let entry = SequenceEntry {
            communicator: 0.into(),
            internal_calls: 0.into(),
            calls: writer.n.into(),
        };
        let table = vec![entry; 600];
        let opening = Opening {
            first_record: writer.n,
            ..opening(writer.ordinal, &table)
        };
        let (full, used) = writer.current.take().unwrap();
        full.close(used as u64, 1);
        let chunk = file.open_records(&opening, || 3, anchor).unwrap();
        assert!(
            chunk.content_bytes() > 600 * 16,
            "{}",
            chunk.content_bytes()
        );
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() as u64 <= SIZE);
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.damage, [Damage::NotFinalized]);
        let found = numbers(&trace, 0);
        assert_eq!(found, (5000 - found.len() as u64..5000).collect::<Vec<_>>());
    }

    /// Makes, step by step, what a reader finds if the process dies between any two stores.
    #[test]
    fn at_every_instant_of_reusing_a_place_there_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let file = create(&path, SIZE);
        let mut writer = Writer::new(&file, 0);
        for _ in 0..5000 {
            writer.store();
        }
        let ring = file.ring.as_ref().unwrap();
        let mut places = ring.places.lock().unwrap();
        let run = places.oldest(4096).unwrap();
        let look = |what: &str| {
            let bytes = std::fs::read(&path).unwrap();
            let trace = RankTrace::parse(&bytes).unwrap();
            assert_eq!(trace.damage, [Damage::NotFinalized], "{what}");
            let found = numbers(&trace, 0);
            assert_eq!(
                found,
                (5000 - found.len() as u64..5000).collect::<Vec<_>>(),
                "{what}"
            );
            found.len()
        };
        let all = look("before");
        places.list[run.start].clear();
        let fewer = look("cleared");
        assert!(fewer < all);
        places.list[run.start].wipe();
        assert_eq!(look("wiped"), fewer);
        let map = Arc::clone(&places.list[run.start].map);
        // A new header without its magic.
        let opening = collbench_formats::write::chunk_opening(
            collbench_formats::ChunkKind::Records,
            map.len() as u64,
            &collbench_formats::write::ChunkPosition {
                thread: 0,
                ordinal: writer.ordinal,
                first_record: 5000,
                first_call: 5000,
                anchor: anchor(),
                prepare: (3, 3),
            },
            &[],
        );
        // SAFETY: the range is within the mapping, which has at least one page.
        unsafe {
            map.as_mut_ptr()
                .add(4)
                .copy_from_nonoverlapping(opening[4..].as_ptr(), opening.len() - 4);
        }
        assert_eq!(look("header without magic"), fewer);
    }
}
