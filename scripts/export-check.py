#!/usr/bin/env python3
"""Compares exports of traces with their analysis: export-check.py [--python-alone] COMMANDS TRACE...

A TRACE may be followed by options that select a part, with colons: trace::--ranks::0-3.

Each trace is exported in each format, with 1 and with 3 threads; the bytes must be the same. Each export is read by programs of
others - Python's csv and sqlite3, pandas, polars, DuckDB, Perfetto's own definition of its format, OTF2's reader for Python - and calls,
instances, payload, times and waits, by operation and by rank, must be those of analysis.json. The rules by which Perfetto reads a
trace are applied as well. A schedule in GOAL is parsed and carried out to the end; its messages must be those of the tables, and
what is between them the time outside of collectives. Readers that are not installed are named, and fail the check if CI is set; with --python-alone, none is wanted but Python's
own.
"""
import collections
import csv
import hashlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

FORMATS = ("csv", "parquet", "sqlite", "perfetto", "otf2", "goal")
csv.field_size_limit(1 << 28)
missing = set()


def reader(name):
    """A package, if it is installed and wanted."""
    if "--python-alone" in sys.argv:
        return None
    try:
        return __import__(name)
    except ImportError:
        missing.add(name)
        return None


def run(*arguments, statuses=(0, 3)):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if done.returncode not in statuses:
        sys.exit(f"export-check.py: {' '.join(map(str, arguments))}: status {done.returncode}\n{done.stderr}")
    return done


def fail(trace, what, found, expected):
    sys.exit(f"export-check.py: {trace}: {what}: found {found!r}, expected {expected!r}")


class Sums:
    """What an export says of the trace, by operation of analysis.json and by rank."""

    def __init__(self):
        self.operations = collections.defaultdict(lambda: [0, 0, 0, None, None])
        self.ranks = collections.defaultdict(lambda: [0, 0, None])
        self.instances = collections.Counter()
        self.payload = 0

    def call(self, index, rank, state, size, time, wait, leave):
        """A call of an operation with this index in analysis.json."""
        of = self.operations[index]
        if state != "cut":
            of[0] += 1
            # Of a nonblocking operation that was never completed only the rank has the time.
            of[1] += (time or 0) if leave is not None else 0
            of[2] += wait or 0
            if size is not None:
                of[3] = size if of[3] is None else min(of[3], size)
                of[4] = size if of[4] is None else max(of[4], size)
        self.payload += size or 0
        of = self.ranks[rank]
        of[0] += 1
        of[1] += time or 0
        if wait is not None:
            of[2] = (of[2] or 0) + wait


def expected(document):
    """The same from analysis.json."""
    operations, instances = {}, collections.Counter()
    for index, of in enumerate(document["operations"]):
        total = lambda name: (of[name] or {}).get("total", 0) or 0
        operations[index] = [of["calls"], total("call_time_ns"), total("wait_ns"), of["bytes_min"], of["bytes_max"]]
        for state, n in (("complete", "instances"), ("failed", "failed")):
            if of[n]:
                instances[(index, state)] = of[n]
    ranks = {of["rank"]: [of["calls"], of["call_time_ns"], of["wait_ns"]] for of in document["ranks"] if of["calls"]}
    return operations, instances, ranks


def compare(trace, name, sums, document):
    operations, instances, ranks = expected(document)
    found = {index: of for index, of in sums.operations.items() if of[0]}
    expected_operations = {index: of for index, of in operations.items() if of[0]}
    for index in sorted(set(found) | set(expected_operations), key=str):
        if found.get(index) != expected_operations.get(index):
            fail(trace, f"{name}: operation {index} (calls, time, wait, least and most bytes)",
                 found.get(index), expected_operations.get(index))
    complete = {key: n for key, n in sums.instances.items() if key[1] in ("complete", "failed")}
    if complete != dict(instances):
        fail(trace, f"{name}: instances", complete, dict(instances))
    if dict(sums.ranks) != ranks:
        fail(trace, f"{name}: ranks (calls, time, wait)", dict(sums.ranks), ranks)
    if document["restriction"] is None and sums.payload != document["trace"]["bytes"]:
        fail(trace, f"{name}: bytes", sums.payload, document["trace"]["bytes"])


