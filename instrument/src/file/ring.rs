//! The places of a ring: where the chunks of `--keep last:SIZE` stand.
//!
//! A place is a part of the file that one chunk fills. The file grows place by place to the size
//! of the ring; from then on a new chunk stands where the oldest one stood. Places that are in
//! use are passed over: the chunk that a thread stores into, those that a call under way may
//! still store its leave into, and those of definitions, which are kept. So the file grows beyond
//! its size where there is nothing else: for threads that leave no place free, and for definitions
//! beyond half of it.
//!
//! Pages stay mapped. Whoever reads the file at any instant (after a kill, say) finds in each
//! place a whole old chunk, a whole new one, or [`PLACE_MAGIC`] with a true length: that goes first
//! when a place is used again, then its content, then the new header, its magic last.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use collbench_formats::{CHUNK_ALIGN, ChunkHeader, PLACE_MAGIC};

use super::error::GrowError;
use super::growing::{Extent, GrowingFile};
use super::mapping::Mapping;
use super::reserve::make_ready;

/// A ring has about so many places: with each that is used again so much of it is lost at once.
const PLACES: u64 = 16;
/// Places for records that there are, whatever the size.
const LEAST_PLACES: usize = 4;

/// The places of a rank file.
#[derive(Debug)]
pub(super) struct Ring {
    /// Bytes of a place, unless a table needs more.
    place_bytes: u64,
    places: Mutex<Places>,
}

#[derive(Debug)]
struct Places {
    /// Bytes of the file that may be used.
    size: u64,
    /// By offset.
    list: Vec<Place>,
    n_opened: u64,
    /// Bytes of those with definitions.
    kept_bytes: u64,
}

#[derive(Debug)]
struct Place {
    offset: u64,
    /// Whoever uses the chunk in it has it too.
    map: Arc<Mapping>,
    /// The number of its chunk among all that were opened, from 1; 0: it has none.
    opened: u64,
    is_kept: bool,
}

impl Place {
    fn end(&self) -> u64 {
        self.offset + self.map.len() as u64
    }

    fn is_free(&self) -> bool {
        !self.is_kept && Arc::strong_count(&self.map) == 1
    }

    /// Its chunk is not there any more.
    fn clear(&mut self) {
        // SAFETY: the first word of a page-aligned mapping of at least a page.
        unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().cast()) }
            .store(u32::from_ne_bytes(PLACE_MAGIC), Ordering::Release);
        self.opened = 0;
    }

    /// Writes zeros behind magic and length.
    fn wipe(&self) {
        const AT: usize = std::mem::offset_of!(ChunkHeader, length);
        // SAFETY: within the mapping, which nobody else stores into: the place is free.
        unsafe {
            let to = self.map.as_mut_ptr().add(AT);
            AtomicU64::from_ptr(to.cast())
                .store((self.map.len() as u64).to_le(), Ordering::Release);
            // What is read of the old chunk as long as it is there must not be overwritten before.
            fence(Ordering::SeqCst);
            to.add(8).write_bytes(0, self.map.len() - AT - 8);
        }
    }
}

impl Ring {
    /// A ring of `size` bytes, with the file header; `largest` is the most of a place.
    pub(super) fn new(size: u64, largest: u64) -> Self {
        let place_bytes = (size / PLACES / CHUNK_ALIGN * CHUNK_ALIGN).clamp(CHUNK_ALIGN, largest);
        Self {
            place_bytes,
            places: Mutex::new(Places {
                size,
                list: Vec::new(),
                n_opened: 0,
                kept_bytes: 0,
            }),
        }
    }

    pub(super) fn place_bytes(&self) -> u64 {
        self.place_bytes
    }

