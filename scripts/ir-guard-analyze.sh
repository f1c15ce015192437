#!/bin/sh
# Counts the instructions that the analysis of a call takes, and that of a message, under callgrind,
# and fails where they are more than scripts/ir-guard-analyze.bound allows. Unlike times, the counts
# do not depend on the machine and on what else it is doing. Run by "make guard", after the build.
set -eu
cd "$(dirname "$0")/.."

scripts/need.sh valgrind
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
# Two lengths, of which the difference counts: what does not depend on it cancels. Both are long
# enough that distributions are histograms.
few=300
many=900

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# instructions SCENARIO REPEAT
instructions() {
    trace=$work/trace
    sed "s/^repeat = .*/repeat = $2/" "analyzer/benches/scenarios/$1.toml" >"$work/scenario.toml"
    "$target/release/collbench-generate" --force "$work/scenario.toml" "$trace" >"$work/said" 2>&1
    if ! timeout 600 valgrind --tool=callgrind --callgrind-out-file="$work/counts" \
        "$target/release/collbench-analyze" --threads 1 --no-pictures --format json \
        "$trace" >"$work/analysis" 2>"$work/said"; then
        cat "$work/said" >&2
        echo "ir-guard-analyze.sh: callgrind failed" >&2
        exit 1
    fi
    sed -n 's/^\(summary\|totals\): //p' "$work/counts" | head -n 1
}

# check SCENARIO OF N: what each of N in one repeat takes.
check() {
    n_few=$(instructions "$1" $few)
    n_many=$(instructions "$1" $many)
    each=$(awk -v few="$n_few" -v many="$n_many" -v n=$(((many - few) * $3)) \
        'BEGIN { printf "%.0f\n", (many - few) / n }')
    bound=$(sed -n "s/^bound $2 //p" scripts/ir-guard-analyze.bound)
    echo "Instructions of the analysis of a $2 (callgrind, one thread, 64 ranks): $each" \
        "(at most $bound)"
    if ! [ "$each" -gt 0 ] || ! [ "$each" -le "$bound" ]; then
        echo "ir-guard-analyze.sh: analyzing a $2 takes more instructions than that; if that is intended, measure" >&2
        echo "with \"make bench-analyze\", and write the new count into scripts/ir-guard-analyze.bound" >&2
        exit 1
    fi
}

check 64-ranks call 512
# With its part of the calls: 192 for 510 messages.
check messages message 510
