//! Where things are on this machine: tools, commands, sources, and space to work in.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Ends the running test where something that it needs is not here, as [`have`] and [`have_folder`] tell.
#[macro_export]
macro_rules! skip_unless {
    ($is_here:expr) => {
        if !$is_here {
            return;
        }
    };
}

/// Whether all of these commands can be run here.
///
/// A test that needs them ends where they are missing ([`skip_unless!`]), and says so even though it
/// passed; where the variable `CI` is set, that is a failure.
///
/// # Panics
///
/// In CI, if one is missing.
pub fn have(tools: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing: Vec<_> = tools
        .iter()
        .filter(|tool| !std::env::split_paths(&path).any(|folder| folder.join(tool).is_file()))
        .collect();
    if missing.is_empty() {
        return true;
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "missing in CI: {missing:?}"
    );
    skipped(&format!("missing: {missing:?}"));
    false
}

/// Whether this folder is here; as [`have`].
///
/// # Panics
///
/// In CI, if it is missing.
pub fn have_folder(folder: &Path) -> bool {
    if folder.is_dir() {
        return true;
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "missing in CI: {}",
        folder.display()
    );
    skipped(&format!("missing: {}", folder.display()));
    false
}

/// The first where the environment has `COLLBENCH_TESTS_LONG` (`make test-long`), else the second: how often
/// something is done that is right or wrong in each of many calls.
#[must_use]
pub fn long_or<T>(long: T, short: T) -> T {
    if std::env::var_os("COLLBENCH_TESTS_LONG").is_some() {
        long
    } else {
        short
    }
}

/// Says that the running test did not test, past the output capture of the test runner.
pub fn skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // There is nobody left to report to.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}

/// The sources of this package.
pub fn source_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Cargo's target directory: the running test is in its `debug/deps`, a command of the tests in its
/// `debug`.
///
/// # Panics
///
/// If it is not, that is, outside of `cargo test`.
pub fn target_dir() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the running test");
    let of_profile = test.parent().map(|folder| {
        if folder.ends_with("deps") {
            folder.parent().unwrap_or(folder)
        } else {
            folder
        }
    });
    of_profile
        .and_then(Path::parent)
        .filter(|target| target.join("CACHEDIR.TAG").is_file() || target.join("release").is_dir())
        .unwrap_or_else(|| panic!("{} is in no target directory of cargo", test.display()))
        .to_owned()
}

/// Where `cargo build --release` puts the commands and the preloaded library.
pub fn release_dir() -> PathBuf {
    target_dir().join("release")
}

/// A command of collbench, or its library.
///
/// # Panics
///
/// If it was not built.
pub fn command(name: &str) -> PathBuf {
    let path = release_dir().join(name);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build --release` first",
        path.display()
    );
    path
}

/// Compiles `programs/NAME` (once in each test process) and returns the executable.
///
/// # Panics
///
/// If the compiler is not content.
pub fn program(name: &str) -> PathBuf {
    type Once = Arc<OnceLock<PathBuf>>;
    static COMPILED: Mutex<BTreeMap<String, Once>> = Mutex::new(BTreeMap::new());
    let once = {
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(compiled.entry(name.to_owned()).or_default())
    };
    once.get_or_init(|| compile(name)).clone()
}

fn compile(name: &str) -> PathBuf {
    let source = source_dir().join("programs").join(name);
    let folder = target_dir().join("tmp/programs");
    fs::create_dir_all(&folder).expect("a folder for compiled programs");
    let stem = Path::new(name)
        .file_stem()
        .expect("a file name")
        .to_string_lossy()
        .into_owned();
    let (compiler, options, executable): (&str, &[&str], String) = match name {
        // Fortran 77 has no way to say that MPI's buffers are of any type.
        "same_mpif.F" | "opened_mpif.F90" => (
            "mpifort",
            &[
                "-w",
                "-fallow-argument-mismatch",
                "-ffixed-line-length-none",
            ],
            stem,
        ),
        _ if name.ends_with(".F90") => ("mpifort", &[], stem),
        "quiet.c" => ("gcc", &[], stem),
        "quiet.c static" => ("gcc", &["-static"], "quiet_static".to_owned()),
        "many.c sanitized" => (
            "mpicc",
            &["-fsanitize=address"],
            "many_sanitized".to_owned(),
        ),
        "other_preload.c" | "refuses.c" | "ahead.c" | "gpu.c" => {
            ("gcc", &["-shared", "-fPIC"], stem + ".so")
        }
        _ if name.ends_with(".cpp") => ("mpicxx", &["-pthread"], stem),
        "counter.c" | "early.c" | "tool.c" => ("mpicc", &["-shared", "-fPIC"], stem + ".so"),
        _ => ("mpicc", &["-pthread"], stem),
    };
    let source = source.with_file_name(name.split(' ').next().expect("a first word"));
    let executable = folder.join(executable);
    let fresh = executable.with_extension(std::process::id().to_string());
    // Fortran compilers leave files of modules there, which another test process must not replace meanwhile.
    let scratch = tempfile::tempdir_in(&folder).expect("a folder for the files of a compiler");
    let output = Command::new(compiler)
        .args(["-O1", "-g"])
        .args(options)
        .arg("-o")
        .arg(&fresh)
        .arg(&source)
        .current_dir(scratch.path())
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(
        output.status.success(),
        "{compiler} {}:\n{}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    fs::rename(&fresh, &executable).expect("the program in its place");
    executable
}

/// A folder for one test, removed after it; kept, and named, if the test fails; kept in any case where
/// the environment has `COLLBENCH_TESTS_KEEP` (for `scripts/same-output.sh`).
pub struct Workspace(PathBuf);

impl Workspace {
    /// A new, empty folder.
    ///
    /// # Panics
    ///
    /// If there cannot be one.
    #[must_use]
    pub fn new() -> Self {
        let folder = target_dir().join("tmp");
        fs::create_dir_all(&folder).expect("cargo's folder for tests");
        Self(
            tempfile::Builder::new()
                .prefix("e2e-")
                .tempdir_in(folder)
                .expect("a folder")
                .keep(),
        )
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A path in it.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// A path in it whose last part is that of no path in another workspace.
    ///
    /// # Panics
    ///
    /// If the workspace is the root of the file system.
    pub fn unique_path(&self) -> PathBuf {
        self.0
            .join(self.0.file_name().expect("the folder has a name"))
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let is_kept = std::env::var_os("COLLBENCH_TESTS_KEEP").is_some();
        if std::thread::panicking() {
            eprintln!("what the test left is in {}", self.0.display());
        } else if !is_kept && let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("{} stays: {error}", self.0.display());
        }
    }
}
