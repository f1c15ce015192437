#!/bin/sh
# Counts the instructions that the analysis of a call takes under callgrind, and fails where they
# are more than scripts/ir-guard-analyze.bound allows. Unlike times, the count does not depend on the
# machine and on what else it is doing. Run by "make guard", after the build.
set -eu
cd "$(dirname "$0")/.."

scripts/need.sh valgrind
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
# Two lengths, of which the difference counts: what does not depend on it cancels. Both are long
# enough that distributions are histograms.
few=300
many=900
calls_of_one=512

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
for repeat in $few $many; do
    sed "s/^repeat = .*/repeat = $repeat/" analyzer/benches/scenarios/64-ranks.toml \
        >"$work/scenario.toml"
    "$target/release/collbench-generate" "$work/scenario.toml" "$work/trace.$repeat" >"$work/said" 2>&1
    if ! timeout 600 valgrind --tool=callgrind --callgrind-out-file="$work/counts.$repeat" \
        "$target/release/collbench-analyze" --threads 1 --no-pictures --format json \
        "$work/trace.$repeat" >"$work/analysis" 2>"$work/said"; then
        cat "$work/said" >&2
        echo "ir-guard-analyze.sh: callgrind failed" >&2
        exit 1
    fi
done

instructions() {
    sed -n 's/^\(summary\|totals\): //p' "$work/counts.$1" | head -n 1
}
per_call=$(awk -v few="$(instructions $few)" -v many="$(instructions $many)" \
    -v calls=$(((many - few) * calls_of_one)) 'BEGIN { printf "%.0f\n", (many - few) / calls }')
bound=$(sed -n 's/^bound //p' scripts/ir-guard-analyze.bound)

echo "Instructions of the analysis of a call (callgrind, one thread, 64 ranks): $per_call" \
    "(at most $bound)"
if ! [ "$per_call" -gt 0 ] || ! [ "$per_call" -le "$bound" ]; then
    echo "ir-guard-analyze.sh: analysing a call takes more instructions; if that is meant, measure" >&2
    echo "with \"make bench-analyze\", and write the new count into scripts/ir-guard-analyze.bound" >&2
    exit 1
fi
