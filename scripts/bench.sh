#!/bin/sh
# What recording costs on this machine. Run by "make bench", after the build.
set -eu
cd "$(dirname "$0")/.."

. scripts/mpi.sh
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
exec $mpirun -n 1 "$target/release/collbench-bench" overhead "$@"
