//! The functions at addresses, from the debug information or the symbols of one file.

use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use addr2line::gimli::{
    Dwarf, DwarfSections, EndianSlice, Reader, RunTimeEndian, Section, SectionId,
};
use addr2line::{Context, LookupResult, SplitDwarfLoad};
use collbench_files::{Mapped, open_regular};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};

use crate::Lines;
use crate::debug_files::{DebugFile, DebugLink};

type Bytes<'a> = EndianSlice<'a, RunTimeEndian>;

/// Debug information that takes more than this, uncompressed, is not read, bytes.
const MAX_BYTES: u64 = 2 << 30;
/// Compressed sections that take more than this, uncompressed, are not read, bytes: they are in
/// memory, while others are read where they lie.
const MAX_UNCOMPRESSED: u64 = 256 << 20;
/// Units of debug information, at most: each takes up to a kilobyte of memory, however short it is.
const MAX_UNITS: usize = 1 << 18;
/// Bytes of one unit, and of the lines of one unit, at most. Of a unit in which an address is all functions
/// and lines are in memory, which takes up to 25 times as much.
const MAX_UNIT_BYTES: usize = 256 << 20;
const MAX_LINE_BYTES: usize = 16 << 20;
/// Functions inlined at one address that are given.
const MAX_INLINED: usize = 64;
/// Characters of a name that are kept.
const MAX_NAME: usize = 1024;

/// A function, and where in it a call is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceFrame {
    /// Its name, demangled; `None` where it is not known.
    pub function: Option<String>,
    /// The source file, as the compiler named it; `None` where it is not known.
    pub file: Option<String>,
    /// The line, from 1; `None` where it is not known.
    pub line: Option<u32>,
    /// Whether it was inlined into the next one.
    pub is_inlined: bool,
}

/// Why there are no lines for the addresses in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// The file is not there, or cannot be read.
    Missing,
    /// The file has another build id: it was built anew since.
    Rebuilt,
    /// It is no executable or library, or is damaged.
    Damaged,
    /// It has no debug information, and none was found for it.
    NoDebugInformation,
    /// Its debug information is larger than is read.
    TooLarge,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "is not there, or cannot be read",
            Self::Rebuilt => "was built anew since the recording",
            Self::Damaged => "is no executable or library that can be read",
            Self::NoDebugInformation => "has no debug information (build it with -g)",
            Self::TooLarge => "has more debug information than is read",
        })
    }
}

/// What a file says of some addresses.
pub(crate) struct Found {
    frames: Vec<Vec<SourceFrame>>,
    /// Whether a line is known of any of them.
    pub(crate) has_lines: bool,
    trouble: Option<Trouble>,
    pub(crate) debug_link: Option<DebugLink>,
}

impl Found {
    pub(crate) fn into_lines(self) -> Lines {
        Lines {
            frames: self.frames,
            trouble: if self.has_lines { None } else { self.trouble },
        }
    }
}

/// What a file says of return addresses. `build_id` is what it must have; `None`: anything, and empty:
/// none is known.
pub(crate) fn read(
    path: &Path,
    build_id: Option<&[u8]>,
    return_addresses: &[u64],
) -> Result<Found, Trouble> {
    let file = open_regular(path).map_err(|_| Trouble::Missing)?;
    let mapped = Mapped::of(&file).map_err(|_| Trouble::Missing)?;
    read_mapped(&mapped, |bytes| {
        let object = object::File::parse(bytes).map_err(|_| Trouble::Damaged)?;
        let own = object.build_id().ok().flatten().unwrap_or_default();
        if build_id.is_some_and(|id| !id.is_empty() && id != own) {
            return Err(Trouble::Rebuilt);
        }
        Ok(find(&object, return_addresses))
    })
}

/// As [`read`], of a separate file with debug information.
pub(crate) fn read_debug_file(
    file: &DebugFile,
    build_id: &[u8],
    return_addresses: &[u64],
) -> Result<Found, Trouble> {
    if !build_id.is_empty() {
        return read(&file.path, Some(build_id), return_addresses);
    }
    let Some(crc32) = file.crc32 else {
        return Err(Trouble::Rebuilt);
    };
    let opened = open_regular(&file.path).map_err(|_| Trouble::Missing)?;
    let mapped = Mapped::of(&opened).map_err(|_| Trouble::Missing)?;
    read_mapped(&mapped, |bytes| {
        if crc32_of(bytes) != crc32 {
            return Err(Trouble::Rebuilt);
        }
        let object = object::File::parse(bytes).map_err(|_| Trouble::Damaged)?;
        Ok(find(&object, return_addresses))
    })
}

