#!/bin/bash
# How right predictions are: scripts/predict.sh DIR [TOPOLOGY...]
#
# For each topology a baseline is recorded, and links are measured. What other algorithms and trees of our own
# would take is predicted with the parameters of the baseline, with those of the links file, and, to see
# that this matters, with those of a links file whose hosts are exchanged. Then each algorithm and tree is
# recorded, in turns, and compared with its prediction. Traces, predictions and scores go to DIR. Hosts are
# simulated by tests/cluster, which needs root. Nothing else should run meanwhile.
#
# TOPOLOGY: 4x100 (4 hosts, latency 100 us), 4x100x10mbit and the like, or two-sites (2 hosts each); two-bound: 2
# processes on one host; one-host: 8 of them, where nothing can be predicted if it has fewer cores; lammps: the
# loop time of LAMMPS at two sites over trees; moved: a gred moved to another host. Without one: all that `all` below has.
set -eu
cd "$(dirname "$0")/.."
. scripts/mpi.sh
cluster=$PWD/tests/cluster/cluster
programs=$(cd "${CARGO_TARGET_DIR:-target}/release" && pwd)
record=$programs/collbench-record
tune=$programs/collbench-tune
bench=$programs/collbench-bench
sites=$PWD/tests/cluster/two-sites.topology
experiments=$PWD/docs/experiments
trees=()
for tree in all-to-root hosts-binary hosts-binomial hosts-chain hosts-chains hosts-exchange; do
    trees+=("$experiments/$tree.toml")
done
mkdir -p "${1:?a directory for what is measured}"
mpicc -O1 -o "$1/predicted" tests/programs/predicted.c
cd "$1"
shift
rounds=${ROUNDS:-60}
turns=${TURNS:-3}
lengths="8 4096 65536"

export CLUSTER_NAME=predict-$$
trap '"$cluster" down > cluster.log 2>&1 || true' EXIT

# All processes leave this barrier at the same time, and no rule but those given here decides.
export OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_barrier_algorithm=4

# run TRACE PROCESSES LATENCY_US ROUNDS [OPTIONS]: processes come within a latency
run() {
    # shellcheck disable=SC2086
    "$record" --force "${@:5}" -o "$1" -- "$cluster" mpirun -n "$2" --map-by node ./predicted "$4" "$3" $((3 * $3 + 1000)) $lengths \
        > "$1.log" 2>&1
}

# predict NAME TRACE [OPTIONS]
predict() {
    "$tune" predict "${trees[@]/#/--trees=}" "${@:3}" --force -o "$1.json" "$2" > "$1.txt"
    echo "$1: $(grep -E -c '  check: ' "$1.txt") classes of calls predicted," \
        "$(grep -c 'cannot predict here: what' "$1.txt") refused"
}

# correlation NAME: whether instances that take longer, because of who is late, were predicted to
correlation() {
    python3 - "$1.json" <<'END'
import json, sys
operations = json.load(open(sys.argv[1]))["operations"]
found = [o["identity"]["rank_correlation"] for o in operations if o["identity"] and o["identity"]["holds"]]
found = sorted(of for of in found if of is not None)
if found:
    print(f"rank correlation of instances: median {found[len(found) // 2]:.2f}, {found[0]:.2f} to {found[-1]:.2f}")
END
}

# measure NAME PROCESSES LATENCY_US
measure() {
    local name=$1 traces=()
    echo "== $name"
    run "$name-base" "$2" "$3" $((2 * rounds))
    "$cluster" mpirun -n "$2" --map-by node "$bench" logp --smallest 16 --largest 16384 --seconds 0.05 --batches 6 \
        --links "$name-links.measured" > "$name-logp.txt" 2> "$name-logp.log"
    python3 - "$name" <<'END'
import json, sys
name = sys.argv[1]
links = json.load(open(name + "-links.measured"))
links["hosts"] = links["hosts"][::2] + links["hosts"][1::2]
json.dump(links, open(name + "-exchanged.measured", "w"))
END
    predict "$name" "$name-base"
    predict "$name-links" "$name-base" --links "$name-links.measured"
    predict "$name-exchanged" "$name-base" --links "$name-exchanged.measured"
    for turn in $(seq "$turns"); do
        for number in 1 2 3 4 5 6 7 8 9; do
            for operation in allreduce:6 bcast:9 reduce:7 allgather:5 alltoall:4; do
                export "OMPI_MCA_coll_tuned_${operation%:*}_algorithm=$(((number - 1) % ${operation#*:} + 1))"
            done
            run "$name-$number-$turn" "$2" "$3" $((rounds / turns))
            traces+=("$name-$number-$turn")
        done
        for operation in allreduce bcast reduce allgather alltoall; do
            unset "OMPI_MCA_coll_tuned_${operation}_algorithm"
        done
        for tree in "${trees[@]}"; do
            traces+=("$name-$(basename "$tree" .toml)-$turn")
            run "${traces[-1]}" "$2" "$3" $((rounds / turns)) --trees "$tree"
        done
    done
    correlation "$name"
    for predicted in "$name" "$name-links" "$name-exchanged"; do
        echo "$predicted: $("$tune" score --force -o "$predicted.svg" "$predicted.json" "${traces[@]}" 2>&1 |
            tee "$predicted.score.txt" | tail -n 1)"
    done
}

