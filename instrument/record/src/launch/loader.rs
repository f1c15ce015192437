//! Variables that make the loader load the preloaded library, among others.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The variable with the libraries that the loader loads before those of a program.
pub(super) const PRELOAD: &str = "LD_PRELOAD";

/// The options of AddressSanitizer.
pub(super) const ASAN_OPTIONS: &str = "ASAN_OPTIONS";

/// `LD_PRELOAD` with the library before the user's, which stay. Only runtimes of sanitizers, which
/// have to be loaded first, stay before it.
pub(super) fn with_preload(preload: &Path, others: Option<OsString>) -> OsString {
    let text = others.unwrap_or_default().to_string_lossy().into_owned();
    let (runtimes, rest): (Vec<&str>, Vec<&str>) = text
        .split([' ', ':'])
        .filter(|path| !path.is_empty() && Path::new(path) != preload)
        .partition(|path| is_sanitizer(path));
    let mut list = OsString::new();
    let own = [preload.as_os_str()];
    let words = runtimes.iter().map(OsStr::new).chain(own);
    for word in words.chain(rest.iter().map(OsStr::new)) {
        if !list.is_empty() {
            list.push(" ");
        }
        list.push(word);
    }
    list
}

/// Whether a library is a sanitizer's runtime, by the names that GCC and LLVM use.
fn is_sanitizer(path: &str) -> bool {
    const GCC: [&str; 5] = ["libasan", "libhwasan", "liblsan", "libtsan", "libubsan"];
    const LLVM: [&str; 5] = ["asan", "hwasan", "lsan", "tsan", "ubsan"];
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, _)) = name.split_once(".so") else {
        return false;
    };
    match stem.strip_prefix("libclang_rt.") {
        // libclang_rt.asan-x86_64.so, libclang_rt.ubsan_standalone.so
        Some(kind) => LLVM.iter().any(|name| {
            let rest = kind.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
        }),
        None => GCC.contains(&stem),
    }
}

/// `ASAN_OPTIONS` for a program with the preloaded library, and for the programs that it starts:
/// the runtime of AddressSanitizer accepts a library before it that it did not expect.
///
/// A program that is linked with the shared runtime (GCC's default) ends at once if a library was
/// preloaded, since the library might keep the runtime from seeing allocations. This one does not,
/// since it only defines functions of MPI. Preloading the runtime first would work too, but would
/// affect every program that the program starts, with reports of what they leak.
///
/// An option that the user has set stays.
pub(super) fn asan_options(others: Option<OsString>) -> OsString {
    const IN_ANY_ORDER: &str = "verify_asan_link_order";
    let mut options = others.unwrap_or_default();
    if options.to_string_lossy().contains(IN_ANY_ORDER) {
        return options;
    }
    if !options.is_empty() {
        options.push(":");
    }
    options.push(IN_ANY_ORDER);
    options.push("=0");
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preload(others: &str) -> String {
        let own = Path::new("/c/libcollbench_preload.so");
        let list = with_preload(own, Some(others.into()));
        list.to_string_lossy()
            .replace("/c/libcollbench_preload.so", "OWN")
    }

    #[test]
    fn the_library_is_preloaded_before_all_but_runtimes_of_sanitizers() {
        for (others, expected) in [
            ("", "OWN"),
            ("/c/libcollbench_preload.so", "OWN"),
            ("libtool.so:libmalloc.so", "OWN libtool.so libmalloc.so"),
            ("libasan.so.8", "libasan.so.8 OWN"),
            (
                "/usr/lib/libtsan.so.2 libtool.so",
                "/usr/lib/libtsan.so.2 OWN libtool.so",
            ),
            (
                "OWN: /l/libclang_rt.asan-x86_64.so libtool.so",
                "/l/libclang_rt.asan-x86_64.so OWN libtool.so",
            ),
            ("libtool.so libubsan.so", "libubsan.so OWN libtool.so"),
            (
                "libasanity.so libclang_rt.profile.so",
                "OWN libasanity.so libclang_rt.profile.so",
            ),
        ] {
            let others = others.replace("OWN", "/c/libcollbench_preload.so");
            assert_eq!(preload(&others), expected, "{others}");
        }
        assert_eq!(with_preload(Path::new("/c/p.so"), None), "/c/p.so");
    }

    #[test]
    fn options_of_the_user_stay() {
        for (others, expected) in [
            (None, "verify_asan_link_order=0"),
            (
                Some("detect_leaks=0"),
                "detect_leaks=0:verify_asan_link_order=0",
            ),
            (
                Some("verify_asan_link_order=1 a=b"),
                "verify_asan_link_order=1 a=b",
            ),
            (
                Some("a=b:verify_asan_link_order=0"),
                "a=b:verify_asan_link_order=0",
            ),
        ] {
            assert_eq!(asan_options(others.map(OsString::from)), expected);
        }
    }
}
