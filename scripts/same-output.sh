#!/bin/sh
# Whether this tree prints, draws and writes what an earlier commit does, to the byte: text, JSON, page
# and pictures of all scenarios and of recorded traces, the traces that are generated, and what
# compaction makes of them.
#
#     scripts/same-output.sh [--figures] COMMIT [FOLDER..]
#
# With --figures, the words may differ, and only the figures must be the same (scripts/figures.py).
# COMMIT is built in target/same-output. A FOLDER has traces, at any depth: those that the tests of
# COMMIT record (COLLBENCH_TESTS_KEEP=1 make test, in target/tmp), or any others.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
figures=
[ "${1:-}" != --figures ] || { figures=yes; shift; }
[ $# -ge 1 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
commit=$(git rev-parse --verify "$1^{commit}")
shift

here=${CARGO_TARGET_DIR:-$root/target}
work=$here/same-output
before=$work/before
mkdir -p "$work"
if [ "$(git -C "$before" rev-parse HEAD 2>/dev/null || true)" != "$commit" ]; then
    git worktree remove --force "$before" 2>/dev/null || true
    git worktree prune
    git worktree add --detach "$before" "$commit" >/dev/null
fi
(cd "$before" && CARGO_TARGET_DIR="$work/built" cargo build --release --quiet)
cargo build --release --quiet
old=$work/built/release
new=$here/release

# Both generate every scenario.
rm -rf "$work/old" "$work/new" "$work/traces" "$work/differences"
mkdir -p "$work/old" "$work/new" "$work/traces" "$work/differences"
n=0
differ=0
# shown NAME OLD NEW: whether two folders of what a build shows are the same, or have the same figures.
shown() {
    if [ -z "$figures" ]; then
        same "$1" "$2" "$3"
        return
    fi
    n=$((n + 1))
    if ! python3 scripts/figures.py "$2" "$3" >"$work/differences/$1"; then
        differ=$((differ + 1))
        echo "differs: $1 (see $work/differences/$1)"
    else
        rm "$work/differences/$1"
    fi
}
# same NAME OLD NEW: whether two files or folders are the same.
same() {
    n=$((n + 1))
    if ! diff -r "$2" "$3" >"$work/differences/$1" 2>&1; then
        differ=$((differ + 1))
        echo "differs: $1 (see $work/differences/$1)"
    else
        rm "$work/differences/$1"
    fi
}
for scenario in $(cd "$before" && git ls-files '*/scenarios/*.toml'); do
    name=$(echo "$scenario" | tr / - | sed 's/\.toml$//')
    "$old/collbench-generate" "$before/$scenario" "$work/traces/$name" >/dev/null 2>&1 || continue
    "$new/collbench-generate" "$before/$scenario" "$work/new/generated" >/dev/null 2>&1 || true
    same "generated-$name" "$work/traces/$name" "$work/new/generated"
    rm -rf "$work/new/generated"
done

# look BUILD TRACE FOLDER: all that a build shows of a trace; nothing in it names the build.
look() {
    mkdir -p "$3"
    (
        cd "$3"
        status=0
        "$1/collbench-analyze" "$2" -o report >text 2>errors || status=$?
        "$1/collbench-analyze" "$2" --no-pictures --format json >json 2>>errors || status=$?
        "$1/collbench-analyze" "$2" --no-pictures --full --top 3 --ranks 0-1 >part 2>>errors || status=$?
        echo "$status" >status
        if "$1/collbench-compact" "$2" compact >>errors 2>&1; then
            "$1/collbench-analyze" compact --no-pictures >text-compact 2>>errors || true
        fi
    )
}
list=$work/list
find "$work/traces" "$@" -name '*.trace' -printf '%h\n' 2>/dev/null | sort -u >"$list"
previous=
while read -r trace; do
    trace=$(cd "$trace" && pwd)
    name=$(echo "${trace#"$root"/}" | tr -c 'A-Za-z0-9\n' -)
    look "$old" "$trace" "$work/old/now"
    look "$new" "$trace" "$work/new/now"
    shown "$name" "$work/old/now" "$work/new/now"
    rm -rf "$work/old/now" "$work/new/now"
    if [ -n "$previous" ]; then
        for build in old new; do
            [ $build = old ] && commands=$old || commands=$new
            (cd "$work/$build" && "$commands/collbench-analyze" "$previous" "$trace" -o report >text 2>errors || true)
        done
        shown "compared-$name" "$work/old" "$work/new"
        rm -rf "$work"/old/* "$work"/new/*
    fi
    previous=$trace
done <"$list"
echo "same-output: $n comparisons, $differ different"
[ "$differ" -eq 0 ]
