#!/usr/bin/env python3
"""How often the verdict is true: programs made at random, whose late ranks are known, are run, recorded and analyzed.

    scripts/score.py [--count N] [--seed S] [--cluster] [--keep DIR] [PROGRAM..]
    scripts/score.py --rescore DIR [PROGRAM..]

Makes N programs (300; 60 with --cluster): operation x who is late x payload x place of the work x communicator x
threads. Each is a plan for tests/score/scored.c, depends on its number and the seed only, and is run with its lateness,
recorded, and without it. Who is late is what the plan says; where that is felt, and how much shorter the run is without
it, is what the program itself measures, within what the plan allows (else it is run again).

A program counts if the first line of the verdict names the late ranks, all of them and no other, before the operation at the line
where others begin to wait for them, or if nobody is late and no rank or host is named. Prints
what does not count, a table by operation and by who is late, and how often "up to X shorter" is no less than what is
gained and at most 1.3 times that. The exit status is 1 if fewer count than scripts/score.bound asks for. Build first.

--keep DIR keeps plans, traces and times, and runs nothing again that is there undisturbed, --rescore DIR analyzes them again, PROGRAM.. are the numbers of some.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release"
SOURCE = ROOT / "tests/score/scored.c"
TOPOLOGY = ROOT / "tests/score/sites.topology"
CLUSTER = ROOT / "tests/cluster/cluster"
BOUND = ROOT / "scripts/score.bound"
HOSTS = ["lyon-1", "lyon-2", "nancy-1", "nancy-2"]

ALL = "all wait for all"
DOWN = "all wait for the root"
UP = "the root waits for all"
LOWER = "each waits for the lower ones"
BESIDE = "each waits for its neighbors"
# The operations by who waits for whom where messages are sent at once.
WAITS = {
    "MPI_Barrier": ALL,
    "MPI_Bcast": DOWN,
    "MPI_Reduce": UP,
    "MPI_Allreduce": ALL,
    "MPI_Gather": UP,
    "MPI_Scatter": DOWN,
    "MPI_Allgather": ALL,
    "MPI_Alltoall": ALL,
    "MPI_Reduce_scatter_block": ALL,
    "MPI_Scan": LOWER,
    "MPI_Exscan": LOWER,
    "MPI_Gatherv": UP,
    "MPI_Scatterv": DOWN,
    "MPI_Allgatherv": ALL,
    "MPI_Alltoallv": ALL,
    "MPI_Neighbor_allgather": BESIDE,
    "MPI_Neighbor_alltoall": BESIDE,
    "MPI_Ibarrier": ALL,
    "MPI_Ibcast": DOWN,
    "MPI_Iallreduce": ALL,
    "MPI_Ialltoall": ALL,
    "MPI_Igather": UP,
    "MPIX_Allreduce_init": ALL,
    "MPIX_Bcast_init": DOWN,
    "halo": BESIDE,
    "send": None,
    "MPI_Finalize": ALL,
}
# Those that are completed by a call of their own.
STARTED = [name for name in WAITS if name.startswith(("MPI_I", "MPIX"))]
# Those whose data grow with the square of the ranks.
MANY = ["MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Ialltoall"]
BETWEEN_GROUPS = ["MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Gather", "MPI_Scatter"]
BETWEEN_GROUPS += ["MPI_Allgather", "MPI_Alltoall"]
WHO = {"nobody": 15, "one": 34, "two": 10, "half": 10, "once": 8, "every": 8, "grows": 8, "moves": 7}
PAYLOADS = [8, 64, 512, 2048, 16384, 65536, 262144, 1048576]
FINALIZE = 8


# The programs


def program(idx, seed, is_cluster):
    """The program of a number: its plan, and whom it makes late."""
    draw = random.Random(f"{seed} {idx} {is_cluster}")
    operation = list(WAITS)[idx % len(WAITS)]
    who = draw.choices([*WHO], [*WHO.values()])[0]
    n = draw.choice([4, 6, 8]) if is_cluster else draw.randint(4, 8)
    placed = draw.choice(["slot", "node"]) if n == 8 else "node"
    if is_cluster and who in ("two", "half"):
        who = "host"
    if operation == "MPI_Finalize" and who in ("every", "grows", "moves"):
        who = "one"

    # Which ranks take part, and who of them is late.
    kinds = ["world", "world", "dup", "halves", "parity", "without"]
    if operation in BETWEEN_GROUPS:
        kinds += ["inter", "inter"]
    kind = draw.choice(kinds)
    if operation.startswith("MPI_Neighbor"):
        kind = "ring"
    if operation in ("MPI_Finalize", "send", "halo"):
        kind = "world"
    left_out = draw.randrange(n)
    groups = groups_of(kind, left_out, n)
    group = draw.choice(groups)
    # Of the first group between two groups.
    root = draw.randrange(min(len(each) for each in groups))
    member = draw.choice([root, (root + 1) % len(group), (root - 1) % len(group), draw.randrange(len(group))])
    first = group[member]
    late = {
        "nobody": [],
        "two": some_of(n, 2, groups, draw.random()),
        "half": some_of(n, n // 2, groups, draw.random()),
        "moves": draw.sample(range(n), n),
        "host": [rank for rank in range(n) if host_of(rank, n, placed) == host_of(first, n, placed)],
    }.get(who, [first])

    # How much is sent, and how long a step is.
    payload = draw.choice([size for size in PAYLOADS if size <= (16384 if is_cluster else 1 << 20)])
    if operation in MANY:
        payload = min(payload, 65536)
    if operation in ("MPI_Barrier", "MPI_Ibarrier", "MPI_Finalize"):
        payload = 0
    moved_us = payload * n * (n if operation in MANY else 1) * 0.001
    work_us = draw.choice([2000, 3000, 5000, 8000, 12000]) * draw.uniform(0.8, 1.2) + 4 * moved_us + (12000 if is_cluster else 0)
    fraction = draw.uniform(0.12, 0.6)
    late_us = fraction / (1 - fraction) * (work_us + 2 * moved_us)
    jitter = draw.choice([0, 0, 5, 15])
    n_steps = max(12, min(200, int(draw.uniform(0.4, 0.9) * (3e6 if is_cluster else 1e6) / (work_us + 2 * moved_us + late_us))))
    when = "always 0"
    if who == "once":
        when, late_us = f"once {draw.randrange(n_steps // 4, n_steps)}", late_us * n_steps
    elif who == "every":
        # At least five beats.
        every = draw.randint(2, max(2, n_steps // 7))
        when, late_us = f"every {every}", late_us * every
    elif who == "grows":
        when = "grow 0"
    elif who == "moves":
        when = f"moves {draw.choice([1, 1, max(1, n_steps // n)])}"
    late_statement = f"late {','.join(map(str, late))} {late_us:.0f} 0 {when}" if late else None

    # Where the work is.
    comms = [] if kind == "world" else [f"comm c {kind} {left_out}"]
    comm = "world" if kind == "world" else "c"
    call = f"{operation} {comm} {payload} {root} always 0"
    work = f"work all {work_us:.0f} {jitter} always 0"
    steps, end = [work], []
    shape = draw.choice(["plain", "plain", "met", "met", "met", "before", "chain", "rarely"])
    met = draw.choice(["MPI_Barrier world 0 0", "MPI_Allreduce world 8 0"])
    if shape == "before" and len(late) == 1 and n > 3:
        # Late before an operation of two ranks, and therefore before the other.
        comms.append(f"comm pair pair {first}")
        steps += [late_statement, "op 2 MPI_Allreduce pair 8 0 always 0"]
    elif shape == "chain" and len(late) == 1:
        # Another one waits for a message of the late one, or one that it is to receive.
        other = (first + draw.choice([1, n - 1])) % n
        ends = draw.choice([f"{first} {other} {draw.choice(PAYLOADS[:6])}", f"{other} {first} {draw.choice(PAYLOADS[5:7])}"])
        steps += [late_statement, f"send 3 {ends}"]
    elif late and not operation == "MPI_Finalize":
        steps.append(late_statement)
    if operation in STARTED:
        overlapped = f"work all {work_us / 2:.0f} 0 always 0"
        # Some are late between the two calls.
        between = [steps.pop()] if late and steps[-1] == late_statement and draw.random() < 0.3 else []
        start = sum(not line.startswith("comm") for line in steps)
        wait = f"op 4 MPI_Wait_started {comm} 0 {start} always 0" if operation.startswith("MPIX") else None
        steps += [f"op 0 {call}", overlapped, *between, wait or f"op 4 MPI_Wait {comm} 0 0 always 0"]
    elif operation == "send":
        if shape != "chain":
            other = (first + draw.randint(1, n - 1)) % n
            steps.append(draw.choice([f"send 0 {first} {other} {payload}", f"send 0 {other} {first} {payload}"]))
        steps.append(f"op 1 {met} always 0")
    elif operation == "MPI_Finalize":
        if draw.random() < 0.7:
            steps.append(f"op 1 {met} always 0")
        if late:
            end.append(f"late {','.join(map(str, late))} {late_us * (1 if who == 'once' else n_steps):.0f} 0 always 0")
    else:
        steps.append(f"op 0 {call}")
    if shape in ("met", "chain") and operation not in ("send", "MPI_Finalize") or operation == "halo":
        steps += [f"work all {work_us / 4:.0f} 0 always 0", f"op 1 {met} {'always 0' if shape != 'rarely' else 'every 4'}"]
    elif shape == "rarely" and operation not in ("send", "MPI_Finalize"):
        steps.append(f"op 1 {met} every 5")
    def made():
        return [f"threads {n_threads}", *comms, f"steps {n_steps}", *steps, *(["end", *end] if end else [])]

    n_threads = draw.choice([2, 3]) if draw.random() < 0.1 and operation != "MPI_Finalize" else 1
    n_threads = min(n_threads, 2 if operation in STARTED else 3)
    if late and Plan(made(), n).gain_us()[0] < 0.1 * Plan(made(), n).ends_after_us(True, False):
        # Where nobody need wait, none of them would be missed.
        steps.append(f"op 1 {met} always 0")
    return {
        "idx": idx,
        "operation": operation,
        "who": who,
        "ranks": n,
        "placed": placed if is_cluster else None,
        "late": sorted(late),
        "plan": made(),
    }


def some_of(n, n_some, groups, seed):
    """So many ranks, but no more than half of those of any group: else the others are early."""
    draw = random.Random(seed)
    left = n - sum(map(len, groups))
    n_some = min(n_some, sum(len(group) // 2 for group in groups) + left)
    while True:
        some = sorted(draw.sample(range(n), n_some))
        if all(len(set(some) & set(group)) * 2 <= len(group) for group in groups):
            return some


def host_of(rank, n, placed):
    """The host of a rank of the cluster, two of a host one after the other or in turns."""
    return HOSTS[rank // 2 if placed == "slot" else rank % 4]


def groups_of(kind, argument, n):
    """The ranks that are members of each communicator of a kind; of an intercommunicator, its two groups."""
    everyone = list(range(n))
    return {
        "halves": [everyone[: n // 2], everyone[n // 2 :]],
        "inter": [everyone[: n // 2], everyone[n // 2 :]],
        "parity": [everyone[::2], everyone[1::2]],
        "without": [[rank for rank in everyone if rank != argument]],
        "pair": [sorted([argument, (argument + 1) % n])],
    }.get(kind, [everyone])


# What is true of them


def chance(rank, step, statement):
    """The same number for a rank and a step as in the program: 0 to 1."""
    x = (rank * 2654435761 + step * 40503 + statement * 9973) & 0xFFFFFFFF
    x ^= x >> 15
    x = x * 2246822519 & 0xFFFFFFFF
    x ^= x >> 13
    x = x * 3266489917 & 0xFFFFFFFF
    x ^= x >> 16
    return (x >> 8) / 16777216


class Plan:
    """A plan, taken apart: its statements as lists of words."""

    def __init__(self, lines, n):
        words = [line.split() for line in lines]
        first = {line[0]: line for line in words}
        self.n = n
        self.n_threads = int(first["threads"][1])
        self.n_steps = int(first["steps"][1])
        self.comms = {"world": ("world", [list(range(n))])}
        for _, name, kind, argument in (line for line in words if line[0] == "comm"):
            self.comms[name] = kind, groups_of(kind, int(argument), n)
        done = [line for line in words if line[0] in ("work", "late", "op", "send", "end")]
        at_end = next((idx for idx, line in enumerate(done) if line[0] == "end"), len(done))
        self.statements = [line for line in done if line[0] != "end"]
        self.steps, self.end = range(at_end), range(at_end, len(self.statements))

    def ends_after_us(self, is_late, is_waiting_always):
        """How long the work takes in all, with lateness or without it. Who sends waits for the receiver, or nobody does."""
        threads = []
        for thread in range(self.n_threads):
            at, started = [0.0] * self.n, {}
            for step in range(self.n_steps):
                for idx in self.steps:
                    self.do(idx, step, at, started, is_late and thread == 0, is_waiting_always)
            threads.append(at)
        at = [max(times) for times in zip(*threads)]
        for idx in self.end:
            self.do(idx, 0, at, {}, is_late, is_waiting_always)
        return max(at)

    def do(self, idx, step, at, started, is_late, is_waiting_always):
        """Moves the time of each rank on by a statement."""
        verb, *words = self.statements[idx]
        if verb in ("work", "late"):
            ranks, us, jitter, when, k = words[0], float(words[1]), float(words[2]), words[3], int(words[4])
            if verb == "late" and not is_late or not is_time(when, k, step):
                return
            ranks = range(self.n) if ranks == "all" else [int(rank) for rank in ranks.split(",")]
            if when == "moves":
                ranks = [ranks[step // k % len(ranks)]]
            for rank in ranks:
                factor = 2 * step / self.n_steps if when == "grow" else 1
                at[rank] += us * factor * (1 + jitter / 100 * (chance(rank, step, idx) - 0.5))
        elif verb == "send":
            from_rank, to_rank = int(words[1]), int(words[2])
            at[to_rank] = max(at[to_rank], at[from_rank])
            if is_waiting_always:
                at[from_rank] = at[to_rank]
        elif is_time(words[5], int(words[6]), step):
            self.call(words, at, started, is_waiting_always)

    def call(self, words, at, started, is_waiting_always):
        """Moves the time of each rank on by an operation."""
        name, comm, root = words[1], words[2], int(words[4])
        kind, groups = self.comms[comm]
        if name in STARTED:
            started[comm] = name, root, list(at)
            return
        entered = list(at)
        if name.startswith("MPI_Wait"):
            name, root, entered = started[comm]
        if is_waiting_always:
            entered = [max(times) for times in zip(entered, at)]
        for group in [groups[0] + groups[1]] if kind == "inter" else groups:
            waits = WAITS[name]
            for position, rank in enumerate(group):
                if waits is BESIDE:
                    others = [group[position - 1], group[(position + 1) % len(group)]]
                elif waits is ALL or is_waiting_always:
                    others = group
                elif waits is DOWN:
                    others = [group[root]]
                elif waits is UP:
                    others = group if rank == group[root] else []
                else:
                    others = group[:position]
                at[rank] = max([at[rank], *(entered[other] for other in others)])

    def gain_us(self):
        """Between which times the run is shorter without lateness, by arithmetic."""
        return sorted(self.ends_after_us(True, always) - self.ends_after_us(False, always) for always in (False, True))

    def places(self):
        """The places in the order in which a late rank comes to them: (where it is inside, where it began that, what)."""
        late_at = next((idx for idx, words in enumerate(self.statements) if words[0] == "late"), 0)
        order = [*range(late_at, len(self.statements)), *(range(late_at) if late_at in self.steps else [])]
        # What is done after the steps comes last.
        order = [idx for idx in order if idx in self.steps] + [idx for idx in order if idx in self.end]
        started = {words[3]: words for words in self.statements if words[0] == "op" and words[2] in STARTED}
        found = []
        for words in (self.statements[idx] for idx in order):
            place = int(words[1]) if words[0] in ("op", "send") else None
            if words[0] == "send" or words[2] == "halo":
                found.append((place, place, "point to point"))
            elif words[0] == "op":
                # Who waits for completion waits in the operation that was started.
                begun = started[words[3]] if words[2].startswith("MPI_Wait") else words
                found.append((place, int(begun[1]), begun[2]))
        return found + [(FINALIZE, FINALIZE, "MPI_Finalize")]


def is_time(when, k, step):
    """Whether something is done in a step."""
    return step == k if when == "once" else step % k == k - 1 if when == "every" else True


def felt_at(plan, made):
    """Where others begin to wait for the late ones: operations by place, more than one if that is open.

    The first collective in which one of the others waits for half of what was planted, or those before it in which one
    waits for a part; point-to-point communication, too, if one waits there that long. Where lateness moves, all in which
    one waits for a part.
    """
    measured = made["measured"]
    planted_s = sum(measured["gain_us"]) / 2e6
    others = [rank for rank in range(plan.n) if rank not in made["late"]] or range(plan.n)
    found, is_found = {}, False
    # Without a run to compare with, what they are inside of calls.
    usual = [[0.0] * len(times) for times in measured["on"]] if measured["disturbed"] else measured["off"]
    for inside, place, name in plan.places():
        waited_s = max(measured["on"][rank][inside] - usual[rank][inside] for rank in others)
        if name == "point to point":
            if waited_s >= 0.5 * planted_s:
                found[place] = name
        elif waited_s >= 0.15 * planted_s and not is_found:
            found[place] = name
            is_found = waited_s >= 0.5 * planted_s and made["who"] != "moves"
    return found


def lines_of_places():
    """The lines of the source at which calls are, by place."""
    text = SOURCE.read_text().splitlines()
    lines = {int(line[12]): no for no, line in enumerate(text, 1) if line.startswith("PLACE(place_")}
    lines[FINALIZE] = next(no for no, line in enumerate(text, 1) if "/* the last place */" in line)
    return lines


# Running them


def launcher(made, is_cluster):
    """The command that starts the ranks."""
    n = ["-n", str(made["ranks"])]
    if is_cluster:
        return [CLUSTER, "--name", "score", "mpirun", *n, "--map-by", made["placed"]]
    return ["mpirun", "--oversubscribe", *n]


def times(output):
    """How long a run took, in s, and how long each rank was inside of the calls of each place."""
    ranks = {}
    for line in output.splitlines():
        if line.startswith("rank "):
            rank, *numbers = line.split()[1:]
            ranks[int(rank)] = [float(number) for number in numbers]
    return max(end - begin for begin, end, *_ in ranks.values()), [ranks[rank][2:] for rank in sorted(ranks)]


def program_name():
    """Of another source another one: a kept trace names the program for its lines."""
    return f"scored-{zlib.crc32(SOURCE.read_bytes()):08x}"


def wait_until_quiet():
    """Waits, up to 3 s, until others (but for those that are nice) leave three quarters of the cores alone for 0.1 s."""

    def spent():
        user, _, system, *_ = map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
        return user + system

    for _ in range(30):
        before = spent()
        time.sleep(0.1)
        if spent() - before <= 0.025 * os.cpu_count() * os.sysconf("SC_CLK_TCK"):
            return


def run(made, folder, bin_folder, is_cluster, tries):
    """Runs a program with its lateness, recorded, and without it, into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = folder / "plan"
    plan.write_text("\n".join(made["plan"]) + "\n")
    scored = folder.parent / program_name()
    record = [bin_folder / "collbench-record", "--force", "-o", folder / "trace", "--"]
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }

    def output(command):
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        if done.returncode:
            sys.exit(f"score.py: program {made['idx']} failed: {done.stderr}")
        return done.stdout

    if (folder / "program.json").exists():
        before = json.loads((folder / "program.json").read_text())
        if all(before[name] == value for name, value in made.items()) and not before["measured"]["disturbed"]:
            return
    plan_of = Plan(made["plan"], made["ranks"])
    low_us, high_us = plan_of.gain_us()
    most_s = 1.3e-6 * plan_of.ends_after_us(False, True) + (0.5 if is_cluster else 0.05)
    # The machine does something else if the work is done much later, or lateness shows less or more than planned.
    for _ in range(tries):
        start = launcher(made, is_cluster)
        wait_until_quiet()
        with_it = [*start, *record, scored, plan] if is_cluster else [*record, *start, scored, plan]
        on_s, on = times(output(with_it))
        off_s, off = times(output([*start, scored, plan, "off"]))
        allowed_s = 0.04 * on_s + 0.1 * high_us * 1e-6
        is_as_planned = low_us * 1e-6 - allowed_s <= on_s - off_s <= high_us * 1e-6 + allowed_s
        disturbed = off_s > most_s or not is_as_planned
        if not disturbed:
            break
    measured = {"on_s": on_s, "off_s": off_s, "on": on, "off": off, "disturbed": disturbed, "gain_us": [low_us, high_us]}
    measured["lines"] = lines_of_places()
    (folder / "program.json").write_text(json.dumps(made | {"measured": measured}, indent=1) + "\n")


