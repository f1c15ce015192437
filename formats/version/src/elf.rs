//! The few sections of ELF files (64 bits, little-endian) that say for which versions they were linked.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Type of a section of notes.
const NOTE: u32 = 7;
/// Type of the section with the versions of symbols that are needed of libraries (`.gnu.version_r`).
const NEEDED_VERSIONS: u32 = 0x6fff_fffe;
/// Most bytes of a section that are read: more than any section has that is looked for.
const MOST_BYTES: u64 = 1 << 24;

/// The sections of a file.
struct Sections {
    file: File,
    sections: Vec<Section>,
}

/// The place of a section.
struct Section {
    sort: u32,
    at: u64,
    bytes: u64,
    /// Index of the section with its names.
    names: u32,
}

impl Sections {
    fn of(path: &Path) -> Option<Self> {
        const ENTRY: usize = 64;
        let file = File::open(path).ok()?;
        let mut header = [0; 64];
        file.read_exact_at(&mut header, 0).ok()?;
        let is_known = header.starts_with(b"\x7fELF\x02\x01") && half(&header, 58)? == ENTRY as u16;
        let table = is_known.then(|| word(&header, 40))??;
        let mut bytes = vec![0; usize::from(half(&header, 60)?) * ENTRY];
        file.read_exact_at(&mut bytes, table).ok()?;
        let sections = bytes.chunks_exact(ENTRY).map(|entry| {
            Some(Section {
                sort: int(entry, 4)?,
                at: word(entry, 24)?,
                bytes: word(entry, 32)?,
                names: int(entry, 40)?,
            })
        });
        let sections = sections.collect::<Option<_>>()?;
        Some(Self { file, sections })
    }

    fn of_sort(&self, sort: u32) -> impl Iterator<Item = &Section> {
        self.sections
            .iter()
            .filter(move |section| section.sort == sort)
    }

    fn read(&self, section: &Section) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(section.bytes.min(MOST_BYTES)).ok()?];
        self.file.read_exact_at(&mut bytes, section.at).ok()?;
        Some(bytes)
    }
}

/// All sections of notes of a file.
pub(crate) fn notes(path: &Path) -> Option<Vec<Vec<u8>>> {
    let sections = Sections::of(path)?;
    let notes = sections.of_sort(NOTE);
    Some(notes.filter_map(|section| sections.read(section)).collect())
}

/// The versions of symbols that a file needs of libraries, such as `GLIBC_2.28`.
pub(crate) fn needed_versions(path: &Path) -> Option<Vec<String>> {
    let sections = Sections::of(path)?;
    let section = sections.of_sort(NEEDED_VERSIONS).next()?;
    let needed = sections.read(section)?;
    let names = sections.sections.get(section.names as usize)?;
    let names = sections.read(names)?;
    let mut versions = Vec::new();
    let mut library = 0;
    loop {
        let mut version = library + int(&needed, library + 8)? as usize;
        for _ in 0..half(&needed, library + 2)? {
            versions.push(text(&names, int(&needed, version + 8)? as usize)?);
            version += int(&needed, version + 12)? as usize;
        }
        match int(&needed, library + 12)? {
            0 => return Some(versions),
            next => library += next as usize,
        }
    }
}

/// The text at an offset, which ends in a zero.
fn text(bytes: &[u8], at: usize) -> Option<String> {
    let text = bytes.get(at..)?.split(|&byte| byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn int(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
