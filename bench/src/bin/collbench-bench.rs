//! The command `collbench-bench`; see [`collbench_bench::main`].

fn main() -> std::process::ExitCode {
    collbench_bench::main()
}