# Judging what is said of them


def judged(folder, bin_folder):
    """Whether the verdict of a kept program is true: (reason why not or None, what is wrong with the bound or None, what is said)."""
    made = json.loads((folder / "program.json").read_text())
    analyze = [bin_folder / "collbench-analyze", "--no-pictures", "-o", folder / "report", folder / "trace"]
    said = subprocess.run([*analyze, "--format", "json"], capture_output=True, text=True)
    screen = subprocess.run(analyze, capture_output=True, text=True)
    if not said.stdout:
        return made, "failed", None, said.stderr
    document = json.loads(said.stdout)
    causes = [cause for cause in document["causes"] if cause["share"] is None or cause["share"] >= 0.01]
    bullet = " ".join(screen.stdout.partition("\nVerdict\n")[2].partition("\n\n")[0].split())
    first = bullet.removeprefix("- ").partition(" - ")[0]
    if made["who"] == "nobody":
        accusing = [cause["text"] for cause in causes if named(document, cause) or "from" in cause["where"]]
        return made, "accused" if accusing else None, None, accusing[0] if accusing else first
    # The screen may put another cause first than the costliest, and tells two of one rank together.
    causes.sort(key=lambda cause: not first.startswith(" ".join(cause["text"].partition("; costs")[0].split())))
    reason = wrong(made, document, causes, first)
    return made, reason, None if reason else wrong_bound(made, causes[0]), first


