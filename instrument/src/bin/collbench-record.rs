//! Records the collective operations of an unmodified MPI program.

fn main() -> std::process::ExitCode {
    collbench_instrument::launch::main()
}