CALLS = ("SELECT o.analysis_index, c.rank, i.state, c.bytes, c.time_ns, c.wait_ns, c.leave_ns FROM calls c JOIN operations o ON "
         "c.operation_id = o.operation_id JOIN instances i ON c.instance = i.instance")
INSTANCES = ("SELECT o.analysis_index, i.state, count(*) FROM instances i JOIN operations o ON i.operation_id = o.operation_id "
             "GROUP BY 1, 2")


def of_sql(execute):
    sums = Sums()
    for row in execute(CALLS):
        sums.call(*row)
    for index, state, n in execute(INSTANCES):
        sums.instances[(index, state)] += n
    return sums


def of_frames(calls, operations, instances, to_rows, merge):
    """From tables as pandas or polars has them."""
    indexes = dict(to_rows(operations, ["operation_id", "analysis_index"]))
    states, sums = {}, Sums()
    for instance, operation, state in to_rows(instances, ["instance", "operation_id", "state"]):
        states[instance] = state
        sums.instances[(indexes[operation], state)] += 1
    columns = ["instance", "operation_id", "rank", "bytes", "time_ns", "wait_ns", "leave_ns"]
    for instance, operation, rank, *figures in to_rows(calls, columns):
        sums.call(indexes[operation], rank, states[instance], *figures)
    return sums


def of_csv(directory):
    def to_rows(path, columns):
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield [number(row[column]) for column in columns]

    def number(text):
        if text == "":
            return None
        return int(text) if text.lstrip("-").isdigit() else text

    paths = [directory / f"{name}.csv" for name in ("calls", "operations", "instances")]
    return of_frames(*paths, to_rows, None)


def of_pandas(pandas, directory):
    tables = [pandas.read_parquet(directory / f"{name}.parquet", dtype_backend="numpy_nullable")
              for name in ("calls", "operations", "instances")]

    def to_rows(frame, columns):
        for row in frame[columns].itertuples(index=False, name=None):
            yield [None if value is pandas.NA else value for value in row]

    return of_frames(*tables, to_rows, None)


def of_polars(polars, directory):
    tables = [polars.read_parquet(directory / f"{name}.parquet") for name in ("calls", "operations", "instances")]
    return of_frames(*tables, lambda frame, columns: frame.select(columns).iter_rows(), None)


def check_sums(trace, directory, names):
    """Messages and other tables join, and times are in order."""
    with sqlite3.connect(names) as database:
        for table, column, other in (
            ("calls", "instance", "instances"), ("messages", "instance", "instances"), ("passes", "instance", "instances"),
            ("calls", "cause_id", "causes"), ("calls", "communicator", "communicators"), ("calls", "site", "sites"),
            ("calls", "operation_id", "operations"), ("calls", "rank", "ranks"), ("ranks", "host", "hosts"),
        ):
            query = f"SELECT count(*) FROM {table} WHERE {column} NOT NULL AND {column} NOT IN (SELECT {column} FROM {other})"
            (n,) = database.execute(query).fetchone()
            if n:
                fail(trace, f"{table}.{column} that is not in {other}", n, 0)
        query = "SELECT count(*) FROM calls WHERE leave_ns < enter_ns OR wait_ns < 0 OR (wait_ns > 0) != (cause_id NOT NULL)"
        (n,) = database.execute(query).fetchone()
        if n:
            fail(trace, "calls that end before they begin, or wait without a cause", n, 0)


