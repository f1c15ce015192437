#!/usr/bin/env python3
"""Whom the analysis names in generated traces, over many seeds, and whether that is whom the scenario makes late.

    scripts/accused.py [--seeds N] [--first N] [--calls N] [--all] [SCENARIO..]

Generates each scenario (all of the repository where none is given) with N seeds (20), analyzes the traces, and
prints who is among the causes, in how many of the seeds. A late rank or host, and the end of a slow link, must be one
that the scenario singles out: by a delay, a latency, a link, or a list of its own; a rank at which others wait for each
other, a root, or a parent of several in a tree. Others are marked INNOCENT, and the exit status is 1. --all also lists
causes that name nobody. Scenarios that repeat steps for more than --calls calls (100000) do so less often. Build
first.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release"
FOLDERS = ["analyzer/tests/scenarios", "analyzer/benches/scenarios", "docs/experiments", "tests/browser/scenarios"]


def scenarios():
    """All scenarios of the repository."""
    files = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.toml"))
    return sorted(path for path in files if {"hosts", "program"} <= tomllib.loads(path.read_text()).keys())


def placed(scenario):
    """The host of each rank."""
    hosts = [(host["name"], host["ranks"]) for host in scenario["hosts"]]
    if scenario.get("placement") != "round-robin":
        return [name for name, n in hosts for _ in range(n)]
    most = max(n for _, n in hosts)
    return [name for turn in range(most) for name, n in hosts if turn < n]


def servers(value):
    """The ranks that serve others one after another, where a scenario says so: roots, and parents in a tree."""
    found = set()
    if isinstance(value, dict):
        if isinstance(value.get("operation"), str):
            found.add(value.get("root", 0))
        shape = value.get("tree")
        shape = shape.get("shape") if isinstance(shape, dict) else shape
        if isinstance(shape, list):
            found |= {parent for parent in shape if shape.count(parent) > 1}
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        found |= servers(each)
    return found


def singled_out(scenario):
    """The ranks and the hosts that a scenario treats unlike others."""
    ranks, hosts = set(), set()
    host_of = placed(scenario)

    def look(value, key=None):
        if isinstance(value, list):
            # One number for each rank: those above the middle one.
            if key in ("each_ns", "bytes") and len(value) == len(host_of):
                middle = sorted(value)[(len(value) - 1) // 2]
                ranks.update(rank for rank, number in enumerate(value) if number > middle)
            for each in value:
                look(each, key)
        if not isinstance(value, dict):
            return
        if key not in ("hosts", "trees"):
            ranks.update(value.get("ranks", []) if isinstance(value.get("ranks"), list) else [])
            if isinstance(value.get("hosts"), list):
                hosts.update(value["hosts"])
            for name in ("rank", "partner"):
                if isinstance(value.get(name), int):
                    ranks.add(value[name])
            if isinstance(value.get("host"), str):
                hosts.add(value["host"])
            if "moves_every" in value:
                ranks.update(range(len(host_of)))
        for name, each in value.items():
            look(each, name)

    look({name: value for name, value in scenario.items() if name != "hosts"})
    # A host is late if all that are singled out are on it, and its ranks are if it is.
    only = {host_of[rank] for rank in ranks}
    ranks |= {rank for rank, host in enumerate(host_of) if host in hosts}
    return ranks, hosts | only


def shortened(text, most_calls):
    """A scenario that repeats its longest loop less often, if it makes more calls than these."""
    n_ranks = sum(host["ranks"] for host in tomllib.loads(text)["hosts"])

    def repeat(match):
        return f"repeat = {min(int(match[1]), max(1, most_calls // n_ranks))}"

    return re.sub(r"^repeat = ([\d_]+)$", repeat, text, flags=re.MULTILINE)


def named(cause):
    """Ranks and hosts that a cause names, as words, and which of them."""
    where = cause["where"]
    ranks = [where[name] for name in ("rank", "from", "to", "node") if isinstance(where.get(name), int)]
    ranks += where.get("ranks") or []
    hosts = [where[name] for name in ("host", "from", "to", "node") if isinstance(where.get(name), str)]
    by = f" {cause['by']}" if cause["by"] else ""
    places = ", ".join([f"rank {rank}" for rank in ranks] + [f"host {host}" for host in hosts])
    return f"{cause['kind']}{by}: {places or 'nobody'}", ranks, hosts


def analyzed(text, seed, folder):
    """The causes that are found in a scenario with a seed."""
    (folder / "scenario.toml").write_text(text)
    trace = folder / "trace"
    generate = [TARGET / "collbench-generate", "--force", "--seed", str(seed), folder / "scenario.toml", trace]
    subprocess.run(generate, check=True, capture_output=True)
    analyze = [TARGET / "collbench-analyze", "--no-pictures", "--format", "json", trace]
    # Status 1: something is unfinished or damaged, as planted.
    done = subprocess.run(analyze, capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"accused.py: collbench-analyze failed: {done.stderr}")
    return json.loads(done.stdout)["causes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("scenario", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    n_innocent = 0
    for path in given.scenario or scenarios():
        text = shortened(path.read_text(), given.calls)
        scenario = tomllib.loads(text)
        guilty_ranks, guilty_hosts = singled_out(scenario)
        serving = guilty_ranks | servers(scenario["program"])
        found = collections.defaultdict(list)
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(given.first, given.first + given.seeds):
                for cause in analyzed(text, seed, pathlib.Path(folder)):
                    words, ranks, hosts = named(cause)
                    of_kind = serving if cause["kind"] == "serialization" else guilty_ranks
                    innocent = not of_kind.issuperset(ranks) or not guilty_hosts.issuperset(hosts)
                    if given.all or ranks or hosts:
                        found[innocent, words].append((seed, cause["share"] or 0.0))
        print(f"{path.resolve().relative_to(ROOT) if path.resolve().is_relative_to(ROOT) else path}")
        for (innocent, words), times in sorted(found.items(), key=lambda item: -len(item[1])):
            seeds = sorted({seed for seed, _ in times})
            shares = [share for _, share in times]
            which = f", with seed {' '.join(map(str, seeds))}" if len(seeds) < given.seeds else ""
            mark = "INNOCENT " if innocent else ""
            print(f"    {mark}{words}: in {len(seeds)} of {given.seeds}, {min(shares):.1%} to {max(shares):.1%}{which}")
            n_innocent += innocent
        sys.stdout.flush()
    sys.exit(1 if n_innocent else 0)


if __name__ == "__main__":
    main()
