//! The object (executable or library) that an address is in, found without a lock, and what its
//! headers in memory say.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The loader's function that finds the object of an address: `_dl_find_object`, of the GNU C
/// library since version 2.35. It takes no lock, and may be called from a signal handler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectFinder(FindObject);

type FindObject = unsafe extern "C" fn(*mut c_void, *mut Found) -> c_int;

/// What `_dl_find_object` stores: `struct dl_find_object`, with room to spare.
#[repr(C)]
struct Found {
    flags: u64,
    begin: *const u8,
    end: *const u8,
    link_map: *const LinkMap,
    unwind_header: *const u8,
    reserved: [u64; 11],
}

/// The public part of the loader's `struct link_map`.
#[repr(C)]
struct LinkMap {
    /// Difference between addresses in memory and in the file.
    shift: usize,
    name: *const c_char,
}

impl ObjectFinder {
    /// The function of this process; `None` if its C library has none.
    pub(crate) fn find() -> Option<Self> {
        // SAFETY: the name is a C string.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
        if address.is_null() {
            return None;
        }
        // SAFETY: the function of this name has this signature.
        Some(Self(unsafe {
            std::mem::transmute::<*mut c_void, FindObject>(address)
        }))
    }

    /// The object that an address is in; `None` if it is in none.
    pub(super) fn object_at(self, address: usize) -> Option<LoadedFile> {
        let mut found = Found {
            flags: 0,
            begin: std::ptr::null(),
            end: std::ptr::null(),
            link_map: std::ptr::null(),
            unwind_header: std::ptr::null(),
            reserved: [0; 11],
        };
        // SAFETY: the function takes any address, and stores into a struct of its own length.
        let code = unsafe { (self.0)(address as *mut c_void, &mut found) };
        if code != 0 || found.link_map.is_null() {
            return None;
        }
        // SAFETY: the loader's entry of the object exists as long as that is loaded, which it is:
        // a function in it has been called and has not returned.
        let LinkMap { shift, name } = unsafe { found.link_map.read() };
        Some(LoadedFile {
            begin: found.begin.expose_provenance(),
            end: found.end.expose_provenance(),
            shift,
            name: name.expose_provenance(),
            unwind_header: found.unwind_header.expose_provenance(),
        })
    }
}

/// An object that the loader has mapped. Valid as long as the object is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoadedFile {
    begin: usize,
    end: usize,
    shift: usize,
    /// Address of the loader's name, a C string; or 0.
    name: usize,
    unwind_header: usize,
}

/// Bytes at the begin of an object in which its program headers must be: they are surely mapped.
const HEADER_BYTES: usize = 4096;

/// The fields of a program header that are used here (ELF, 64 bits).
#[derive(Debug, Clone, Copy)]
struct Segment {
    sort: u32,
    flags: u32,
    /// In memory.
    begin: usize,
    bytes: usize,
}

impl LoadedFile {
    /// Addresses of it, from the first to the last.
    pub(crate) fn addresses(&self) -> Range<usize> {
        self.begin..self.end
    }

    /// An address in it, as the linker assigned it.
    pub(crate) fn in_file(&self, address: usize) -> u64 {
        address.wrapping_sub(self.shift) as u64
    }

    /// Address of the table that finds unwind information (`.eh_frame_hdr`).
    pub(super) fn unwind_header(&self) -> Option<usize> {
        (self.unwind_header != 0).then_some(self.unwind_header)
    }

    /// The loader's name of it: a path; empty for the program itself.
    pub(super) fn name(&self) -> &[u8] {
        if self.name == 0 {
            return b"";
        }
        let name = std::ptr::with_exposed_provenance::<c_char>(self.name);
        // SAFETY: a C string of the loader, which exists as long as the object is loaded.
        unsafe { CStr::from_ptr(name) }.to_bytes()
    }

    /// Path of its file. Allocates.
    pub(crate) fn path(&self) -> String {
        let name = self.name();
        if name.is_empty() {
            let program = std::fs::read_link("/proc/self/exe");
            return program.map_or(String::new(), |path| path.to_string_lossy().into_owned());
        }
        let path = Path::new(OsStr::from_bytes(name));
        let whole = std::path::absolute(path);
        // The loader's own name for what the kernel maps is no path.
        let is_file = name.contains(&b'/');
        match whole {
            Ok(whole) if is_file => whole.to_string_lossy().into_owned(),
            _ => path.to_string_lossy().into_owned(),
        }
    }

    /// Its build id; `None` if it has none.
    pub(crate) fn build_id(&self) -> Option<&[u8]> {
        const NOTES: u32 = libc::PT_NOTE;
        let notes = self.segments().filter(|segment| segment.sort == NOTES);
        notes
            .filter_map(|segment| self.mapped(segment.begin, segment.bytes))
            .find_map(build_id_of)
    }

    /// The bytes from an address to the end of the mapped segment that it is in.
    pub(super) fn bytes_from(&self, address: usize) -> Option<&[u8]> {
        let segment = self.readable(address)?;
        self.mapped(address, segment.begin + segment.bytes - address)
    }