def check_perfetto(trace, path, document):
    """By Perfetto's definition of the format: what its processor of traces would refuse or count as an error."""
    if reader("perfetto") is None:
        return
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos
    packets = protos.Trace.FromString(path.read_bytes()).packet
    kinds = protos.TrackEvent
    names, stacks, tracks, defaults, flows = {}, collections.defaultdict(list), {}, {}, collections.Counter()
    times, sums, ends, waits = {}, Sums(), collections.Counter(), collections.Counter()
    spans = collections.defaultdict(list)
    for packet in packets:
        sequence = packet.trusted_packet_sequence_id
        if packet.HasField("track_descriptor"):
            of = packet.track_descriptor
            if of.uuid in tracks:
                fail(trace, "tracks with one uuid", of.uuid, "one")
            if of.HasField("parent_uuid") and of.parent_uuid not in tracks:
                fail(trace, "parent of a track that is defined later", of.parent_uuid, "one before it")
            tracks[of.uuid] = of
            continue
        if packet.sequence_flags & 1:
            names[sequence] = {}
        elif packet.sequence_flags & 2 and sequence not in names:
            fail(trace, "a packet before the state of its sequence", sequence, "after it")
        for field in ("event_names", "debug_annotation_names", "debug_annotation_string_values"):
            for entry in getattr(packet.interned_data, field):
                text = entry.str.decode() if field.endswith("values") else entry.name
                names[sequence][(field, entry.iid)] = text
        if packet.HasField("trace_packet_defaults"):
            defaults[sequence] = packet.trace_packet_defaults.track_event_defaults.track_uuid
        event = packet.track_event
        track = event.track_uuid or defaults[sequence]
        if track not in tracks:
            fail(trace, "an event on a track that is not defined", track, "a track")
        if tracks[track].HasField("thread") or "nonblocking" in tracks[track].name:
            if packet.timestamp < times.get(sequence, 0):
                fail(trace, "time of a sequence", packet.timestamp, f"at least {times[sequence]}")
            times[sequence] = packet.timestamp
        interned = names.get(sequence, {})
        name = event.name or interned[("event_names", event.name_iid)] if event.type in (kinds.TYPE_SLICE_BEGIN, kinds.TYPE_INSTANT) else ""
        said = {}
        for annotation in event.debug_annotations:
            key = annotation.name or interned[("debug_annotation_names", annotation.name_iid)]
            if annotation.string_value_iid:
                said[key] = interned[("debug_annotation_string_values", annotation.string_value_iid)]
            else:
                said[key] = annotation.string_value or annotation.uint_value
        for flow in event.flow_ids:
            flows[flow] += 1
        for flow in event.terminating_flow_ids:
            ends[flow] += 1
        if event.type == kinds.TYPE_SLICE_BEGIN:
            stacks[track].append((name, packet.timestamp, said))
        elif event.type == kinds.TYPE_SLICE_END:
            if not stacks[track]:
                fail(trace, "the end of a slice that did not begin", track, "a slice")
            begun = stacks[track].pop()
            spans[track].append((begun[0], begun[1], {**begun[2], **said}, packet.timestamp))
    if flows != ends or any(n != 1 for n in flows.values()):
        fail(trace, "flows without two ends", len(flows - ends), 0)
    calls, payload = collections.Counter(), 0
    for track, slices in list(spans.items()) + [(track, [(*begun, None) for begun in open_]) for track, open_ in stacks.items()]:
        of = tracks[track]
        if not of.HasField("thread"):
            if "nonblocking" in of.name:
                rank = int(of.name.split()[1].rstrip(":"))
                for name, begin, said, end in slices:
                    if name == "wait":
                        waits[rank] += said.get("wait_ns", end - begin)
            continue
        rank = int(of.thread.thread_name.split()[1])
        for name, begin, said, end in slices:
            if name == "wait":
                waits[rank] += said.get("wait_ns", end - begin)
            elif name.startswith("MPI_") and not name.startswith(("MPI_Wait", "MPI_Test", "MPI_Request")):
                calls[(name, rank)] += 1
                payload += said.get("bytes", 0)
    expected_calls = {(name, of["rank"]): n for of in document["ranks"] for name, n in of["calls_by_operation"].items()}
    if dict(calls) != expected_calls:
        fail(trace, "perfetto: calls by operation and rank", dict(calls), expected_calls)
    if document["restriction"] is None and payload != document["trace"]["bytes"]:
        fail(trace, "perfetto: bytes", payload, document["trace"]["bytes"])
    expected_waits = {of["rank"]: of["wait_ns"] for of in document["ranks"] if of["wait_ns"]}
    if document["trace"]["complete"] and {rank: ns for rank, ns in waits.items() if ns} != expected_waits:
        fail(trace, "perfetto: waits by rank", dict(waits), expected_waits)


