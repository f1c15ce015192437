//! The MPI library's description of its version.

use std::ffi::{c_char, c_int, c_void};

use super::find::RealFunction;

/// The MPI library's description of its version, one line; empty if it has none.
pub(crate) fn library_version() -> String {
    static VERSION: RealFunction = RealFunction::new(c"PMPI_Get_library_version");
    let address = VERSION.address();
    if address.is_null() {
        return String::new();
    }
    // MPI_MAX_LIBRARY_VERSION_STRING is 256 with Open MPI and 8192 with MPICH.
    let mut buffer = vec![0u8; 16384];
    let mut length = 0;
    // SAFETY: the MPI standard gives this function the addresses of a text and of its length; the
    // buffer is longer than any library's limit; it may be called at any time.
    unsafe {
        let ask = std::mem::transmute::<
            *mut c_void,
            unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int,
        >(address);
        ask(buffer.as_mut_ptr().cast(), &mut length);
    }
    buffer.truncate((length.max(0) as usize).min(buffer.len()));
    first_line(&buffer)
}

/// The first line of a text that may end with a zero, with single blanks between its words.
fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().next().unwrap_or_default();
    let words: Vec<&str> = line.trim_end_matches('\0').split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_line_of_words() {
        assert_eq!(
            first_line(b"MPICH Version:\t4.0.2\nMPICH Release date:\tThu"),
            "MPICH Version: 4.0.2"
        );
        assert_eq!(
            first_line(b"Open MPI v4.1.4, package\0"),
            "Open MPI v4.1.4, package"
        );
        assert_eq!(first_line(b""), "");
    }
}