# The loop time of LAMMPS with an allreduce over trees that cross between sites once or twice.
lammps() {
    "$cluster" up --replace --topology "$experiments/two-sites-of-4.topology" > cluster.log
    printf '%s\n' a-1 b-1 b-2 a-2 b-3 a-3 a-4 b-4 > mixed.hosts
    local launch=("$cluster" mpirun --mca rmaps seq --hostfile mixed.hosts -n 8)
    local command=("${launch[@]}" lmp -in "$experiments/in.minimize")
    unset OMPI_MCA_coll_tuned_use_dynamic_rules
    # Of the messages within a site too few wait for no other one.
    "${launch[@]}" "$bench" logp --largest 1024 --links lammps-links.measured > lammps-logp.txt 2> lammps-logp.log
    "$record" --force -o lammps-base -- "${command[@]}" > lammps-base.log 2>&1
    "$tune" predict --trees "$experiments/sites.toml" --trees "$experiments/one-root.toml" \
        --links lammps-links.measured --force -o lammps.json lammps-base > lammps.txt
    for round in 1 2 3 4 5; do
        "${command[@]}" > "lammps-library-$round.txt" 2>&1
        for tree in sites one-root; do
            "$record" --trees "$experiments/$tree.toml" --no-trace -- "${command[@]}" > "lammps-$tree-$round.txt" 2>&1
        done
    done
    "$record" --force --trees "$experiments/sites.toml" -o lammps-sites -- "${command[@]}" > lammps-sites.log 2>&1
    echo "== lammps: predicted"
    sed -n '/^the whole run/,$p' lammps.txt
    grep -E '^MPI_Allreduce|^  ran|  check: |cannot predict|toml' lammps.txt
    echo "== lammps: measured loop times, s"
    for tree in library sites one-root; do
        echo "$tree:" $(sed -n 's/^Loop time of \([0-9.]*\).*/\1/p' lammps-$tree-*.txt)
    done
    "$tune" score --force -o lammps.svg lammps.json lammps-sites | tail -n 5
}

# A gred that is moved from the host of the root to another one, with two processes on each host.
moved() {
    "$cluster" up --replace --hosts 4 --slots 2 --latency-us 100 --rate 10mbit --compensate-us 20 > cluster.log
    local gsum=("$cluster" mpirun -n 8 "$bench" gsum --all-rounds) at_root=$experiments/gred-at-root.toml
    local trees=("--trees=$at_root" "--trees=$experiments/gred-moved.toml")
    for bytes in 4 256; do
        local name=moved-$bytes
        echo "== $name"
        "$record" --force -o "$name" -- "${gsum[@]}" --bytes "$bytes" --library --trees "$at_root" \
            --rounds 20 --calls 50 > "$name.log" 2>&1
        "$tune" predict "${trees[@]}" --force -o "$name.json" "$name" > "$name.txt"
        "$record" --force -o "$name-measured" -- "${gsum[@]}" --bytes "$bytes" "${trees[@]}" \
            --rounds 20 --calls 50 > "$name-measured.log" 2>&1
        grep -E '^  ran|  check: |cannot|toml' "$name.txt" || true
        "$tune" score --force -o "$name.svg" "$name.json" "$name-measured" 2>&1 | tail -n 4
    done
}

one_host() {
    "$record" --force -o one-host -- mpirun --oversubscribe --allow-run-as-root -n 8 ./predicted 60 100 1000 8 4096 \
        > one-host.log 2>&1
    echo "== one-host"
    predict one-host-predicted one-host
}

two_bound() {
    "$record" --force -o two-bound -- mpirun --allow-run-as-root -n 2 --bind-to core ./predicted 400 20 500 $lengths \
        > two-bound.log 2>&1
    echo "== two-bound"
    predict two-bound-predicted two-bound
    correlation two-bound-predicted
}

all="4x100 8x1000 two-sites 4x100x10mbit moved two-bound one-host lammps"
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $all
for topology; do
    case $topology in
    two-sites)
        "$cluster" up --replace --topology "$sites" > cluster.log
        measure "$topology" 4 5000
        ;;
    one-host) one_host ;;
    two-bound) two_bound ;;
    moved) moved ;;
    lammps) lammps ;;
    *x*)
        IFS=x read -r hosts latency_us rate <<< "$topology"
        "$cluster" up --replace --hosts "$hosts" --latency-us "$latency_us" --rate "${rate:-unlimited}" > cluster.log
        measure "$topology" "$hosts" "$latency_us"
        ;;
    *)
        echo "predict.sh: unknown topology $topology" >&2
        exit 2
        ;;
    esac
done
