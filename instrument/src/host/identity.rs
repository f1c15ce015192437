//! Which host this is, and which processes share a clock according to the kernel.

use std::fs;

use collbench_formats::{ClockSource, HostIdentity};

use super::mix::mix;

/// Identifies a host among those of a world; not all zeros.
pub type HostKey = [u8; 16];

/// The host of this process, identified by its clocks.
#[must_use]
pub fn host_identity() -> HostIdentity {
    HostIdentity {
        name: host_name(),
        boot_id: boot_id(),
        time_namespace: time_namespace(),
    }
}

/// The kernel's random id of this boot; empty if it cannot be read.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// The name of this host.
pub fn host_name() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer is valid for this length; its last byte is not written and stays zero.
    unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let end = buffer
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

/// A key that is equal for processes that claim to have the same clock, and only for these; never
/// all zeros.
#[must_use]
pub fn host_key(host: &HostIdentity, source: ClockSource) -> HostKey {
    let name = match host.boot_id.as_str() {
        "" => &host.name,
        boot_id => boot_id,
    };
    let mut words: Vec<u64> = name.bytes().map(u64::from).collect();
    words.extend([host.time_namespace, source as u64]);
    let mut key = [0; size_of::<HostKey>()];
    let (low, high) = key.split_at_mut(8);
    // All zeros mean that there is no process.
    low.copy_from_slice(&(mix(&words) | 1).to_le_bytes());
    words.push(1);
    high.copy_from_slice(&mix(&words).to_le_bytes());
    key
}

/// Identifies the time namespace of this process: equal where the kernel shifts the clocks of
/// processes alike. Containers in different namespaces that do not shift clocks have one clock. 0
/// where nothing is shifted.
fn time_namespace() -> u64 {
    let link = |name: &str| fs::read_link(format!("/proc/self/ns/{name}")).ok();
    let Some(own) = link("time") else { return 0 };
    // The offsets in the file are those that children would have.
    let offsets = match link("time_for_children") {
        Some(of_children) if of_children == own => fs::read_to_string("/proc/self/timens_offsets"),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    match offsets {
        Ok(offsets) => number_of_offsets(&offsets),
        Err(_) => inode_in(&own.to_string_lossy()),
    }
}

/// Computed from lines that have the name of a clock, seconds and nanoseconds.
fn number_of_offsets(offsets: &str) -> u64 {
    let words: Vec<&str> = offsets.split_whitespace().collect();
    let is_shift = |word: &&str| word.parse::<i64>().is_ok_and(|number| number != 0);
    if !words.iter().any(is_shift) {
        return 0;
    }
    let bytes: Vec<u64> = words.join(" ").bytes().map(u64::from).collect();
    mix(&bytes).max(1)
}

/// The inode in the target of a link to a namespace: `time:[4026531834]`.
fn inode_in(link: &str) -> u64 {
    link.trim_start_matches("time:[")
        .trim_end_matches(']')
        .parse()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(boot_id: &str, time_namespace: u64) -> HostIdentity {
        HostIdentity {
            name: "h".into(),
            boot_id: boot_id.into(),
            time_namespace,
        }
    }

    #[test]
    fn hosts_differ_by_boot_by_shift_and_by_clock() {
        let keys = [
            host_key(&host("a", 0), ClockSource::Tsc),
            host_key(&host("b", 0), ClockSource::Tsc),
            host_key(&host("a", 1), ClockSource::Tsc),
            host_key(&host("a", 0), ClockSource::Monotonic),
            host_key(&host("", 0), ClockSource::Tsc),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key) && *key != [0; 16]);
        }
        assert_eq!(keys[0], host_key(&host("a", 0), ClockSource::Tsc));
    }

    #[test]
    fn namespaces_with_the_same_offsets_have_the_same_number() {
        let none = "monotonic           0         0\nboottime            0         0\n";
        assert_eq!(number_of_offsets(none), 0);
        let shifted = number_of_offsets("monotonic  86400  5\nboottime  86400  5\n");
        assert_ne!(shifted, 0);
        assert_eq!(
            shifted,
            number_of_offsets("monotonic 86400 5\nboottime 86400 5")
        );
        assert_ne!(
            shifted,
            number_of_offsets("monotonic 86400 6\nboottime 86400 5")
        );
        assert_eq!(inode_in("time:[4026531834]"), 4_026_531_834);
        assert_eq!(inode_in("nonsense"), 0);
    }
}
