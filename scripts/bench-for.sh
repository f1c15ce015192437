#!/bin/sh
# Builds collbench-bench for another MPI library than the one whose `mpicc` comes first in PATH:
#
#     scripts/bench-for.sh MPICC FOLDER
#
# MPICC is the library's compiler wrapper, FOLDER a target folder of its own (cargo does not notice
# that the wrapper is another one). The program is FOLDER/release/collbench-bench; start it by the
# launcher of that library.
set -eu

[ $# -eq 2 ] || {
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
mpicc=$(command -v "$1") || {
    echo "bench-for.sh: $1: no such compiler wrapper" >&2
    exit 1
}
mpicc=$(realpath "$mpicc")
folder=$(realpath -m "$2")
cd "$(dirname "$0")/.."

# Where the wrapper makes the loader look for the library ("-rpath FOLDER", in whatever pieces).
set --
for word in $("$mpicc" -show | sed 's/-Wl,//g; s/-Xlinker//g; s/-rpath[ =,]*/-rpath=/g'); do
    case $word in
    -rpath=*) set -- "$@" -C "link-arg=-Wl,-rpath,${word#-rpath=}" ;;
    esac
done
MPICC=$mpicc CARGO_TARGET_DIR=$folder \
    cargo rustc --release -p collbench-bench --bin collbench-bench -- "$@"
echo "$folder/release/collbench-bench"