def named(document, cause):
    """The ranks that a cause names."""
    where = cause["where"]
    if isinstance(where.get("rank"), int):
        return [where["rank"]]
    if where.get("host"):
        return sorted(rank["rank"] for rank in document["ranks"] if rank["host"] == where["host"])
    return sorted(where.get("ranks") or [])


def wrong(made, document, causes, first):
    """In a word, what is wrong with the first cause."""
    if not causes or first.startswith("no rank stands out"):
        return "silent"
    cause = causes[0]
    ranks = named(document, cause)
    if made["who"] == "moves":
        # Nobody stands out, or the lateness is said to move.
        if ranks and (cause["course"] or {}).get("kind") != "moves":
            return "wrong rank"
        if cause["kind"] not in ("late_rank", "imbalance"):
            return "wrong kind"
    elif not ranks:
        return "silent" if cause["kind"] == "imbalance" else "wrong kind"
    elif ranks != made["late"]:
        late = {rank for each in causes if each["kind"] == "late_rank" for rank in named(document, each)}
        return "one by one" if late == set(made["late"]) else "group in part" if late & set(made["late"]) else "wrong rank"
    plan = Plan(made["plan"], made["ranks"])
    lines = {int(place): line for place, line in made["measured"]["lines"].items()}
    right = felt_at(plan, made)
    if cause["of"] == "point_to_point":
        return None if "point to point" in right.values() else "wrong place"
    if cause["of"] == "finalize" and FINALIZE in right:
        return None
    operation = document["operations"][cause["operation"]]["operation"] if cause["operation"] is not None else None
    frames = document["sites"][cause["site"]]["frames"] if cause.get("site") is not None else []
    line = next((frame["line"] for frame in frames if (frame["file"] or "").endswith(SOURCE.name)), None)
    for place, name in right.items():
        # A persistent operation may have the name of the one that makes it, or of the blocking one.
        names = {name, name.replace("MPIX_", "MPI_"), name.replace("MPIX_", "MPI_").removesuffix("_init")}
        if operation in names and line in (lines[place], None):
            return None
    return "wrong place"


