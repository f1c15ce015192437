#!/bin/sh
# Runs the operations of processes that share memory as threads, under Miri, which lets loads return old values wherever
# the memory model allows that, with SEEDS (8) orders of threads; and a million of them under ThreadSanitizer, and a
# million changes from one tree to another. Run by "make memory-order". Takes an hour, and rustup, for a nightly compiler
# with Miri and the sources of the standard library.
set -eu
cd "$(dirname "$0")/.."

rustup toolchain install nightly --profile minimal --component miri --component rust-src
MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-many-seeds=0..${SEEDS:-8}" \
    cargo +nightly miri test -p collbench-paths --test it -- weak_memory
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS=-Zsanitizer=thread COLLBENCH_TESTS_LONG=1
cargo +nightly test -Zbuild-std --target "$host" -p collbench-paths --test it
cargo +nightly test -Zbuild-std --target "$host" -p collbench-adapt --test simulated
