#!/usr/bin/env python3
"""MPICH's collective tests over trees.

    mpich-coll.py DIR [SEED]

builds the programs of test/mpi/coll of Debian's source of MPICH in DIR, with mpicc, and runs each line of their list three
times: as it is, over trees of which another one is used after one to three calls, and over those of "best". Fails if a
program that is right without trees is not over them. Build collbench first (make build).
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release/collbench-record"
# More processes than a small machine has room for say nothing more.
MOST_RANKS = 10
OPTIONS = ["fortran", "cxx", "spawn", "romio", "rma"]
# Open MPI has the names of MPI-1 no more.
RENAMED = "s/MPI_Type_(hvector|hindexed|struct)\\b/MPI_Type_create_\\1/; s/MPI_Address\\b/MPI_Get_address/"


TREES = """
[[tree]]
operations = ['allreduce', 'barrier', 'allgather']
adapt = { library = true, results = 'any' }
candidate = [{ shape = 'exchange' }, { shape = 'binomial' }, { shape = 'linear' }]

[[tree]]
operations = ['reduce', 'bcast', 'gather', 'scatter']
adapt = { library = 'first', results = 'any' }
candidate = [{ shape = 'binomial' }, { shape = 'linear' }, { shape = 'chain 2' }]
"""


def build(folder):
    """Builds the tests below a folder; where they are."""
    for found in folder.glob("mpich-*/test/mpi/coll/testlist"):
        return found.parent
    folder.mkdir(parents=True, exist_ok=True)
    for part in ["lists/partial", "cache/archives/partial"]:
        (folder / part).mkdir(parents=True, exist_ok=True)
    sources = folder / "sources.list"
    sources.write_text("deb-src http://deb.debian.org/debian bookworm main\n")
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=/dev/null",
           "-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "source", "--download-only", "mpich"], cwd=folder, check=True)
    [archive] = folder.glob("mpich_*.orig.tar.*")
    subprocess.run(["tar", "xf", archive.name], cwd=folder, check=True)
    [tests] = folder.glob("mpich-*/test/mpi")
    subprocess.run(["sed", "-i", "-E", RENAMED, *tests.glob("dtpools/src/*.c")], check=True)
    disabled = [f"--disable-{option}" for option in OPTIONS]
    subprocess.run(["./configure", "CC=mpicc", "--enable-strictmpi", *disabled], cwd=tests, check=True)
    for part in ["dtpools", "util", "coll"]:
        # What this MPI library does not have is not built.
        subprocess.run(["make", "-k", "-C", part], cwd=tests)
    return tests / "coll"


def outcome(command, folder):
    """Exit status, whether the program says that it is right, and all that it says."""
    done = subprocess.run(["timeout", "-k", "5", "120", *command], cwd=folder, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, "No Errors" in done.stdout, done.stdout


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    coll = build(pathlib.Path(sys.argv[1]).resolve())
    seed = sys.argv[2] if len(sys.argv) > 2 else "1"
    lines = [line.split("#")[0].split() for line in (coll / "testlist").read_text().splitlines()]
    runs = {}
    for name, n_ranks, *more in (line for line in lines if len(line) > 1):
        arguments = [word.removeprefix("arg=") for word in more if word.startswith("arg=")]
        n_ranks = str(min(int(n_ranks), MOST_RANKS))
        if os.access(coll / name, os.X_OK):
            runs[name, n_ranks, *arguments] = ["mpirun", "--oversubscribe", "-n", n_ranks, f"./{name}", *arguments]
    (coll / "trees.toml").write_text(TREES)
    ways = {"at random": ["trees.toml", "--adapt", f"random:{seed}"], "best": ["best"]}
    right, worse = 0, []
    for run, command in runs.items():
        *without, _ = outcome(command, coll)
        right += without == [0, True]
        for way, trees in ways.items():
            *over_trees, said = outcome([RECORD, "--no-trace", "--trees", *trees, "--", *command], coll)
            if without != over_trees:
                print(*run, without, way, over_trees, flush=True)
            if without == [0, True] != over_trees:
                worse.append((run, way))
                print(said, flush=True)
    print(f"{len(runs)} runs of {len({run[0] for run in runs})} programs: {right} right without trees; "
          f"{len(worse)} of them not over trees")
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
