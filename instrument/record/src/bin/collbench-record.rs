//! Records the collective operations of an unmodified MPI program.

use collbench_record::launch;

// Here and not in the library, since the preloaded library must do nothing when it is loaded.
#[used]
// SAFETY: the loader calls the functions in this list before main; this one has their type.
#[unsafe(link_section = ".init_array")]
static BEFORE_THE_RUNTIME: extern "C" fn() = launch::look_at_sigpipe;

fn main() -> std::process::ExitCode {
    launch::main()
}
