#!/usr/bin/env python3
"""Five questions to a trace, each answered by pandas, polars and DuckDB.

    collbench-export trace --to parquet -o tables
    python3 examples/questions.py tables

Needs `pip install pandas pyarrow polars duckdb`. docs/export.md says what the columns are.
"""

import sys

import duckdb
import pandas as pd
import polars as pl

tables = sys.argv[1] if len(sys.argv) > 1 else "tables"
NAMES = ("calls", "instances", "messages", "sites", "hosts")
pandas = {name: pd.read_parquet(f"{tables}/{name}.parquet", dtype_backend="numpy_nullable") for name in NAMES}
polars = {name: pl.read_parquet(f"{tables}/{name}.parquet") for name in NAMES}
for name in NAMES:
    duckdb.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{tables}/{name}.parquet')")


def rows(found):
    """The rows of an answer as tuples, whichever library it is from."""
    if isinstance(found, pd.DataFrame):
        found = found.astype(object).where(found.notna(), None)
        return [tuple(row) for row in found.itertuples(index=False)]
    return [tuple(row) for row in (found.rows() if isinstance(found, pl.DataFrame) else found.fetchall())]


def ask(question, columns, *answers):
    answers = [rows(answer) for answer in answers]
    assert answers[0] == answers[1] == answers[2], answers
    print(question)
    for row in answers[0]:
        print("   ", ", ".join(f"{name} {value}" for name, value in zip(columns, row)))
    if not answers[0]:
        print("    nothing")


def first(frame, *by):
    """The five rows with the largest value in the first of these columns; of equal ones by the others."""
    ascending = [False] + [True] * (len(by) - 1)
    return frame.sort_values(list(by), ascending=ascending, na_position="last")[:5]


calls, instances = pandas["calls"], pandas["instances"]
waits = calls[calls.wait_ns > 0]
lazy = polars["calls"].filter(pl.col("wait_ns") > 0)


def largest(frame, *by):
    descending = [True] + [False] * (len(by) - 1)
    return frame.sort(*by, descending=descending, nulls_last=True).head(5)


ask(
    "1. For which ranks do the others wait the longest, and why?",
    ("rank", "cause", "wait_ns"),
    first(waits.groupby(["waited_for", "cause"], as_index=False, dropna=False).wait_ns.sum(), "wait_ns", "waited_for", "cause"),
    largest(lazy.group_by("waited_for", "cause").agg(pl.sum("wait_ns")), "wait_ns", "waited_for", "cause"),
    duckdb.sql("""SELECT waited_for, cause, sum(wait_ns)::BIGINT AS wait_ns FROM calls WHERE wait_ns > 0
                  GROUP BY ALL ORDER BY 3 DESC, 1, 2 LIMIT 5"""),
)

ask(
    "2. From which places in the program is it waited the longest?",
    ("place", "wait_ns"),
    first(waits.merge(pandas["sites"], on="site").groupby("place", as_index=False).wait_ns.sum(), "wait_ns", "place"),
    largest(lazy.join(polars["sites"], on="site").group_by("place").agg(pl.sum("wait_ns")), "wait_ns", "place"),
    duckdb.sql("""SELECT place, sum(wait_ns)::BIGINT FROM calls JOIN sites USING (site) WHERE wait_ns > 0
                  GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT 5"""),
)

begin = int(calls.enter_ns.min()) if len(calls) else 0
tenth = ((int(calls.enter_ns.max()) - begin) // 10 + 1) if len(calls) else 1
ask(
    "3. How much of the time in collectives is waiting, in each tenth of the run?",
    ("tenth", "wait_ns", "time_ns"),
    calls.assign(tenth=(calls.enter_ns - begin) // tenth).groupby("tenth", as_index=False)[["wait_ns", "time_ns"]].sum(),
    polars["calls"].group_by(((pl.col("enter_ns") - begin) // tenth).alias("tenth")).agg(pl.sum("wait_ns", "time_ns")).sort("tenth"),
    duckdb.sql(f"""SELECT (enter_ns - {begin}) // {tenth}, coalesce(sum(wait_ns), 0)::BIGINT, coalesce(sum(time_ns), 0)::BIGINT
                   FROM calls GROUP BY 1 ORDER BY 1"""),
)

columns = ["operation", "position", "duration_ns", "last_rank"]
ask(
    "4. Which instances took the longest, and which rank arrived last?",
    columns,
    first(instances[instances.duration_ns.notna()], "duration_ns", "instance")[columns],
    largest(polars["instances"].filter(pl.col("duration_ns").is_not_null()), "duration_ns", "instance").select(columns),
    duckdb.sql("""SELECT operation, position, duration_ns, last_rank FROM instances WHERE duration_ns NOT NULL
                  ORDER BY duration_ns DESC, instance LIMIT 5"""),
)

messages = pandas["messages"]
messages = messages.assign(took_ns=messages.receive_end_ns - messages.send_begin_ns)
lazy = polars["messages"].with_columns(took_ns=pl.col("receive_end_ns") - pl.col("send_begin_ns"))
ask(
    "5. Between which ranks did a message inside a collective take the longest?",
    ("sender", "receiver", "most_ns"),
    first(messages.groupby(["sender", "receiver"], as_index=False).took_ns.max(), "took_ns", "sender", "receiver"),
    largest(lazy.group_by("sender", "receiver").agg(pl.max("took_ns")), "took_ns", "sender", "receiver"),
    duckdb.sql("""SELECT sender, receiver, max(receive_end_ns - send_begin_ns) AS took_ns FROM messages
                  GROUP BY 1, 2 ORDER BY took_ns DESC NULLS LAST, 1, 2 LIMIT 5"""),
)
