#!/bin/sh
# How fast collbench-export is, how large exports are, and how much memory it takes: calls per second of the whole command on
# generated traces, from the page cache to files in memory, medians of RUNS (3) rounds of all formats in turn, beside the
# analysis of the same trace. Run by "make bench-export", after the build. Takes up to 6 GB below /dev/shm, or in DIR if that is
# given, where the traces are then kept.
set -eu
cd "$(dirname "$0")/.."

commands=${CARGO_TARGET_DIR:-target}/release
scenarios=analyzer/benches/scenarios
traces=${DIR:-}
if [ -z "$traces" ]; then
    traces=$(mktemp -d -p /dev/shm)
    trap 'rm -rf "$traces"' EXIT
    trap 'exit 1' HUP INT TERM
fi
mkdir -p "$traces"

[ $# -gt 0 ] || set -- 64-ranks-short 64-ranks messages
for name in "$@"; do
    trace=$traces/$name
    if ! [ -f "$trace/truth.json" ]; then
        "$commands/collbench-generate" --force "$scenarios/$name.toml" "$trace" >"$traces/said" 2>&1 || {
            cat "$traces/said" >&2
            exit 1
        }
    fi
    python3 - "$commands" "$trace" "$name" "${RUNS:-3}" <<'EOF'
import json, os, pathlib, shutil, subprocess, sys, time

commands, trace, name, runs = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
out = trace.with_name(f"{name}.out")
formats = ["parquet", "csv", "sqlite", "perfetto", "goal"] + (["otf2"] if "otf2" in os.environ.get("FORMATS", "otf2") else [])
measured = {of: [] for of in ["analysis"] + formats}
sizes = {}


def run(*arguments):
    begin = time.monotonic()
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    document = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"bench-export.sh: {' '.join(map(str, arguments))} failed")
    return time.monotonic() - begin, usage.ru_maxrss / 1024, document


for _ in range(runs):
    seconds, memory, document = run(f"{commands}/collbench-analyze", "--no-pictures", "--format", "json", trace)
    measured["analysis"].append((seconds, memory))
    for of in formats:
        arguments = ["--to", of, "-o", out, "--max-size", "100G"]
        seconds, memory, _ = run(f"{commands}/collbench-export", trace, *arguments)
        measured[of].append((seconds, memory))
        files = [out] if out.is_file() else [file for file in out.rglob("*") if file.is_file()]
        sizes[of] = sum(file.stat().st_size for file in files)
        out.unlink() if out.is_file() else shutil.rmtree(out)
of_trace = json.loads(document)["trace"]
calls, messages = of_trace["calls"], of_trace["messages"] or 0
rows = calls + 2 * messages
print(f"{name}: {calls} calls, {messages} messages (each as two calls)")
print(f"{'':10} {'million/s (range)':>20} {'bytes each':>11} {'VmHWM':>9}")
for of, runs in measured.items():
    seconds = sorted(seconds for seconds, _ in runs)
    median, rates = seconds[len(seconds) // 2], [f"{rows / s / 1e6:.2f}" for s in (seconds[-1], seconds[0])]
    size = f"{sizes[of] / rows:.1f}" if of in sizes else ""
    memory = max(memory for _, memory in runs)
    print(f"{of:10} {f'{rows / median / 1e6:.2f} ({rates[0]}-{rates[1]})':>20} {size:>11} {memory:5.0f} MiB")
EOF
done