def check_otf2(trace, path, document):
    """By the reader of OTF2 for Python."""
    if (otf2 := reader("otf2")) is None:
        return
    waits, entered = collections.Counter(), collections.Counter()
    with otf2.reader.open(str(path / "traces.otf2")) as archive:
        ranks = {group: at for at, group in enumerate(archive.definitions.location_groups)}
        for location, event in archive.events:
            rank = ranks[location.group]
            if isinstance(event, otf2.events.Metric):
                waits[rank] += sum(event.values)
            elif isinstance(event, otf2.events.Enter):
                entered[(event.region.name, rank)] += 1
    expected_waits = {of["rank"]: of["wait_ns"] for of in document["ranks"] if of["wait_ns"]}
    if {rank: ns for rank, ns in waits.items() if ns} != expected_waits:
        fail(trace, "otf2: waits by rank", dict(waits), expected_waits)
    names = {name for name, _ in entered}
    calls = {(name, of["rank"]): n for of in document["ranks"] for name, n in of["calls_by_operation"].items()}
    # Persistent operations are started by MPI_Start.
    calls = {key: n for key, n in calls.items() if key[0] in names or "_init" not in key[0]}
    found = {key: entered[key] for key in calls}
    if found != calls:
        fail(trace, "otf2: calls by operation and rank", found, calls)


NUMBER, LABEL = r"[0-9]+", r"[a-zA-Z][a-zA-Z0-9_]*"
GOAL_LINES = [(kind, re.compile(rf"[ \t]*{pattern}[ \t]*")) for kind, pattern in (
    ("calc", rf"({LABEL}): calc ({NUMBER})(?: cpu ({NUMBER}))?"),
    ("send", rf"({LABEL}): send ({NUMBER})b to ({NUMBER}) tag ({NUMBER})(?: cpu ({NUMBER}))?"),
    ("recv", rf"({LABEL}): recv ({NUMBER})b from ({NUMBER}) tag ({NUMBER})(?: cpu ({NUMBER}))?"),
    ("requires", rf"({LABEL}) (i?requires) ({LABEL})"),
    ("rank", rf"rank ({NUMBER}) \{{"),
    ("end", "}"),
    ("nothing", "(?://.*)?"),
)]


