//! Libraries whose callers are of interest, not they themselves: MPI, its bindings, and libraries
//! that only wrap MPI.

/// The begins of file names of such libraries.
const LIBRARIES: [&str; 17] = [
    // Open MPI, MPICH, Intel MPI, MVAPICH, and their bindings of Fortran and C++.
    "libmpi.",
    "libmpi_",
    "libmpich",
    "libmpicxx",
    "libmpifort",
    "libmpigc",
    "libompi",
    "libopen-",
    "libpmpi",
    // Tools in front of MPI.
    "libmpiP",
    "libmpitrace",
    // Layers of libraries on MPI.
    "libboost_mpi",
    "libpetsc",
    "libslepc",
    // The extension modules of mpi4py and of R.
    "MPI.",
    "Rmpi.",
    "pbdMPI.",
];

/// Which libraries only wrap MPI.
#[derive(Debug, Default)]
pub(super) struct Wrappers {
    /// Begins of file names, besides [`LIBRARIES`].
    more: Vec<String>,
}

impl Wrappers {
    /// Those that are known, and further ones: begins of file names, separated by commas.
    pub(super) fn with(names: &str) -> Self {
        let names = names.split(',').map(str::trim);
        let more = names.filter(|name| !name.is_empty());
        Self {
            more: more.map(str::to_owned).collect(),
        }
    }

    /// Whether the library of this path is one of them.
    pub(super) fn has(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let begins = |with: &str| name.starts_with(with.as_bytes());
        LIBRARIES.into_iter().any(begins) || self.more.iter().any(|with| begins(with))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_the_begin_of_their_file_names() {
        let wrappers = Wrappers::with("libcomm, ,libhal.");
        for path in [
            "/usr/lib/libmpi.so.40",
            "libmpi_mpifh.so.40.30.0",
            "/opt/lib/libmpifort.so.12",
            "/x/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so",
            "/x/libpetsc_real.so.3.18",
            "/home/me/libcommunication.so",
            "libhal.so",
        ] {
            assert!(wrappers.has(path.as_bytes()), "{path}");
        }
        for path in ["", "/usr/lib/libmpithing/app", "/usr/lib/libhalo.so", "lmp"] {
            assert!(!wrappers.has(path.as_bytes()), "{path}");
        }
    }
}
