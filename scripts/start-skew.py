#!/usr/bin/env python3
"""How far apart the processes of a measurement really start, on simulated hosts.

Measures MPI_Bcast of 8 bytes with `collbench-bench collective --start window` on the hosts of tests/cluster (needs root),
whose clocks differ but whose time stamp counter is one: it tells when each process really started. Of valid repetitions
the skew should be within twice the stated error of the clocks, and starts that were really late should not be valid.
Needs `cargo build --release -p collbench-bench` and Open MPI.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLUSTER = ROOT / "tests/cluster/cluster"
BENCH = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "release/collbench-bench"


def measured(folder, options, hosts):
    """The result of one measurement with one process on each host."""
    environment = {**os.environ, "CLUSTER_NAME": f"skew-{os.getpid()}"}
    up = [CLUSTER, "up", "--replace", "--hosts", hosts, "--latency-us", options.latency_us, "--rate", "1gbit",
          "--seed", options.seed]
    line = [CLUSTER, "mpirun", "-n", hosts, "--map-by", "node"]
    if hosts <= os.cpu_count():
        # The launcher of each host binds its first process to the first core.
        line += ["bash", "-c", 'exec taskset -c $OMPI_COMM_WORLD_RANK "$0" "$@"']
    line += [BENCH, "collective", "--operation", "MPI_Bcast", "--bytes", "8", "--start", "window", "--samples",
             "--clock", options.clock, "--seconds", options.seconds, "--repetitions", 2000, "--precision", 0.1,
             "--output", "result"]
    try:
        for command in (up, line):
            subprocess.run([str(word) for word in command], cwd=folder, env=environment, check=True, capture_output=True)
    finally:
        subprocess.run([CLUSTER, "down"], env=environment, capture_output=True)
    return json.loads((folder / "result/collective.json").read_text())


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--hosts", type=int, nargs="+", default=[2, 4], help="numbers of hosts (2 4)")
    options.add_argument("--latency-us", type=float, default=100, help="latency in one direction (100)")
    options.add_argument("--clock", choices=("raw", "tsc"), default="raw")
    options.add_argument("--seconds", type=float, default=10, help="length of the measurement (10)")
    options.add_argument("--seed", type=int, default=1, help="of the clocks (1)")
    options = options.parse_args()
    for hosts in options.hosts:
        with tempfile.TemporaryDirectory() as folder:
            result = measured(Path(folder), options, hosts)
        error = result["run"]["clock_error"]
        point = result["points"][0]
        skews = {valid: [max(sample["counter_ns"]) / 1e3 for sample in point["samples"] if sample["is_valid"] == valid]
                 for valid in (True, False)}
        valid, invalid = sorted(skews[True]), sorted(skews[False])
        allowed = 2 * error["uncertainty_ns"] / 1e3
        print(f"{hosts} hosts, {options.latency_us:g} us, {options.clock}: clocks stated within "
              f"{error['uncertainty_ns'] / 1e3:.1f} us, bound {error['bound_ns'] / 1e3:.1f} us; "
              f"{point['made']} starts, {point['missed']} missed, {point['delayed']} delayed")
        if valid:
            within = sum(skew <= allowed for skew in valid)
            print(f"  valid: true skew median {statistics.median(valid):.1f} us, p95 {valid[len(valid) * 95 // 100]:.1f} us, "
                  f"largest {valid[-1]:.1f} us; {within} of {len(valid)} within twice the stated error ({allowed:.1f} us); "
                  f"skew by the clocks: median {point['skew_ns']['median'] / 1e3:.1f} us")
        if invalid:
            late = sum(skew > allowed for skew in invalid)
            print(f"  invalid: true skew median {statistics.median(invalid):.1f} us, largest {invalid[-1]:.1f} us; "
                  f"{late} of {len(invalid)} beyond twice the stated error")


if __name__ == "__main__":
    main()
