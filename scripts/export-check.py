#!/usr/bin/env python3
"""Compares exports of traces with their analysis: export-check.py [--python-alone] COMMANDS TRACE...

A TRACE may be followed by options that select a part, with colons: trace::--ranks::0-3.

Each trace is exported in each format, with 1 and with 3 threads; the bytes must be the same. Each export is read by programs of
others - Python's csv and sqlite3, pandas, polars, DuckDB, Perfetto's own definition of its format, OTF2's reader for Python - and calls,
instances, payload, times and waits, by operation and by rank, must be those of analysis.json. The rules by which Perfetto reads a
trace are applied as well. Readers that are not installed are named, and fail the check if CI is set; with --python-alone, none is wanted but Python's
own.
"""
import collections
import csv
import hashlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

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
    for name in ("csv", "parquet", "sqlite", "perfetto", "otf2"):
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
