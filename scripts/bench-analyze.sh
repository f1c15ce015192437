#!/bin/sh
# How fast collbench-analyze is, and how much memory it takes: calls per second of the whole
# command on generated traces in the page cache, median of RUNS (5) with least and greatest, and
# the most memory it ever had (VmHWM, pages of the trace included). Run by "make bench-analyze",
# after the build. Takes 6 GB of disk, in DIR if that is given, where the traces are then kept.
set -eu
cd "$(dirname "$0")/.."

commands=${CARGO_TARGET_DIR:-target}/release
scenarios=analyzer/benches/scenarios
if [ -n "${DIR:-}" ]; then
    traces=$DIR
    mkdir -p "$traces"
else
    traces=$(mktemp -d)
    trap 'rm -rf "$traces"' EXIT
    trap 'exit 1' HUP INT TERM
fi

printf '%-16s %10s %26s %22s %8s\n' trace calls 'million calls/s (range)' 'seconds (range)' VmHWM
[ $# -gt 0 ] || set -- small 64-ranks-short 64-ranks 1024-ranks reduce-drift messages
for name in "$@"; do
    trace=$traces/$name
    if ! [ -f "$trace/truth.json" ]; then
        "$commands/collbench-generate" --force "$scenarios/$name.toml" "$trace" >"$traces/said" 2>&1 || {
            cat "$traces/said" >&2
            exit 1
        }
    fi
    cat "$trace"/*.trace >/dev/null
    python3 - "$commands/collbench-analyze" "$trace" "$name" "${RUNS:-5}" <<'EOF'
import json, os, subprocess, sys, time

command, trace, name, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
arguments = [command, "--no-pictures", "--format", "json", trace]
seconds, peak = [], 0
for _ in range(runs):
    begin = time.monotonic()
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    document = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds.append(time.monotonic() - begin)
    if status != 0:
        sys.exit(f"bench-analyze.sh: {' '.join(arguments)} failed")
    peak = max(peak, usage.ru_maxrss)
trace = json.loads(document)["trace"]
calls = trace["calls"]
seconds.sort()
least, median, most = seconds[0], seconds[len(seconds) // 2], seconds[-1]
rates = [f"{calls / s / 1e6:.1f}" for s in (median, most, least)]
times = f"{median:.2f} ({least:.2f}-{most:.2f})"
print(f"{name:16} {calls:10} {rates[0] + ' (' + rates[1] + '-' + rates[2] + ')':>26} {times:>22} {peak / 1024:4.0f} MiB")
if trace["messages"]:
    print(f"{'':16} {trace['messages']:10} messages, {trace['messages'] / median / 1e6:.1f} million per second")
EOF
done