def wrong_bound(made, cause):
    """Whether the run is said to be up to too much or too little shorter: of what is measured and what the plan says."""
    measured = made["measured"]
    gains_s = [measured["on_s"] - measured["off_s"], *(us * 1e-6 for us in measured["gain_us"])]
    bound_s = (cause["run_shorter_ns"] or 0) * 1e-9
    noise_s = 0.02 * measured["on_s"]
    if bound_s < min(gains_s) - noise_s:
        return f"bound too low: {bound_s:.3f} s of {min(gains_s):.3f}"
    if bound_s > 1.3 * max(gains_s) + noise_s:
        return f"bound too high: {bound_s:.3f} s of {max(gains_s):.3f}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--rescore", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=TARGET)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("program", nargs="*", type=int)
    given = parser.parse_args()
    given.count = given.count or (60 if given.cluster else 300)
    bin_folder = given.bin.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        kept = (given.rescore or given.keep or pathlib.Path(temporary)).resolve()
        chosen = given.program or range(given.count)
        if given.rescore:
            chosen = [int(path.name) for path in sorted(kept.iterdir()) if (path / "program.json").exists() and (not given.program or int(path.name) in given.program)]
        else:
            kept.mkdir(parents=True, exist_ok=True)
            compile_command = ["mpicc", "-g", "-O1", "-fno-ipa-icf", SOURCE, "-o", kept / program_name(), "-lpthread"]
            subprocess.run(compile_command, check=True)
        if given.cluster and not given.rescore:
            subprocess.run([CLUSTER, "--name", "score", "up", "--topology", TOPOLOGY, "--replace"], check=True, capture_output=True)

        def score(idx):
            folder = kept / f"{idx:03}"
            if not given.rescore:
                run(program(idx, given.seed, given.cluster), folder, bin_folder, given.cluster, given.tries)
            return judged(folder, bin_folder)

        try:
            with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
                results = []
                for made, reason, bound, text in pool.map(score, chosen):
                    results.append((made, reason, bound))
                    if reason or bound:
                        doubt = " (disturbed)" if made["measured"]["disturbed"] else ""
                        late = ",".join(map(str, made["late"])) or "nobody"
                        print(f"{made['idx']:3} {reason or bound}{doubt}: {made['operation']}, {made['who']}, late: {late}\n      {text}", flush=True)
        finally:
            if given.cluster and not given.rescore:
                subprocess.run([CLUSTER, "--name", "score", "down"], capture_output=True)
    sys.exit(tell(results, given))