class Goal:
    """A schedule, by the grammar of LogGOPSim's txt2bin."""

    def __init__(self, trace, path):
        self.trace, self.comments = trace, []
        # By (rank, label): what it is, its numbers, and for which ends and begins of others it waits.
        self.steps = {}
        rank, done = None, set()
        lines = path.read_text().splitlines()
        if not (first := re.fullmatch(rf"num_ranks ({NUMBER})", lines[0])):
            fail(trace, "goal: first line", lines[0], "num_ranks N")
        for number, line in enumerate(lines[1:], 2):
            kind, found = next(((k, m) for k, p in GOAL_LINES if (m := p.fullmatch(line))), (None, None))
            is_inside = kind not in ("rank", "nothing")
            if kind is None or (rank is None) == is_inside:
                fail(trace, f"goal: line {number}", line, "a line of GOAL")
            values = found.groups()
            if kind == "rank":
                rank = int(values[0])
                if rank in done or rank >= int(first[1]):
                    fail(trace, f"goal: line {number}", line, "each rank once")
                done.add(rank)
            elif kind == "end":
                rank = None
            elif kind == "nothing":
                self.comments.append(line)
            elif kind == "requires":
                own, other = self.steps.get((rank, values[0])), self.steps.get((rank, values[2]))
                if own is None or other is None:
                    fail(trace, f"goal: line {number}", line, "labels of this rank that come before")
                own[2 if values[1] == "requires" else 3].append((rank, values[2]))
            else:
                if (rank, values[0]) in self.steps:
                    fail(trace, f"goal: line {number}", line, "a label that is new")
                numbers = [int(value) for value in values[1:] if value is not None]
                self.steps[(rank, values[0])] = (kind, numbers, [], [])
        if rank is not None or len(done) != int(first[1]):
            fail(trace, "goal: ranks", len(done), first[1])

    def messages(self):
        """As (sender, receiver, bytes); the two ends must find each other by sender, receiver and tag alone."""
        ends = {"send": {}, "recv": {}}
        for (rank, label), (kind, numbers, _, _) in self.steps.items():
            if kind != "calc":
                size, other, tag = numbers[:3]
                key = (rank, other, tag) if kind == "send" else (other, rank, tag)
                if key in ends[kind]:
                    fail(self.trace, f"goal: two with one tag: {kind}", key, "one")
                ends[kind][key] = (size, (rank, label))
        sizes = [{key: of[0] for key, of in ends[kind].items()} for kind in ("send", "recv")]
        if sizes[0] != sizes[1]:
            fail(self.trace, "goal: messages without another end", dict(set(sizes[0].items()) ^ set(sizes[1].items())), {})
        sender_of = {of[1]: ends["send"][key][1] for key, of in ends["recv"].items()}
        return collections.Counter((key[0], key[1], size) for key, size in sizes[0].items()), sender_of

    def run(self, sender_of):
        """Carries everything out; what waits for itself never ends."""
        # What begins waits for these to have begun or ended; what ends waits for these to have ended.
        waits, followers = {}, collections.defaultdict(list)
        for step, (kind, _, ends, begins) in self.steps.items():
            begin, end = (step, "begin"), (step, "end")
            before = {begin: [(of, "end") for of in ends] + [(of, "begin") for of in begins], end: [begin]}
            if kind == "recv":
                before[end].append((sender_of[step], "begin"))
            for event, of in before.items():
                waits[event] = len(of)
                for other in of:
                    followers[other].append(event)
        ready, n_done = [event for event, n in waits.items() if n == 0], 0
        while ready:
            event, n_done = ready.pop(), n_done + 1
            for other in followers[event]:
                waits[other] -= 1
                if waits[other] == 0:
                    ready.append(other)
        if n_done != len(waits):
            fail(self.trace, "goal: steps that never end", len(waits) - n_done, 0)


def check_goal(trace, path, tables):
    goal = Goal(trace, path)
    found, sender_of = goal.messages()
    goal.run(sender_of)
    rows = lambda name: csv.DictReader(open(tables / f"{name}.csv", newline="", encoding="utf-8"))
    state = {of["instance"]: of["state"] for of in rows("instances")}
    recorded, with_messages = collections.Counter(), set()
    for of in rows("messages"):
        with_messages.add(of["instance"])
        if state[of["instance"]] == "complete" and of["sender"] != of["receiver"]:
            recorded[(int(of["sender"]), int(of["receiver"]), max(int(of["bytes"]), 1))] += 1
    others = [line for line in goal.comments if re.search("named|spanning tree|usual algorithm", line)]
    # An algorithm adds messages to those that were recorded.
    if recorded - found or (found != recorded and not others):
        fail(trace, "goal: messages by sender, receiver and bytes", found - recorded, recorded - found)
    if others:
        return
    # Up to its last call with messages a rank computes, or is in calls with messages.
    begin, threads, spans, overlaps = None, set(), collections.defaultdict(list), set()
    for of in rows("calls"):
        enter = int(of["enter_ns"])
        begin = enter if begin is None else min(begin, enter)
        threads.add((of["rank"], of["thread"]))
        if of["initiated_ns"] or not of["leave_ns"]:
            overlaps.add(of["rank"])
        elif of["instance"] in with_messages and state[of["instance"]] == "complete":
            spans[of["rank"]].append((enter, int(of["leave_ns"])))
    for rank, of_rank in spans.items():
        if rank in overlaps or (rank, "1") in threads:
            continue
        expected_ns, left = 0, begin
        for enter, leave in sorted(of_rank):
            expected_ns += max(enter - left, 0)
            left = max(left, leave)
        steps = [of for key, of in goal.steps.items() if key[0] == int(rank)]
        computed = sum(numbers[0] for kind, numbers, _, _ in steps if kind == "calc")
        if computed != expected_ns:
            fail(trace, f"goal: computing of rank {rank}, ns", computed, expected_ns)


