#!/bin/bash
# Whether what collbench-tune proposes is faster: scripts/tune.sh DIR [CASE...]
#
# Links between the hosts are measured once. In each case collbench-tune run then records a program, searches, and runs the
# program with what it proposes and without it, in turns. Texts, pages, files and traces go to DIR, from which links that were
# measured before are taken. Hosts are simulated by tests/cluster, which needs root. Nothing else should run meanwhile.
#
# CASE: mixed (allreduces of 4 bytes on 8 hosts at two sites, ranks in the order a b b a b a a b), sorted (a a a a b b b b), lammps
# (a minimization by LAMMPS, mixed), overridden (mixed; the command line forbids rule files), late (4 hosts; rank 1 is always late),
# turns (4 hosts; each rank is late in turn), and on this host alone, where hardly anything can be predicted if it has fewer cores
# than processes: one-host (LAMMPS), hpcc, mpi4py (its osu_allgather.py). Without one: all.
set -eu
cd "$(dirname "$0")/.."
. scripts/mpi.sh
cluster=$PWD/tests/cluster/cluster
programs=$(cd "${CARGO_TARGET_DIR:-target}/release" && pwd)
tune=$programs/collbench-tune
bench=$programs/collbench-bench
experiments=$PWD/docs/experiments
inputs=$PWD/tests/inputs
scripts=$PWD/scripts
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

# links NAME LAUNCHER...: what links take, in NAME.links, unless that is known
links() {
    [ -e "$1.links" ] || "${@:2}" "$bench" logp --largest 1024 --links "$1.links" > "$1-logp.txt" 2> "$1-logp.log"
}

# two_sites NAME ORDER OPTIONS... -- PROGRAM...: two sites of four hosts, with the ranks in an order
two_sites() {
    local name=$1 order=$2 options=()
    shift 2
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    "$cluster" up --replace --topology "$experiments/two-sites-of-4.topology" > cluster.log
    links two-sites "$cluster" mpirun --mca rmaps seq --hostfile mixed.hosts -n 8
    run "$name" --links two-sites.links -- \
        "$cluster" mpirun "${options[@]}" --mca rmaps seq --hostfile "$order.hosts" -n 8 "$@"
}

[ $# -gt 0 ] || set -- mixed sorted lammps overridden late turns one-host hpcc mpi4py
for case; do
    case $case in
    mixed | sorted) two_sites "$case" "$case" -- ./allreduces nobody 500 ;;
    lammps) two_sites lammps mixed -- lmp -in "$experiments/in.minimize" -log none ;;
    overridden) two_sites overridden mixed --mca coll_tuned_use_dynamic_rules 0 -- ./allreduces nobody 500 ;;
    late | turns)
        "$cluster" up --replace --hosts 4 --latency-us 100 > cluster.log
        links four-hosts "$cluster" mpirun -n 4 --map-by node
        [ "$case" = late ] && why=sleeps || why=turns
        run "$case" --links four-hosts.links -- "$cluster" mpirun -n 4 --map-by node ./allreduces "$why" 500
        ;;
    one-host) run one-host -- $mpirun -n 4 lmp -in "$experiments/in.minimize" -log none ;;
    hpcc)
        cp "$inputs/hpccinf.txt" .
        run hpcc -- $mpirun -n 4 hpcc
        ;;
    mpi4py)
        "$scripts/mpi4py.sh"
        mpi4py=$(cd "$programs/../mpi4py" && pwd)
        run mpi4py -- $mpirun -n 2 "$mpi4py/environment/bin/python" "$mpi4py/source/demo/osu_allgather.py"
        ;;
    *)
        echo "no case \"$case\"; expected some of: mixed sorted lammps overridden late turns one-host hpcc mpi4py" >&2
        exit 2
        ;;
    esac
done