def tell(results, given):
    """Prints the table and the numbers; the exit status."""
    whos = [who for who in [*WHO, "host"] if any(made["who"] == who for made, *_ in results)]
    table = collections.defaultdict(lambda: [0, 0])
    for made, reason, _ in results:
        for key in [(made["operation"], made["who"]), (made["operation"], "all"), ("all", made["who"]), ("all", "all")]:
            table[key][0] += not reason
            table[key][1] += 1
    print(f"\n{'':26}" + "".join(f"{who:>8}" for who in [*whos, "all"]))
    for operation in [*WAITS, "all"]:
        cells = [table.get((operation, who)) for who in [*whos, "all"]]
        print(f"{operation:26}" + "".join(f"{f'{cell[0]}/{cell[1]}' if cell else '':>8}" for cell in cells))
    print()
    for reason, count in collections.Counter(reason for _, reason, _ in results if reason).most_common():
        print(f"{count:4} {reason}")
    hits = [bound for made, reason, bound in results if not reason and made["late"]]
    n_bounds = sum(bound is None for bound in hits)
    print(f"\n{n_bounds} of {len(hits)} bounds are not below what is gained and within 1.3 of it")
    n_hits, n = table["all", "all"]
    undisturbed = [reason for made, reason, _ in results if not made["measured"]["disturbed"]]
    if len(undisturbed) < n:
        print(f"{undisturbed.count(None)} of the {len(undisturbed)} that were not disturbed")
    where = "cluster" if given.cluster else "one host"
    print(f"{n_hits} of {n}")
    for line in BOUND.read_text().splitlines() if BOUND.exists() else []:
        found = re.match(rf"{where}: (\d+) of {n} at seed {given.seed}$", line)
        if found and n_hits < int(found[1]) and not given.program:
            print(f"score.py: {BOUND.name} asks for {found[1]}")
            return 1
    return 0


if __name__ == "__main__":
    main()