def digest(path):
    """Of a file, or of all files of a directory, by name."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    whole = hashlib.sha256()
    for file in files:
        whole.update(str(file.relative_to(path)).encode())
        whole.update(file.read_bytes())
    return whole.hexdigest()


def check(commands, trace, folder, selection):
    analyze = run(commands / "collbench-analyze", "--format", "json", "--full", "--no-pictures", *selection, trace)
    document = json.loads(analyze.stdout)
    outputs = {}
    # A part of the ranks would wait for the others for ever.
    formats = [name for name in FORMATS if name != "goal" or "--ranks" not in selection]
    for name in formats:
        digests = []
        for threads in (1, 3):
            output = folder / f"{name}-{threads}"
            arguments = ["--to", name, "-o", output, "--threads", threads, "--max-size", "100G", *selection]
            done = run(commands / "collbench-export", trace, *arguments)
            if done.returncode != analyze.returncode:
                fail(trace, f"{name}: status", done.returncode, analyze.returncode)
            digests.append(digest(output))
        if len(set(digests)) > 1:
            fail(trace, f"{name}: bytes with 1 and 3 threads", digests, "the same")
        outputs[name] = folder / f"{name}-1"
    compare(trace, "csv", of_csv(outputs["csv"]), document)
    with sqlite3.connect(outputs["sqlite"]) as database:
        compare(trace, "sqlite", of_sql(database.execute), document)
    check_sums(trace, outputs["csv"], outputs["sqlite"])
    if duckdb := reader("duckdb"):
        database = duckdb.connect()
        for table in ("calls", "instances", "operations"):
            path = outputs["parquet"] / f"{table}.parquet"
            database.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{path}')")
        compare(trace, "duckdb", of_sql(lambda query: database.execute(query).fetchall()), document)
    if pandas := reader("pandas"):
        compare(trace, "pandas", of_pandas(pandas, outputs["parquet"]), document)
    if polars := reader("polars"):
        compare(trace, "polars", of_polars(polars, outputs["parquet"]), document)
    check_perfetto(trace, outputs["perfetto"], document)
    check_otf2(trace, outputs["otf2"], document)
    if "goal" in formats:
        check_goal(trace, outputs["goal"], outputs["csv"])
    n_calls = sum(of["calls"] for of in document["ranks"])
    print(f"{trace}: {n_calls} calls, the same in all formats", flush=True)


def main():
    commands, *traces = [argument for argument in sys.argv[1:] if argument != "--python-alone"]
    commands = pathlib.Path(commands)
    for trace in traces:
        folder = pathlib.Path(tempfile.mkdtemp())
        try:
            trace, *selection = trace.split("::")
            check(commands, trace, folder, selection)
        finally:
            shutil.rmtree(folder)
    if missing:
        said = f"export-check.py: not installed, so not compared: {', '.join(sorted(missing))}"
        sys.exit(said) if os.environ.get("CI") else print(said, file=sys.stderr)


main()
