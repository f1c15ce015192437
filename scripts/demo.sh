#!/bin/sh
# Records LAMMPS (Debian package lammps) on a liquid film that is in the part of one of 4 ranks, and shows what
# collbench says about it. Run by "make demo", after the build.
set -eu
cd "$(dirname "$0")/.."

scripts/need.sh openmpi-bin lammps
. scripts/mpi.sh

target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
input=$PWD/tests/inputs/in.film
mkdir -p "$target/demo"
cd "$target/demo"

echo
echo "\$ collbench-record --force -o trace -- $mpirun -n 4 lmp -in in.film"
status=0
timeout 300 "$target/release/collbench-record" --force -o trace -- \
    $mpirun -n 4 lmp -in "$input" >program.out 2>recorder.err || status=$?
tail -n 3 program.out
cat recorder.err >&2
if [ $status != 0 ]; then
    echo "demo: recording ended with status $status; the program's output is in $target/demo/program.out" >&2
    exit $status
fi

echo
echo "\$ collbench-analyze trace"
"$target/release/collbench-analyze" trace
echo
echo "Open the report with its pictures in a browser: $target/demo/trace/report/index.html"
