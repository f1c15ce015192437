//! Rewrites a finished trace at a fraction of its size, without loss.

fn main() -> std::process::ExitCode {
    collbench_record::compact::main()
}
