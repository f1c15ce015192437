#!/usr/bin/env python3
"""How fast what dist.sh has made records and analyzes, against the normal build: dist-speed.py [PAIRS].

The two take turns, PAIRS times (15), so that what else the machine does hits both. Prints the medians of the
processor time that they take, and the median of the quotients of neighbors. Needs Open MPI, and an idle machine.
"""

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
NORMAL = TARGET / "release"
ARCHIVE = next(path for path in TARGET.glob("dist/collbench-*-x86_64-linux") if path.is_dir()) / "bin"
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def processor_time(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(name, pairs, command):
    """`command` gives the command line for a folder of commands."""
    turns = []
    for turn in range(pairs):
        folders = [NORMAL, ARCHIVE] if turn % 2 == 0 else [ARCHIVE, NORMAL]
        times = {folder: processor_time(*command(folder)) for folder in folders}
        turns.append((times[NORMAL], times[ARCHIVE]))
    normal, archive = (statistics.median(column) for column in zip(*turns))
    quotient = statistics.median(archive / normal for normal, archive in turns)
    print(f"{name}: normal {normal:.3f} s, archive {archive:.3f} s, quotient {quotient:.3f}, {pairs} pairs", flush=True)


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run(["mpicc", "-O2", "-o", folder / "loop", ROOT / "tests/programs/loop.c"], check=True)
        # No launcher, whose own time would count: a world of one process. A ring, since a disk is not measured.
        loop = ["--force", "--keep", "last:1M", "-o", folder / "loop-trace", "--", folder / "loop", "40000000"]
        compare("recording", pairs, lambda commands: [commands / "collbench-record", *loop])
        for scenario in ("64-ranks-short", "messages"):
            trace = folder / scenario
            toml = ROOT / f"analyzer/benches/scenarios/{scenario}.toml"
            subprocess.run([NORMAL / "collbench-generate", toml, trace], check=True, stderr=subprocess.DEVNULL)
            analyze = ["--no-pictures", "--format", "json", trace]
            compare(f"analyzing {scenario}", pairs, lambda commands: [commands / "collbench-analyze", *analyze])


main()
