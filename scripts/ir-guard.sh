#!/bin/sh
# Counts the instructions of a recorded MPI_Barrier, without and with its call site, and with those of two places that
# call in turns, of a recorded MPI_Ibarrier with its MPI_Wait, of a
# recorded MPI_Allreduce of two ranks with messages and algorithms (one sent, one received, one name),
# of an MPI_Sendrecv that is timed (layer p2p), of an MPI_Barrier that is not recorded and has no
# tree where others have one, of an MPI_Bcast over a tree at its root, and of the same where the tree is one of
# several candidates, between two control points, under callgrind, and fails where those of the preloaded library are more than
# scripts/ir-guard.bound allows. Unlike times, the count does not
# depend on the machine and on what else it is doing. Run by "make bench", after the build.
#
# callgrind shows programs no invariant time stamp counter, so the clock is CLOCK_MONOTONIC_RAW
# here and a reading of it a system call. That is why the bound is on the instructions in the
# preloaded library itself, without those of the C library's clock and of the MPI library.
set -eu
cd "$(dirname "$0")/.."

scripts/need.sh gcc libc6-dev openmpi-bin libopenmpi-dev valgrind
. scripts/mpi.sh
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
# Two runs, of which the difference counts: what happens at the first call only cancels. Both fit
# into the first chunk of the trace, so no room is made in between. Without a trace there are more
# calls: ranks wait for each other when the first one makes its tree, not equally long in both runs.
few=100
many=400
many_replaced=8000

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mpicc -O2 -o "$work/barriers" scripts/ir-guard.c
printf '[[tree]]\noperations = ["barrier"]\nshape = "binomial"\n' >"$work/trees.toml"
printf '[[tree]]\noperations = ["bcast"]\nshape = "linear"\n' >"$work/replaced.toml"
printf '[[tree]]\noperations = ["bcast"]\nadapt = { library = true }\ncandidate = [{ shape = "linear" }]\n' \
    >"$work/adapted.toml"

# run KIND CALLS: counts into counts.KIND.CALLS
run() {
    ranks=1
    layers=calls
    options="-o $work/trace.$1.$2"
    case $1 in
    blocking) kind= ;;
    nonblocking) kind=nonblocking ;;
    messages) kind=messages ranks=2 layers=calls,messages,algorithms ;;
    p2p) kind=p2p layers=calls,p2p ;;
    sites) kind= layers=calls,sites ;;
    turns) kind=turns layers=calls,sites ;;
    trees) kind= options="--trees $work/trees.toml --no-trace" ranks=2 ;;
    replaced) kind=replaced options="--trees $work/replaced.toml --no-trace" ranks=2 ;;
    adapted) kind=replaced options="--trees $work/adapted.toml --adapt off --no-trace" ranks=2 ;;
    esac
    if ! timeout 300 "$target/release/collbench-record" --clock raw --layers $layers \
        $options -- $mpirun -n $ranks valgrind --tool=callgrind \
        --callgrind-out-file="$work/counts.$1.$2.%q{OMPI_COMM_WORLD_RANK}" \
        --toggle-collect=MPI_Barrier --toggle-collect=MPI_Ibarrier --toggle-collect=MPI_Wait \
        --toggle-collect=MPI_Allreduce --toggle-collect=MPI_Sendrecv --toggle-collect=MPI_Bcast "$work/barriers" "$2" $kind >"$work/said" 2>&1; then
        cat "$work/said" >&2
        echo "ir-guard.sh: callgrind failed" >&2
        exit 1
    fi
    mv "$work/counts.$1.$2.0" "$work/counts.$1.$2"
}

# instructions KIND CALLS OBJECT: those in objects whose path has OBJECT in it. In callgrind's files a
# line that begins with a position is a cost, except behind "calls=": that one is inclusive.
instructions() {
    awk -v object="$3" '
        /^c?ob=/ {
            split($0, words, /[()]/)
            if (words[3] != "") path[words[2]] = words[3]
            if (/^ob=/) counted = index(path[words[2]], object) > 0
        }
        /^calls=/ { inclusive = 1; next }
        /^[0-9+*-]/ { if (!inclusive && counted) sum += $2; inclusive = 0 }
        END { printf "%.0f\n", sum }' "$work/counts.$1.$2"
}
# most KIND: calls of the longer run
most() {
    case $1 in
    replaced | adapted) echo $many_replaced ;;
    *) echo $many ;;
    esac
}
# per_call KIND OBJECT
per_call() {
    awk -v n=$(($(most "$1") - few)) -v of_many="$(instructions "$1" "$(most "$1")" "$2")" \
        -v of_few="$(instructions "$1" $few "$2")" \
        'BEGIN { printf "%.1f\n", (of_many - of_few) / n }'
}
# guard KIND WORDS
guard() {
    run "$1" $few
    run "$1" "$(most "$1")"
    library=$(per_call "$1" libcollbench_preload.so)
    bound=$(sed -n "s/^bound $1 //p" scripts/ir-guard.bound)
    echo "Instructions of $2 (callgrind, clock raw)"
    echo "  preloaded library $library (at most $bound), MPI library $(per_call "$1" libmpi)," \
        "C library and loader $(per_call "$1" libc.so) + $(per_call "$1" ld-linux)"
    if ! awk -v got="$library" -v bound="$bound" 'BEGIN { exit !(got > 0 && got <= bound) }'; then
        echo "ir-guard.sh: a recorded call takes more instructions than that; if that is intended, measure its time" >&2
        echo "with collbench-bench overhead, and write the new count into scripts/ir-guard.bound" >&2
        exit 1
    fi
}
guard blocking "a recorded MPI_Barrier on MPI_COMM_SELF"
guard sites "the same with the call site, which is known"
guard turns "the same from two places in turns"
guard nonblocking "a recorded MPI_Ibarrier with its MPI_Wait on MPI_COMM_SELF"
guard messages "a recorded MPI_Allreduce of two ranks with its messages and algorithm"
guard p2p "a recorded MPI_Sendrecv on MPI_COMM_SELF, which is timed"
guard replaced "an MPI_Bcast of one number over a tree, at its root, and no trace"
guard adapted "the same where the tree is one of several candidates"
guard trees "MPI_Barrier on MPI_COMM_SELF, with a tree for other communicators and no trace"