    /// The readable segment that an address is in.
    fn readable(&self, address: usize) -> Option<Segment> {
        self.segments().find(|segment| {
            segment.sort == libc::PT_LOAD
                && segment.flags & libc::PF_R != 0
                && address >= segment.begin
                && address - segment.begin < segment.bytes
        })
    }

    /// Some of its bytes; `None` if not all of them are in one readable segment.
    fn mapped(&self, address: usize, bytes: usize) -> Option<&[u8]> {
        let segment = self.readable(address)?;
        if bytes > segment.begin + segment.bytes - address {
            return None;
        }
        let first = std::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: the loader has mapped the segment, and nothing stores into its read-only tables.
        Some(unsafe { std::slice::from_raw_parts(first, bytes) })
    }

    /// Its program headers; none if they are not where linkers put them.
    fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        const ENTRY: usize = 56;
        let is_long_enough = self.end.saturating_sub(self.begin) >= HEADER_BYTES;
        let header: &[u8] = if is_long_enough {
            let first = std::ptr::with_exposed_provenance::<u8>(self.begin);
            // SAFETY: an object is mapped from its begin on, in pages of at least this size.
            unsafe { std::slice::from_raw_parts(first, HEADER_BYTES) }
        } else {
            &[]
        };
        // A class of 64 bits, little-endian, and entries of the right size.
        let is_elf = header.starts_with(b"\x7fELF\x02\x01")
            && half(header, 54).is_some_and(|bytes| usize::from(bytes) == ENTRY);
        let first = word(header, 32).unwrap_or(0) as usize;
        let n = half(header, 56).unwrap_or(0);
        let n = if is_elf { n } else { 0 };
        let end = self.end;
        (0..usize::from(n)).map_while(move |i| {
            let at = first.checked_add(i * ENTRY)?;
            let entry = header.get(at..at.checked_add(ENTRY)?)?;
            let begin = self.shift.wrapping_add(word(entry, 16)? as usize);
            // What is in memory only has no tables.
            let bytes = word(entry, 32)? as usize;
            let is_within = begin >= self.begin && bytes <= end.saturating_sub(begin);
            Some(Segment {
                sort: if is_within {
                    int(entry, 0)?
                } else {
                    libc::PT_NULL
                },
                flags: int(entry, 4)?,
                begin,
                bytes,
            })
        })
    }
}

/// The build id among the notes of a segment.
fn build_id_of(mut notes: &[u8]) -> Option<&[u8]> {
    const BUILD_ID: u32 = 3;
    loop {
        let name_bytes = int(notes, 0)? as usize;
        let bytes = int(notes, 4)? as usize;
        let sort = int(notes, 8)?;
        let name = notes.get(12..12_usize.checked_add(name_bytes)?)?;
        let begin = 12 + name_bytes.next_multiple_of(4);
        let content = notes.get(begin..begin.checked_add(bytes)?)?;
        if sort == BUILD_ID && name == b"GNU\0" {
            return Some(content).filter(|content| !content.is_empty());
        }
        notes = notes.get(begin + bytes.next_multiple_of(4)..)?;
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn int(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objects_of_this_process_are_found_with_their_tables_and_build_ids() {
        let finder = ObjectFinder::find().unwrap();
        let own = finder.object_at(build_id_of as *const () as usize).unwrap();
        assert!(
            own.addresses()
                .contains(&(build_id_of as *const () as usize))
        );
        assert_eq!(own.name(), b"");
        assert_eq!(
            own.path(),
            std::env::current_exe().unwrap().to_string_lossy()
        );
        assert!(own.bytes_from(own.unwind_header().unwrap()).is_some());
        assert_eq!(own.bytes_from(own.addresses().end), None);
        let library = finder.object_at(libc::getenv as *const () as usize);
        let library = library.unwrap();
        assert!(library.path().contains("/libc"), "{}", library.path());
        let id = library.build_id().unwrap();
        assert!(id.len() >= 8, "{id:?}");
        assert_eq!(finder.object_at(8), None);
    }

    #[test]
    fn build_ids_are_found_behind_other_notes_and_damage_is_none() {
        let note = |sort: u32, name: &[u8], content: &[u8]| {
            let mut bytes = Vec::new();
            for number in [name.len() as u32, content.len() as u32, sort] {
                bytes.extend(number.to_le_bytes());
            }
            for part in [name, content] {
                bytes.extend(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes
        };
        let other = note(1, b"GNU\0", &[9; 16]);
        let wanted = note(3, b"GNU\0", &[1, 2, 3, 4, 5]);
        let both = [other.clone(), wanted].concat();
        assert_eq!(build_id_of(&both), Some(&[1, 2, 3, 4, 5][..]));
        assert_eq!(build_id_of(&other), None);
        for cut in 0..both.len() - 3 {
            assert_eq!(build_id_of(&both[..cut]), None, "{cut}");
        }
        assert_eq!(build_id_of(&[0xff; 64]), None);
    }
}
