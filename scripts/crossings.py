#!/usr/bin/env python3
"""Whether the stated gain of fewer crossings between sites holds, on a simulated cluster.

    scripts/crossings.py [--cases N] [--seed N] [--calls N] [--keep DIR [--again]] [CASE..]

A case is OPERATION:SITES:RANKS:ORDER, as allreduce:2:8:random; the order is block, turn (round-robin) or random.
Without any, N cases (20) of all are drawn. Each runs with the MPI library, is analyzed, and runs again over the tree
that `collbench-tree make hierarchical` writes from its trace. The time of its calls must not fall by more than the
verdict allows, no result may be wrong, and ranks that are placed site by site are no matter of placement. Exit status:
0, 1 where a case fails, 77 where there is no cluster. --keep leaves the traces in a folder, and --again analyzes those
that are there. Build first; needs root and Open MPI.
"""

import argparse
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release"
CLUSTER = ROOT / "tests/cluster/cluster"
NAME = f"crossings-{os.getpid()}"
OPERATIONS = ["allreduce", "barrier", "bcast", "reduce", "allgather"]
ORDERS = ["block", "turn", "random"]
# Part of the time with the library by which both may differ by chance.
CHANCE = 0.05

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int c, char **v) {
    int rank, n, calls = atoi(v[2]), wrong = 0;
    long all[64], x, y, sum;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    sum = (long)n * (n + 1) / 2;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < calls; i++) {
        /* The next root needs what this one gives. */
        int root = i % 2 ? n - 1 : 0;
        x = y = rank + 1;
        if (!strcmp(v[1], "allreduce")) {
            MPI_Allreduce(&x, &y, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
            wrong += y != sum;
        } else if (!strcmp(v[1], "barrier")) {
            MPI_Barrier(MPI_COMM_WORLD);
        } else if (!strcmp(v[1], "allgather")) {
            MPI_Allgather(&x, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD);
            for (int of = 0; of < n; of++) wrong += all[of] != of + 1;
        } else if (!strcmp(v[1], "bcast")) {
            MPI_Bcast(&x, 1, MPI_LONG, root, MPI_COMM_WORLD);
            wrong += x != root + 1;
        } else {
            MPI_Reduce(&x, &y, 1, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
            wrong += rank == root && y != sum;
        }
    }
    double own = MPI_Wtime() - begin, longest;
    MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("calls %.6f %d\\n", longest, wrong);
    MPI_Finalize();
    return 0;
}
"""


def topology(sites, hosts):
    """Sites of hosts with one rank each, 2 ms apart."""
    names = "abc"[:sites]
    lines = [f"cluster {name} hosts={hosts[at]} slots=1 latency_us=30 rate=1gbit" for at, name in enumerate(names)]
    lines += [f"link {one} {other} latency_us=2000 rate=1gbit" for one, other in itertools.combinations(names, 2)]
    return "\n".join(lines) + "\n"


def placed(sites, hosts, order, draw):
    """The host of each rank."""
    by_site = [[f"{'abc'[site]}-{1 + host}" for host in range(hosts[site])] for site in range(sites)]
    if order == "block":
        return [host for of_site in by_site for host in of_site]
    if order == "turn":
        return [host for of in itertools.zip_longest(*by_site) for host in of if host]
    flat = [host for of_site in by_site for host in of_site]
    draw.shuffle(flat)
    return flat


def command(*words, expect=0, timeout=240):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout, check=False)
    if expect is not None and done.returncode != expect:
        raise RuntimeError(f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Case:
    """One case, as it is written."""

    def __init__(self, text):
        self.text = text
        self.operation, sites, ranks, self.order = text.split(":")
        self.sites, self.ranks = int(sites), int(ranks)

    def run(self, folder, program, calls):
        """Runs a case with the library, and over the tree that is made from its trace."""
        draw = random.Random(self.text)
        hosts = [self.ranks // self.sites + (at < self.ranks % self.sites) for at in range(self.sites)]
        described = folder / "topology"
        described.write_text(topology(self.sites, hosts))
        command(CLUSTER, "--name", NAME, "up", "--replace", "--topology", described, "--ttl", 600)
        order = placed(self.sites, hosts, self.order, draw)
        mpirun = [CLUSTER, "--name", NAME, "mpirun", "--allow-run-as-root", "--host", ",".join(order), "-n", self.ranks]
        program = [program, self.operation, calls]
        trace, over, tree = folder / "trace", folder / "over", folder / "trees.toml"
        record = [BIN / "collbench-record", "--force", "-o"]
        library_s, wrong = figures(command(*record, trace, "--", *mpirun, *program))
        command(BIN / "collbench-tree", "make", "hierarchical", "--trace", trace, "-o", tree, "--force")
        tree_s, wrong_too = figures(command(*record, over, "--trees", tree, "--", *mpirun, *program))
        of = {"sites": "".join(host[0] for host in order), "library_s": library_s, "tree_s": tree_s}
        (folder / "times.json").write_text(json.dumps({**of, "wrong": wrong + wrong_too}))

    def figures(self, folder):
        """What both runs took, and what the analysis says of the first."""
        trace = folder / "trace"
        found = json.loads(command(BIN / "collbench-analyze", "--format", "json", "--no-pictures", trace, expect=None))
        first = next(iter(found["causes"]), None)
        crossing = [of for of in found["causes"] if "crosses between" in of["text"]]
        stated = [of["run_shorter_ns"] or 0 for of in crossing if of["of"] == "operation_time"]
        return {
            **json.loads((folder / "times.json").read_text()),
            "first": first["kind"] if first else "-",
            "is_of_order": any(of["kind"] == "placement" for of in crossing),
            "bound_s": sum(stated) / 1e9 if stated else None,
        }

    def faults(self, of):
        """What is wrong with its figures."""
        gain_s, bound_s = of["library_s"] - of["tree_s"], of["bound_s"]
        if of["wrong"]:
            yield f"{of['wrong']} wrong results"
        if bound_s is not None and gain_s > bound_s + CHANCE * of["library_s"]:
            yield "gains more than stated"
        if of["is_of_order"] and self.order == "block":
            yield "is placed well"
        if bound_s is None and gain_s > of["library_s"] / 2:
            yield "crossings are not seen"
        if of["is_of_order"] and gain_s > of["library_s"] / 4 and of["first"] != "placement":
            yield "placement does not come first"


def figures(text):
    """Seconds and wrong results that the program prints."""
    words = next(line for line in text.splitlines() if line.startswith("calls ")).split()
    return float(words[1]), int(words[2])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("case", nargs="*")
    options = parser.parse_args()
    if subprocess.run([CLUSTER, "--help"], capture_output=True, check=False).returncode or os.geteuid():
        return 77
    everything = [":".join(map(str, of)) for of in itertools.product(OPERATIONS, (2, 3), range(6, 13), ORDERS)]
    chosen = options.case or random.Random(options.seed).sample(everything, options.cases)
    n_failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        source, program = folder / "program.c", folder / "program"
        source.write_text(PROGRAM)
        command("mpicc", "-g", "-O2", source, "-o", program)
        print(f"{'case':26} {'sites':12} {'library':>8} {'tree':>8} {'gain':>6} {'stated':>6}  first cause")
        try:
            for case in map(Case, chosen):
                own = folder / case.text.replace(":", "-")
                own.mkdir(exist_ok=True)
                if not (options.again and (own / "times.json").exists()):
                    case.run(own, program, options.calls)
                of = case.figures(own)
                faults = list(case.faults(of))
                n_failed += bool(faults)
                gain = 1 - of["tree_s"] / of["library_s"]
                stated = "-" if of["bound_s"] is None else f"{of['bound_s'] / of['library_s']:.0%}"
                print(
                    f"{case.text:26} {of['sites']:12} {of['library_s']:6.2f} s {of['tree_s']:6.2f} s {gain:6.0%} "
                    f"{stated:>6}  {of['first']}{''.join(f'; {fault.upper()}' for fault in faults)}",
                    flush=True,
                )
        finally:
            command(CLUSTER, "--name", NAME, "down", expect=None)
    print(f"{len(chosen) - n_failed} of {len(chosen)} cases hold")
    return int(n_failed > 0)


if __name__ == "__main__":
    sys.exit(main())
