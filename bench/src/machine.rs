//! The machine of a measurement.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Properties of the machine that influence figures. `None`: unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Machine {
    /// Host name.
    pub host: Option<String>,
    /// Model of the processor.
    pub cpu: Option<String>,
    /// Number of cores of this host, whether or not this process may use them.
    pub cores: Option<usize>,
    /// Whether the processor reports that it is virtual.
    pub is_virtual: Option<bool>,
    /// Operating system and version of its kernel.
    pub kernel: Option<String>,
    /// Load average of the last minute at the begin of the measurement.
    pub load: Option<f64>,
}

impl Machine {
    /// The machine of this process.
    #[must_use]
    pub fn here() -> Self {
        let line = |path: &str| {
            fs::read_to_string(path)
                .ok()
                .map(|text| text.trim().to_owned())
        };
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").ok();
        let of_cpu = |field: &str| {
            let line = cpuinfo
                .as_ref()?
                .lines()
                .find(|line| line.starts_with(field))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        Self {
            host: line("/proc/sys/kernel/hostname"),
            cpu: of_cpu("model name").or_else(|| of_cpu("CPU implementer")),
            cores: Some(online_cores()),
            is_virtual: of_cpu("flags")
                .map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            kernel: line("/proc/sys/kernel/osrelease").map(|release| format!("Linux {release}")),
            load: line("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
        }
    }
}

/// Name and version of the MPI library, as it says them.
pub(crate) fn mpi_library() -> Option<String> {
    let version = mpi::environment::library_version().ok()?;
    Some(version.trim_matches(['\0', ' ', '\n']).to_owned())
}

/// Cores of this host, whether or not this process may use them.
pub(crate) fn online_cores() -> usize {
    // SAFETY: takes a number and touches no memory.
    let cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(cores).unwrap_or(1).max(1)
}

/// Type of the file system of `path`, and bytes that are free there for this user.
pub(crate) fn file_system(path: &Path) -> std::io::Result<(String, u64)> {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: all zeros is a valid statfs, a plain struct of numbers.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: a C string, and a struct that is valid for writing.
    if unsafe { libc::statfs(name.as_ptr(), &mut found) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // Numbers from linux/magic.h and from the file systems themselves.
    let kind = match found.f_type as u32 {
        0xef53 => "ext4",
        0x0102_1994 => "tmpfs",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0x794c_7630 => "overlay",
        0x6969 => "nfs",
        0x0bd0_0bd0 => "lustre",
        0x4750_4653 => "gpfs",
        0x1983_0326 => "beegfs",
        other => return Ok((format!("{other:#x}"), free_bytes(&found))),
    };
    Ok((kind.to_owned(), free_bytes(&found)))
}

fn free_bytes(found: &libc::statfs) -> u64 {
    found.f_bavail.saturating_mul(found.f_bsize as u64)
}