/// Looks at the bytes of a file. Damage that nobody has thought of is damage, too.
fn read_mapped(
    mapped: &Mapped,
    look: impl FnOnce(&[u8]) -> Result<Found, Trouble>,
) -> Result<Found, Trouble> {
    let looked = catch_unwind(AssertUnwindSafe(|| look(mapped.bytes())));
    match looked {
        _ if mapped.has_shrunk() => Err(Trouble::Damaged),
        Ok(found) => found,
        Err(_) => Err(Trouble::Damaged),
    }
}

/// CRC-32 as zlib has it.
fn crc32_of(bytes: &[u8]) -> u32 {
    let mut table = [0u32; 256];
    for (entry, n) in table.iter_mut().zip(0u32..) {
        *entry = (0..8).fold(n, |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        });
    }
    let sum = bytes.iter().fold(u32::MAX, |crc, &byte| {
        table[usize::from(crc as u8 ^ byte)] ^ (crc >> 8)
    });
    !sum
}

fn find(object: &object::File<'_>, return_addresses: &[u64]) -> Found {
    let symbols = Symbols::of(object);
    let found = sections_of(object)
        .and_then(|sections| of_debug_information(object, &sections, return_addresses));
    let (mut frames, trouble) = match found {
        Ok(frames) => (frames, None),
        Err(trouble) => (vec![Vec::new(); return_addresses.len()], Some(trouble)),
    };
    let known = |frame: &SourceFrame| frame.line.is_some();
    let has_lines = frames.iter().flatten().any(known);
    for (frames, address) in frames.iter_mut().zip(return_addresses) {
        let name = || symbols.name_at(address.wrapping_sub(1));
        match frames.last_mut() {
            None => frames.extend(name().map(|name| SourceFrame {
                function: Some(name),
                ..SourceFrame::default()
            })),
            Some(last) if last.function.is_none() => last.function = name(),
            Some(_) => {}
        }
    }
    Found {
        frames,
        has_lines,
        trouble: trouble.or((!has_lines).then_some(Trouble::NoDebugInformation)),
        debug_link: object.gnu_debuglink().ok().flatten().map(|(name, crc32)| {
            let name = name.to_vec();
            DebugLink { name, crc32 }
        }),
    }
}

/// The sections with debug information.
fn sections_of<'d>(object: &object::File<'d>) -> Result<DwarfSections<Cow<'d, [u8]>>, Trouble> {
    let mut n_bytes = 0u64;
    let mut n_uncompressed = 0u64;
    let load = |id: SectionId| -> Result<Cow<'d, [u8]>, Trouble> {
        let Some(section) = object.section_by_name(id.name()) else {
            return Ok(Cow::Borrowed(&[]));
        };
        let data = section.compressed_data().map_err(|_| Trouble::Damaged)?;
        n_bytes = n_bytes.saturating_add(data.uncompressed_size);
        if data.format != object::CompressionFormat::None {
            n_uncompressed = n_uncompressed.saturating_add(data.uncompressed_size);
        }
        if n_bytes > MAX_BYTES || n_uncompressed > MAX_UNCOMPRESSED {
            return Err(Trouble::TooLarge);
        }
        data.decompress().map_err(|_| Trouble::Damaged)
    };
    DwarfSections::load(load)
}

/// The functions at some return addresses; empty where nothing is known.
fn of_debug_information(
    object: &object::File<'_>,
    sections: &DwarfSections<Cow<'_, [u8]>>,
    return_addresses: &[u64],
) -> Result<Vec<Vec<SourceFrame>>, Trouble> {
    let endian = if object.endianness() == Endianness::Little {
        RunTimeEndian::Little
    } else {
        RunTimeEndian::Big
    };
    let dwarf = sections.borrow(|section| EndianSlice::new(section, endian));
    if !is_within_limits(&dwarf) {
        return Err(Trouble::TooLarge);
    }
    let Ok(context) = Context::from_dwarf(dwarf) else {
        return Ok(vec![Vec::new(); return_addresses.len()]);
    };
    let addresses = return_addresses.iter();
    Ok(addresses
        .map(|address| frames_at(&context, address.wrapping_sub(1)).unwrap_or_default())
        .collect())
}

