#!/usr/bin/env python3
"""How often the stated errors of clocks hold: clock-coverage.py [RUNS]

Records short runs (5 s, 8 ranks) on four simulated hosts (tests/cluster, needs root) whose clocks are known, over links
of 50, 100 and 200 us and with the clocks raw and tsc in turns, and compares each offset with the truth. Two standard
deviations should hold for 93 to 98 % of all offsets, the bound for all. Needs `cargo build --release` and Open MPI.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLUSTER = ROOT / "tests/cluster/cluster"
PROGRAMS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "release"
LATENCIES_US = (50, 100, 200)
CLOCKS = ("raw", "tsc")
MILLISECONDS = 5000


def run(*words, cwd):
    """Output of a command, whose failure ends the program."""
    return subprocess.run([str(word) for word in words], cwd=cwd, check=True, capture_output=True, text=True).stdout


def offsets(folder, program, latency_us, clock, seed):
    """Error, uncertainty (two standard deviations) and bound of each offset of one run, ns."""
    run(CLUSTER, "up", "--replace", "--hosts", 4, "--latency-us", latency_us, "--rate", "1gbit", "--seed", seed, cwd=folder)
    hosts = json.loads(run(CLUSTER, "status", "--json", cwd=folder))["hosts"]
    truth = {host["name"]: host["clock_ns"] for host in hosts}
    run(PROGRAMS / "collbench-record", "--force", "-o", "trace", "--clock", clock, "--",
        CLUSTER, "mpirun", "-n", 8, program, MILLISECONDS, cwd=folder)
    clock = json.loads(run(PROGRAMS / "collbench-analyze", "trace", "--format", "json", cwd=folder))["clock"]
    reference = truth[clock["reference_host"]]
    for host in clock["hosts"]:
        if host["host"] != clock["reference_host"]:
            error = host["offset_ns"] - (truth[host["host"]] - reference)
            yield host["host"], error, host["uncertainty_ns"], host["bound_ns"]


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    os.environ["CLUSTER_NAME"] = f"coverage-{os.getpid()}"
    found = []
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "steady"
        run("mpicc", "-O2", "-o", program, ROOT / "tests/programs/steady.c", cwd=folder)
        try:
            for seed in range(1, runs + 1):
                latency_us = LATENCIES_US[seed % len(LATENCIES_US)]
                clock = CLOCKS[seed // len(LATENCIES_US) % len(CLOCKS)]
                for host, error, uncertainty, bound in offsets(folder, program, latency_us, clock, seed):
                    print(f"{seed:4} {latency_us:4} us {clock:4} {host}: off by {error / 1e3:8.2f} us; "
                          f"stated {uncertainty / 1e3:6.2f}, bound {bound / 1e3:7.2f}", flush=True)
                    found.append((latency_us, abs(error), uncertainty, bound))
        finally:
            subprocess.run([CLUSTER, "down"], capture_output=True)
    for latency_us in (*LATENCIES_US, None):
        part = [one for one in found if latency_us in (None, one[0])]
        within = [sum(error <= sds / 2 * uncertainty for _, error, uncertainty, _ in part) for sds in (2, 3)]
        beyond = sum(error > bound for _, error, _, bound in part)
        print(f"{'all' if latency_us is None else f'{latency_us} us'}: {len(part)} offsets, "
              f"{within[0]} ({within[0] / len(part):.1%}) within two standard deviations, {within[1]} within three, "
              f"{beyond} beyond the bound; median error {statistics.median(one[1] for one in part) / 1e3:.2f} us, "
              f"median uncertainty {statistics.median(one[2] for one in part) / 1e3:.2f} us")


if __name__ == "__main__":
    main()
