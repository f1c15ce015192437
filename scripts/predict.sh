#!/bin/bash
# How right predictions are: scripts/predict.sh DIR [TOPOLOGY...]
#
# For each topology a baseline is recorded, what other algorithms and trees of our own would take is predicted
# from it, and then each of them is recorded, in turns, and compared with its prediction. Traces, predictions and
# scores go to DIR. Hosts are simulated by tests/cluster, which needs root. Nothing else should run meanwhile.
#
# TOPOLOGY: 4x1000 (4 hosts, latency 1000 us) and the like, or two-sites (2 hosts each); without one: 4x1000, 8x1000,
# 4x100, two-sites.
set -eu
cd "$(dirname "$0")/.."
. scripts/mpi.sh
cluster=$PWD/tests/cluster/cluster
programs=$(cd "${CARGO_TARGET_DIR:-target}/release" && pwd)
record=$programs/collbench-record
tune=$programs/collbench-tune
sites=$PWD/tests/cluster/two-sites.topology
trees=()
for tree in all-to-root hosts-binary hosts-chain hosts-binomial; do
    trees+=("$PWD/docs/experiments/$tree.toml")
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

# run TRACE PROCESSES SPREAD_US ROUNDS [OPTIONS]
run() {
    # shellcheck disable=SC2086
    "$record" --force "${@:5}" -o "$1" -- "$cluster" mpirun -n "$2" --map-by node ./predicted "$4" "$3" $lengths \
        > "$1.log" 2>&1
}

# measure NAME PROCESSES SPREAD_US
measure() {
    local name=$1 traces=()
    run "$name-base" "$2" "$3" $((2 * rounds))
    "$tune" predict "${trees[@]/#/--trees=}" --force -o "$name.json" "$name-base" > "$name.txt"
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
    "$tune" score --format json "$name.json" "${traces[@]}" > "$name.score.json"
    echo "== $name"
    grep -E -c 'identity: ' "$name.txt" | sed 's/$/ classes of calls predicted/'
    grep -c 'cannot predict' "$name.txt" | sed 's/$/ refused/' || true
    "$tune" score "$name.json" "${traces[@]}" | tee "$name.score.txt" | tail -n 1
}

[ $# -gt 0 ] || set -- 4x1000 8x1000 4x100 two-sites
for topology; do
    case $topology in
    two-sites)
        "$cluster" up --replace --topology "$sites" > cluster.log
        measure "$topology" 4 1000
        ;;
    *x*)
        "$cluster" up --replace --hosts "${topology%x*}" --latency-us "${topology#*x}" > cluster.log
        measure "$topology" "${topology%x*}" "${topology#*x}"
        ;;
    *)
        echo "predict.sh: unknown topology $topology" >&2
        exit 2
        ;;
    esac
done