/// Whether what has to be in memory of it is bounded, by its headers.
fn is_within_limits(dwarf: &Dwarf<Bytes<'_>>) -> bool {
    let mut units = dwarf.units();
    let mut n_units = 0;
    while let Ok(Some(header)) = units.next() {
        n_units += 1;
        if n_units > MAX_UNITS || header.length_including_self() > MAX_UNIT_BYTES {
            return false;
        }
    }
    // Each begins with its length: of four bytes, or all ones and eight bytes.
    let mut lines = *dwarf.debug_line.reader();
    while let Ok((length, _)) = lines.read_initial_length() {
        if length > MAX_LINE_BYTES {
            return false;
        }
        if lines.skip(length).is_err() {
            break;
        }
    }
    true
}

fn frames_at(
    context: &Context<Bytes<'_>>,
    address: u64,
) -> Result<Vec<SourceFrame>, addr2line::gimli::Error> {
    let mut looked_up = context.find_frames(address);
    let mut found = loop {
        match looked_up {
            LookupResult::Output(found) => break found?,
            // Parts in further files are not looked for.
            LookupResult::Load { load, continuation } => {
                let _: SplitDwarfLoad<Bytes<'_>> = load;
                looked_up = addr2line::LookupContinuation::resume(continuation, None);
            }
        }
    };
    let mut frames: Vec<SourceFrame> = Vec::new();
    while let Some(frame) = found.next()? {
        if frames.len() == MAX_INLINED {
            break;
        }
        let name = frame.function.as_ref().map(|name| name.demangle());
        let name = name.transpose()?;
        let location = frame.location;
        frames.push(SourceFrame {
            function: name.map(|name| cut(&name)),
            file: location.as_ref().and_then(|at| at.file).map(cut),
            line: location.and_then(|at| at.line).filter(|&line| line > 0),
            is_inlined: true,
        });
    }
    if let Some(last) = frames.last_mut() {
        last.is_inlined = false;
    }
    frames.retain(|frame| frame.function.is_some() || frame.line.is_some());
    Ok(frames)
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}...", &name[..end]),
    }
}

/// The functions that a file has names of.
struct Symbols<'d> {
    /// Begin, length, name; by begin.
    list: Vec<(u64, u64, &'d [u8])>,
}

impl<'d> Symbols<'d> {
    fn of(object: &object::File<'d>) -> Self {
        let of_table = object.symbols();
        let all = of_table.chain(object.dynamic_symbols());
        let functions = all
            .filter(|symbol| symbol.is_definition() && symbol.kind() == object::SymbolKind::Text);
        let mut list: Vec<(u64, u64, &[u8])> = functions
            .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name_bytes().ok()?)))
            .collect();
        list.sort_unstable();
        Self { list }
    }

    /// The function that an address is in.
    fn name_at(&self, address: u64) -> Option<String> {
        let end = self.list.partition_point(|&(begin, ..)| begin <= address);
        let (begin, ..) = *self.list.get(end.checked_sub(1)?)?;
        let of_begin = self.list[..end].iter().rev();
        let mut of_begin = of_begin.take_while(|&&(other, ..)| other == begin);
        let (.., name) = of_begin.find(|&&(_, bytes, _)| address - begin < bytes)?;
        let text = String::from_utf8_lossy(name);
        // Any letter may be the mangled name of a type.
        let is_mangled = name.starts_with(b"_Z") || name.starts_with(b"_R");
        if !is_mangled {
            return Some(cut(&text));
        }
        Some(cut(&addr2line::demangle_auto(text, None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_zlib() {
        assert_eq!(crc32_of(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32_of(b""), 0);
    }

    #[test]
    fn names_end_where_functions_end() {
        let symbols = Symbols {
            list: vec![
                (10, 5, b"a"),
                (10, 8, b"_ZN1b1cEi"),
                (30, 0, b"d"),
                (40, 4, b"e"),
            ],
        };
        let name = |address| symbols.name_at(address);
        assert_eq!(name(9), None);
        assert_eq!(name(17).as_deref(), Some("b::c(int)"));
        assert_eq!((name(18), name(30), name(44)), (None, None, None));
        assert_eq!(name(43).as_deref(), Some("e"));
    }
}