    /// A place of `at_least` bytes (a multiple of [`CHUNK_ALIGN`]), all zero behind the length
    /// in its header. `is_kept`: for good.
    pub(super) fn take(
        &self,
        file: &GrowingFile,
        at_least: u64,
        is_kept: bool,
    ) -> Result<(u64, Arc<Mapping>), GrowError> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = if is_kept && places.list.is_empty() {
            // The first definitions are few.
            at_least
        } else {
            at_least.max(self.place_bytes)
        };
        let at = places.take(file, wanted, at_least, is_kept)?;
        places.n_opened += 1;
        let n_opened = places.n_opened;
        let place = &mut places.list[at];
        (place.opened, place.is_kept) = (n_opened, is_kept);
        let taken = (place.offset, Arc::clone(&place.map));
        if is_kept {
            places.kept_bytes += taken.1.len() as u64;
        }
        Ok(taken)
    }

    /// Where the last place ends of which none of these chunks (by their offset) is.
    pub(super) fn end_besides(&self, chunks: [Option<u64>; 2]) -> u64 {
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
        is_kept: bool,
    ) -> Result<usize, GrowError> {
        let end = file.end();
        let left = self.size.saturating_sub(end) / CHUNK_ALIGN * CHUNK_ALIGN;
        let n_others = self.list.iter().filter(|place| !place.is_kept).count();
        let is_beyond = is_kept && (self.kept_bytes + at_least) * 2 > self.size;
        let oldest = self.oldest(at_least);
        if left >= at_least && left >= wanted / 2 {
            return match self.append(file, wanted.min(left)) {
                // What there is must do then.
                Err(GrowError::NoSpace { .. }) if oldest.is_some() => {
                    self.size = end;
                    self.take(file, wanted, at_least, is_kept)
                }
                appended => appended,
            };
        }
        match oldest {
            Some(run) if n_others >= LEAST_PLACES && !is_beyond => self.use_again(file, run),
            _ => self.append(file, wanted),
        }
    }

    fn append(&mut self, file: &GrowingFile, length: u64) -> Result<usize, GrowError> {
        // All that grows this file does so here, under the lock of the ring.
        let (offset, map) = file.append(length)?;
        self.list.push(Place {
            offset,
            map,
            opened: 0,
            is_kept: false,
        });
        Ok(self.list.len() - 1)
    }

    /// Free places side by side that are so long together, the oldest there are.
    fn oldest(&self, at_least: u64) -> Option<Range<usize>> {
        let runs = (0..self.list.len()).filter_map(|first| {
            let mut newest = 0;
            for (at, place) in self.list.iter().enumerate().skip(first) {
                let is_beside = at == first || self.list[at - 1].end() == place.offset;
                if !is_beside || !place.is_free() {
                    return None;
                }
                newest = newest.max(place.opened);
                if place.end() - self.list[first].offset >= at_least {
                    return Some((newest, first..at + 1));
                }
            }
            None
        });
        let oldest = runs.min_by_key(|(newest, run)| (*newest, run.start));
        oldest.map(|(_, run)| run)
    }

    fn use_again(&mut self, file: &GrowingFile, run: Range<usize>) -> Result<usize, GrowError> {
        let at = run.start;
        let newest = self.list[run.clone()].iter().map(|place| place.opened);
        let newest = newest.max().unwrap_or(0);
        // A thread's chunks go in the order of their time: no newer one without the older ones.
        for place in &mut self.list {
            if place.is_free() && (1..=newest).contains(&place.opened) {
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
                opened: 0,
                is_kept: false,
            };
        }
        let place = &self.list[at];
        // Pages that were written to the disk meanwhile are read-only: now they are not.
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

    /// A thread that stores numbered records, as the recorder does.
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

        /// Stores one more; its payload is its number, and so are its stamps.
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
    fn the_newest_records_are_kept_and_all_are_counted() {
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
        // All but one place, the header and tables.
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
        assert_eq!(window.n_calls_kept, found.len() as u64);
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

    /// What a reader meets if the process dies between any two stores is made here step by step.
    #[test]
    fn at_every_instant_of_using_a_place_again_there_is_no_damage() {
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
        // A new header of which the magic is missing.
        let opening = collbench_formats::write::chunk_opening(
            collbench_formats::ChunkKind::Records,
            map.len() as u64,
            &collbench_formats::write::ChunkPlace {
                thread: 0,
                ordinal: writer.ordinal,
                first_record: 5000,
                first_call: 5000,
                anchor: anchor(),
                prepare: (3, 3),
            },
            &[],
        );
        // SAFETY: within the mapping, which is of a page at least.
        unsafe {
            map.as_mut_ptr()
                .add(4)
                .copy_from_nonoverlapping(opening[4..].as_ptr(), opening.len() - 4);
        }
        assert_eq!(look("header without magic"), fewer);
    }
}
