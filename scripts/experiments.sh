#!/bin/bash
# The experiments of docs/results.md: scripts/experiments.sh DIR [EXPERIMENT...]
# Texts, JSON documents, traces and pictures go to DIR. Hosts are simulated by tests/cluster, which needs root.
set -eu
cd "$(dirname "$0")/.."
. scripts/mpi.sh
files=$PWD/docs/experiments
cluster=$PWD/tests/cluster/cluster
programs=$(cd "${CARGO_TARGET_DIR:-target}/release" && pwd)
bench=$programs/collbench-bench
record=$programs/collbench-record
analyze=$programs/collbench-analyze
mkdir -p "${1:?a directory for what is measured}"
cd "$1"
shift
# By their names alone they are shorter in texts and pictures.
cp "$files"/* .

export CLUSTER_NAME=experiments-$$
trap '"$cluster" down > cluster.log 2>&1 || true' EXIT

# up OPTIONS: hosts. Latencies are those that MPI sees.
up() {
    "$cluster" up --replace --compensate-us 20 "$@" > cluster.log
}

# gsum NAME LAUNCHER... -- OPTIONS: all configurations in turns, in one job
gsum() {
    local name=$1 launcher=()
    shift
    while [ "$1" != -- ]; do launcher+=("$1"); shift; done
    shift
    # Hosts share the cores of this machine, so that some rank is preempted in most rounds.
    "${launcher[@]}" "$bench" gsum --all-rounds "$@" | tee "$name.txt"
}

# compare NAME PROCESSES "OPTIONS" LAUNCHER... -- FILE...: a trace of Gsum over each tree, and what changed
compare() {
    local name=$1 processes=$2 options=$3 launcher=() traces=()
    shift 3
    while [ "$1" != -- ]; do launcher+=("$1"); shift; done
    shift
    for file; do
        local trace
        trace=$name-$(basename "$file" .toml)
        # shellcheck disable=SC2086
        "$record" --force -o "$trace" -- "${launcher[@]}" -n "$processes" "$bench" gsum --all-rounds \
            --trees "$file" $options > "$trace.txt"
        traces+=("$trace")
    done
    "$analyze" "${traces[@]}" --output "$name" | tee "$name.txt"
}

cost_of_monitoring() {
    up --hosts 4 --slots 1 --latency-us 100 --rate 1gbit
    gsum monitoring "$cluster" mpirun -n 4 -- --trees all-to-root.toml --collectors-cost --control \
        --rounds 1000 --calls 10
}

sor_imbalance() {
    up --hosts 4 --slots 2 --latency-us 100 --rate 1gbit
    for tree in library all-to-root; do
        local option=(--library)
        [ $tree = library ] || option=(--trees $tree.toml)
        "$record" --force -o sor-$tree -- "$cluster" mpirun -n 8 "$bench" sor --size 256 --rounds 2 "${option[@]}" \
            > sor-$tree.txt
        "$analyze" sor-$tree
    done
    "$analyze" sor-library sor-all-to-root --output sor | tee sor.txt
}

levels_within_a_host() {
    # shellcheck disable=SC2086
    compare levels 8 "--rounds 20 --calls 100" $mpirun -- \
        host-linear.toml host-two-levels.toml host-binary.toml host-binomial.toml
}

moved_gred() {
    up --hosts 4 --slots 2 --latency-us 100 --rate 10mbit
    for bytes in 4 256; do
        gsum moved-$bytes "$cluster" mpirun -n 8 -- --bytes $bytes --trees gred-at-root.toml \
            --trees gred-moved.toml --control --rounds 200 --calls 10
        compare moved-$bytes-stages 8 "--bytes $bytes --rounds 10 --calls 50" "$cluster" mpirun -- \
            gred-at-root.toml gred-moved.toml
    done
}

load_and_links() {
    up --hosts 8 --slots 1 --latency-us 100 --rate 1gbit
    for bytes in 8 65536; do
        gsum links-$bytes "$cluster" mpirun -n 8 -- --bytes $bytes --library --trees all-to-root.toml \
            --trees hosts-binary.toml --trees hosts-binomial.toml --trees hosts-chain.toml \
            --rounds 100 --calls 10
    done
}

# sites NAME TOPOLOGY HOSTS...: ranks on these hosts, in this order
sites() {
    local name=$1 topology=$2
    shift 2
    up --topology "$topology"
    printf '%s\n' "$@" > "$name.hosts"
    gsum "$name" "$cluster" mpirun --mca rmaps seq --hostfile "$name.hosts" -n $# -- --bytes 8 --library \
        --trees sites.toml --trees one-root.toml --control --rounds 100 --calls 10
}

two_sites() {
    sites sites-6 two-sites-of-3.topology a-1 a-2 a-3 b-1 b-2 b-3 a-1 a-2 a-3 b-1 b-2 b-3
    sites sites-6-in-order two-sites-of-3.topology a-1 a-1 a-2 a-2 a-3 a-3 b-1 b-1 b-2 b-2 b-3 b-3
    sites sites-8-mixed two-sites-of-4.topology a-1 b-1 b-2 a-2 b-3 a-3 a-4 b-4
    sites sites-8-in-order two-sites-of-4.topology a-1 a-2 a-3 a-4 b-1 b-2 b-3 b-4
}

application() {
    up --topology two-sites-of-4.topology
    printf '%s\n' a-1 b-1 b-2 a-2 b-3 a-3 a-4 b-4 > mixed.hosts
    local lammps=("$cluster" mpirun --mca rmaps seq --hostfile mixed.hosts -n 8 lmp -in in.minimize)
    for round in 1 2 3 4 5; do
        "${lammps[@]}" > lammps-library-$round.txt
        for tree in sites one-root; do
            "$record" --trees $tree.toml --no-trace -- "${lammps[@]}" > lammps-$tree-$round.txt
        done
        grep -H "Loop time" lammps-*-$round.txt
    done
    "$record" --force -o lammps-library -- "${lammps[@]}" > lammps-recorded-library.txt
    "$record" --force -o lammps-sites --trees sites.toml -- "${lammps[@]}" > lammps-recorded-sites.txt
    "$analyze" lammps-library lammps-sites --output lammps | tee lammps.txt
}

all="cost_of_monitoring sor_imbalance levels_within_a_host moved_gred load_and_links two_sites application"
for experiment in ${*:-$all}; do
    case " $all " in
        *" $experiment "*) ;;
        *) echo "experiments.sh: $experiment: expected one of: $all" >&2; exit 2 ;;
    esac
    echo "== $experiment"
    "$experiment"
done
