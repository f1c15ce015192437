//! Buffers in the memory of other devices, which the processor cannot read.
//!
//! A program may only hand them to MPI if the library says that it takes them, or has loaded a
//! library for such devices itself. What is loaded may change at any time, and differ between
//! processes, so it is asked where all of them agree: in `MPI_Init`, for all communicators, and before
//! a communicator has its first tree.

use std::ffi::{CStr, c_int, c_void};
use std::fs;
use std::path::Path;

use crate::mpi::{find_function, has_object};

/// Whether buffers may be in memory of devices from now on, as far as is known when MPI begins.
pub(super) fn may_have_devices() -> bool {
    uses_devices() || (takes_device_memory() && has_device(Path::new("/dev")))
}

/// Whether a library for computing on other devices is loaded: CUDA, ROCm, Level Zero.
pub(super) fn uses_devices() -> bool {
    const LIBRARIES: [&str; 5] = [
        "libcuda.so",
        "libcudart.so",
        "libamdhip64.so",
        "libhsa-runtime64.so",
        "libze_loader.so",
    ];
    has_object(|name| LIBRARIES.iter().any(|library| name.starts_with(library)))
}

/// Whether the MPI library says that it takes buffers in the memory of devices. It may say so on a
/// host that has none.
fn takes_device_memory() -> bool {
    /// Open MPI and MPICH have the first one, and newer ones the others.
    const INQUIRIES: [&CStr; 4] = [
        c"MPIX_Query_cuda_support",
        c"MPIX_Query_rocm_support",
        c"MPIX_Query_hip_support",
        c"MPIX_Query_ze_support",
    ];
    /// By which users of MVAPICH, Cray MPICH and Intel MPI ask for it.
    const VARIABLES: [&str; 4] = [
        "MV2_USE_CUDA",
        "MV2_USE_ROCM",
        "MPICH_GPU_SUPPORT_ENABLED",
        "I_MPI_OFFLOAD",
    ];
    let is_asked_for = |name: &&str| std::env::var_os(name).is_some_and(|value| value != "0");
    INQUIRIES.iter().any(|name| says_yes(name)) || VARIABLES.iter().any(is_asked_for)
}

/// Whether the MPI library has an inquiry of this name that is answered by a number other than 0.
fn says_yes(name: &CStr) -> bool {
    let address = find_function(name);
    if address.is_null() {
        return false;
    }
    // SAFETY: these functions of the MPI library have no arguments, and return a number.
    let inquiry =
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(address) };
    // SAFETY: as above; MPI is initialized.
    unsafe { inquiry() != 0 }
}

/// Whether there is a device of NVIDIA, AMD or Intel for computing in this folder, `/dev`.
fn has_device(folder: &Path) -> bool {
    const NAMES: [&str; 3] = ["nvidiactl", "kfd", "dxg"];
    let renders = fs::read_dir(folder.join("dri")).into_iter().flatten();
    let is_render = |name: &str| name.starts_with("renderD");
    NAMES.iter().any(|name| folder.join(name).exists())
        || renders
            .flatten()
            .any(|entry| entry.file_name().to_str().is_some_and(is_render))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_by_their_files() {
        let folder = std::env::temp_dir().join(format!("collbench-devices-{}", std::process::id()));
        let with = |name: &str| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            let found = has_device(&folder);
            fs::remove_dir_all(&folder).unwrap();
            found
        };
        assert!(with("nvidiactl") && with("kfd") && with("dri/renderD128"));
        assert!(!with("null") && !with("dri/card0"));
        assert!(!has_device(&folder), "there is no such folder");
    }

    #[test]
    fn a_process_of_tests_has_no_library_for_devices_but_one_of_the_system() {
        assert!(!uses_devices());
        assert!(has_object(|name| name.starts_with("libc.so")));
    }
}
