#!/usr/bin/env python3
"""How often the stated errors of clocks hold.

Records short runs (5 s, 8 ranks) on four simulated hosts (tests/cluster, needs root) whose clocks are known, over links
of 50, 100 and 200 us and with the clocks raw and tsc in turns, and compares each offset with the truth. Two standard
deviations should hold for 93 to 98 % of all offsets, the bound for all. Needs `cargo build --release` and Open MPI.

With --keep the traces stay, and more runs can be added to them; --again analyzes those without recording anything.
"""

import argparse
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


def record(folder, program, latency_us, clock, seed):
    """Records one run as FOLDER/trace, and the true clocks of its hosts as FOLDER/truth.json."""
    folder.mkdir(parents=True)
    run(CLUSTER, "up", "--replace", "--hosts", 4, "--latency-us", latency_us, "--rate", "1gbit", "--seed", seed, cwd=folder)
    hosts = json.loads(run(CLUSTER, "status", "--json", cwd=folder))["hosts"]
    run(PROGRAMS / "collbench-record", "-o", "trace", "--clock", clock, "--",
        CLUSTER, "mpirun", "-n", 8, program, MILLISECONDS, cwd=folder)
    truth = {host["name"]: host["clock_ns"] for host in hosts}
    (folder / "truth.json").write_text(json.dumps({"latency_us": latency_us, "clock": clock, "hosts": truth}))


def offsets(folder):
    """Latency, error, uncertainty (two standard deviations) and bound of each offset of one run, ns."""
    told = json.loads((folder / "truth.json").read_text())
    truth = told["hosts"]
    clock = json.loads(run(PROGRAMS / "collbench-analyze", "trace", "--format", "json", cwd=folder))["clock"]
    reference = truth[clock["reference_host"]]
    for host in clock["hosts"]:
        if host["host"] != clock["reference_host"]:
            error = host["offset_ns"] - (truth[host["host"]] - reference)
            uncertainty, bound = host["uncertainty_ns"], host["bound_ns"]
            print(f"{folder.name} {told['latency_us']:4} us {told['clock']:4} {host['host']}: off by {error / 1e3:8.2f} us; "
                  f"stated {uncertainty / 1e3:6.2f}, bound {bound / 1e3:7.2f}", flush=True)
            yield told["latency_us"], abs(error), uncertainty, bound


def summary(found):
    """Prints how many of the offsets are within what is stated."""
    for latency_us in (*LATENCIES_US, None):
        part = [one for one in found if latency_us in (None, one[0])]
        if not part:
            continue
        within = [sum(error <= sds / 2 * uncertainty for _, error, uncertainty, _ in part) for sds in (1, 2, 3)]
        beyond = sum(error > bound for _, error, _, bound in part)
        print(f"{'all' if latency_us is None else f'{latency_us} us'}: {len(part)} offsets, within one, two, three standard "
              f"deviations {', '.join(f'{n} ({n / len(part):.1%})' for n in within)}, {beyond} beyond the bound; "
              f"median error {statistics.median(one[1] for one in part) / 1e3:.2f} us, "
              f"median uncertainty {statistics.median(one[2] for one in part) / 1e3:.2f} us")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("runs", nargs="?", type=int, default=100, help="number of runs (100)")
    options.add_argument("--first", type=int, default=1, help="seed of the first run (1)")
    options.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the traces here")
    options.add_argument("--again", type=Path, metavar="FOLDER", help="analyze the traces that were kept here")
    options = options.parse_args()
    if options.again:
        kept = sorted(truth.parent for truth in options.again.glob("*/truth.json"))
        summary([one for folder in kept for one in offsets(folder)])
        return
    os.environ["CLUSTER_NAME"] = f"coverage-{os.getpid()}"
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        program = Path(temporary) / "steady"
        run("mpicc", "-O2", "-o", program, ROOT / "tests/programs/steady.c", cwd=temporary)
        try:
            for seed in range(options.first, options.first + options.runs):
                latency_us = LATENCIES_US[seed % len(LATENCIES_US)]
                clock = CLOCKS[seed // len(LATENCIES_US) % len(CLOCKS)]
                folder = (options.keep or Path(temporary)).resolve() / f"{seed:04}"
                record(folder, program, latency_us, clock, seed)
                found.extend(offsets(folder))
        finally:
            subprocess.run([CLUSTER, "down"], capture_output=True)
    summary(found)


if __name__ == "__main__":
    main()
