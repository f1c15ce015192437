#!/bin/bash
# Whether what collbench-tune proposes is faster: scripts/tune.sh DIR [CASE...]
#
# In each case links are measured, and collbench-tune run records a program, searches, and runs the program with what it
# proposes and without it, in turns. Texts, files and traces go to DIR. Hosts are simulated by tests/cluster, which
# needs root. Nothing else should run meanwhile.
#
# CASE: mixed (allreduces of 4 bytes on 8 hosts at two sites, ranks in the order a b b a b a a b), sorted (a a a a b b b b), lammps
# (a minimization by LAMMPS, mixed), late (4 hosts; rank 1 is always late), one-host (LAMMPS with 4 processes on this host, where
# hardly anything can be predicted if it has fewer cores), overridden (the command line forbids rule files). Without one: all.
set -eu
cd "$(dirname "$0")/.."
. scripts/mpi.sh
cluster=$PWD/tests/cluster/cluster
programs=$(cd "${CARGO_TARGET_DIR:-target}/release" && pwd)
tune=$programs/collbench-tune
bench=$programs/collbench-bench
experiments=$PWD/docs/experiments
rounds=${ROUNDS:-10}
mkdir -p "${1:?a directory for what is measured}"
mpicc -O1 -o "$1/allreduces" tests/programs/late.c
cd "$1"
shift
printf '%s\n' a-1 b-1 b-2 a-2 b-3 a-3 a-4 b-4 > mixed.hosts
printf '%s\n' a-1 a-2 a-3 a-4 b-1 b-2 b-3 b-4 > sorted.hosts

export CLUSTER_NAME=tune-$$
trap '"$cluster" down > cluster.log 2>&1 || true' EXIT

# run NAME OPTIONS... -- COMMAND
run() {
    echo "== $1"
    "$tune" run --force --seed 1 --rounds "$rounds" -o "$1" "${@:2}" > "$1.txt" 2> "$1.log" || echo "exit status $?"
    cat "$1.txt"
}

# links NAME LAUNCHER...: what links take, in NAME.links
links() {
    "${@:2}" "$bench" logp --largest 1024 --links "$1.links" > "$1-logp.txt" 2> "$1-logp.log"
}

# sites NAME ORDER PROGRAM...: two sites of four hosts, with the ranks in an order
sites() {
    "$cluster" up --replace --topology "$experiments/two-sites-of-4.topology" > cluster.log
    local launch=("$cluster" mpirun --mca rmaps seq --hostfile "$2.hosts" -n 8)
    links "$1" "${launch[@]}"
    run "$1" --links "$1.links" -- "${launch[@]}" "${@:3}"
}

[ $# -gt 0 ] || set -- mixed sorted lammps late one-host overridden
for case; do
    case $case in
    mixed | sorted) sites "$case" "$case" ./allreduces nobody 500 ;;
    lammps) sites lammps mixed lmp -in "$experiments/in.minimize" -log none ;;
    late)
        "$cluster" up --replace --hosts 4 --latency-us 100 > cluster.log
        links late "$cluster" mpirun -n 4 --map-by node
        run late --links late.links -- "$cluster" mpirun -n 4 --map-by node ./allreduces sleeps 500
        ;;
    one-host) run one-host -- $mpirun -n 4 lmp -in "$experiments/in.minimize" -log none ;;
    overridden)
        "$cluster" up --replace --topology "$experiments/two-sites-of-4.topology" > cluster.log
        launch=("$cluster" mpirun --mca coll_tuned_use_dynamic_rules 0 --mca rmaps seq --hostfile mixed.hosts -n 8)
        links overridden "${launch[@]}"
        run overridden --links overridden.links -- "${launch[@]}" ./allreduces nobody 500
        ;;
    *)
        echo "no case \"$case\"; expected some of: mixed sorted lammps late one-host overridden" >&2
        exit 2
        ;;
    esac
done
