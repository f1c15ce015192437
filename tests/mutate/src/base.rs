//! The traces that mutations begin with: small ones, of everything that a trace can hold.

use std::fs;
use std::path::Path;

use crate::inside_base::{INSIDE_SCENARIOS, noted};
use crate::making_base::{MAKING_SCENARIO, with_makings};
use crate::packing::packed;
use crate::random::Random;
use crate::trace::Trace;

/// Scenarios, by name.
const SCENARIOS: [(&str, &str); 8] = [
    // Spanning trees of our own, with event collectors of all kinds on and off.
    (
        "trees",
        r#"
schema = 1
name = "trees"
chunk_calls = 30
[[hosts]]
name = "node1"
ranks = 2
clock = "raw"
[[hosts]]
name = "node2"
ranks = 2
clock = "raw"
[exchanges]
n = 20
[[trees]]
name = "all on"
entry_ns = 100
exit_ns = 100
wrappers = [
  { name = "there", kind = "gred", owner = 2, contributors = [2, 3], down_ns = 700, up_ns = 400, departure_ns = 300 },
  { name = "across", kind = "proxy", owner = 2, contributors = ["there"], down_ns = 20000, up_ns = 21000 },
  { name = "here", kind = "gred", owner = 0, contributors = [0, 1, "across"], down_ns = 900, up_ns = 300 },
  { kind = "core", owner = 0, contributors = ["here"], down_ns = 100 },
]
[[trees]]
name = "some on"
wrappers = [
  { name = "there", kind = "gred", owner = 3, contributors = [2, 3], down_ns = 700, collectors = "before" },
  { name = "here", kind = "gred", owner = 1, contributors = [1, 0], down_ns = 900, collectors = "after" },
  { kind = "exchange", owner = 3, contributors = ["there", "here"], down_ns = 30000, collectors = "none" },
]
[[program]]
repeat = 12
steps = [
  { operation = "MPI_Allreduce", bytes = 8, over = "all on", work = [{ exponential_ns = 20000 }] },
  { operation = "MPI_Barrier", over = "some on", work = [{ exponential_ns = 20000 }] },
  { operation = "MPI_Reduce", bytes = 80, root = "rotating", over = "all on" },
  { operation = "MPI_Bcast", bytes = 80, root = 3, over = "some on" },
]
"#,
    ),
    // Every kind of communicator on two hosts, in short chunks.
    (
        "kinds",
        r#"
schema = 1
name = "kinds"
grid_ns = 10
chunk_calls = 12
[[hosts]]
name = "node1"
ranks = 3
ghz = 2.5
[[hosts]]
name = "node2"
ranks = 2
ghz = 2.1
offset_ns = -40000
drift_ppm = 1.5
[[program]]
operation = "MPI_Comm_split"
split = { parts = 2, reversed = true }
makes = "halves"
[[program]]
operation = "MPI_Intercomm_create"
on = "halves"
makes = "bridge"
[[program]]
operation = "MPI_Comm_create_group"
split = { colours = [0, -1, 0, -1, 0] }
makes = "evens"
[[program]]
operation = "MPI_Comm_dup"
on = "self"
makes = "own"
[[program]]
repeat = 4
steps = [
  { operation = "MPI_Barrier", work = [{ normal_ns = [50000, 20000] }] },
  { operation = "MPI_Bcast", bytes = 1000, root = "rotating", work = [{ exponential_ns = 30000 }] },
  { operation = "MPI_Allreduce", bytes = 8, on = "halves", work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Reduce", bytes = 64, root = 1, work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Scan", bytes = 8, work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Reduce", on = "bridge", bytes = 8, root = "rotating", root_group = 1 },
  { operation = "MPI_Barrier", on = "evens", internal = true },
  { operation = "MPI_Allreduce", on = "own", bytes = 16 },
  { operation = "MPI_Comm_dup", makes = "copy" },
  { operation = "MPI_Alltoall", on = "copy", bytes = 8 },
  { operation = "MPI_Comm_free", on = "copy" },
]
"#,
    ),
    // Ranks that ended in every way there is.
    (
        "faults",
        r#"
schema = 1
name = "faults"
chunk_calls = 7
[[hosts]]
name = "node1"
ranks = 6
ghz = 2.5
[[program]]
repeat = 20
steps = [
  { operation = "MPI_Allreduce", bytes = 8, work = [{ normal_ns = [50000, 20000] }] },
  { operation = "MPI_Bcast", bytes = 100000, root = 2 },
]
[[faults]]
rank = 1
killed_after_calls = 25
[[faults]]
rank = 2
no_finalize = true
[[faults]]
rank = 3
damaged_chunk = 1
[[faults]]
rank = 4
size_reached_after_calls = 22
[[faults]]
rank = 5
missing = true
"#,
    ),
    // Several threads, on several communicators.
    (
        "threads",
        r#"
schema = 1
name = "threads"
chunk_calls = 6
[threads]
left = 1
right = 2
[[hosts]]
name = "node1"
ranks = 3
clock = "raw"
[[program]]
operation = "MPI_Comm_dup"
makes = "left"
[[program]]
operation = "MPI_Comm_dup"
makes = "right"
[[program]]
repeat = 12
steps = [
  { operation = "MPI_Allreduce", on = "left", bytes = 8, work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Bcast", on = "right", bytes = 80, work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Barrier" },
]
"#,
    ),
    // Many chunks of one call.
    (
        "chunks",
        r#"
schema = 1
name = "chunks"
chunk_calls = 1
[[hosts]]
name = "node1"
ranks = 2
clock = "monotonic"
[[program]]
repeat = 20
steps = [{ operation = "MPI_Allgather", bytes = 8, work = [{ exponential_ns = 3000 }] }]
"#,
    ),
    // What is begun, and completed later, in every way; persistent, on a grid, in phases; one rank
    // dies while others wait.
    (
        "nonblocking",
        r#"
schema = 1
name = "nonblocking"
chunk_calls = 25
[[hosts]]
name = "node1"
ranks = 4
clock = "raw"
[[program]]
operation = "MPI_Cart_create"
makes = "line"
[[program]]
repeat = 12
steps = [
  { phase = 1 },
  { operation = "MPI_Iallreduce", bytes = 8, work = [{ exponential_ns = 9000 }] },
  { operation = "MPI_Ibcast", bytes = 4096, root = 2 },
  { operation = "MPI_Allreduce", bytes = 64, work = [{ exponential_ns = 5000 }] },
  { operation = "MPI_Reduce_init", bytes = 512, root = 1 },
  { complete = "MPI_Waitall", work = [{ exponential_ns = 20000 }] },
  { phase = 2 },
  { operation = "MPI_Ineighbor_allgather", on = "line", bytes = 8, work = [{ exponential_ns = 300 }] },
  { operation = "MPI_Barrier_init", on = "line" },
  { complete = "MPI_Test", tests = 5, thread = 1, work = [{ exponential_ns = 9000 }] },
  { operation = "MPI_Ibarrier" },
  { complete = "MPI_Wait" },
]
[[faults]]
rank = 3
killed_after_calls = 77
"#,
    ),
    // Rings that hold different stretches, of several threads and all kinds of operations.
    (
        "ring",
        r#"
schema = 1
name = "ring"
chunk_calls = 9
keep_chunks = [6, 4, 9]
[threads]
side = 1
[[hosts]]
name = "node1"
ranks = 3
clock = "raw"
[[program]]
operation = "MPI_Comm_dup"
makes = "side"
[[program]]
repeat = 25
steps = [
  { phase = 1 },
  { operation = "MPI_Iallreduce", bytes = 8, work = [{ exponential_ns = 9000 }] },
  { operation = "MPI_Allreduce", bytes = 64, work = [{ exponential_ns = 5000 }] },
  { operation = "MPI_Reduce_init", bytes = 512, root = 1 },
  { operation = "MPI_Comm_dup", makes = "copy" },
  { operation = "MPI_Bcast", on = "copy", bytes = 8 },
  { complete = "MPI_Waitall", work = [{ exponential_ns = 20000 }] },
  { phase = 2 },
  { operation = "MPI_Bcast", on = "side", bytes = 80, work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Comm_free", on = "copy" },
]
[[faults]]
rank = 2
no_finalize = true
"#,
    ),
    // A rank that is late, in a trace without any fault: verdicts, and pictures of everything.
    (
        "late",
        r#"
schema = 1
name = "late"
[[hosts]]
name = "node1"
ranks = 4
ghz = 3.0
[[program]]
repeat = 60
steps = [
  { operation = "MPI_Allreduce", bytes = 8, work = [{ constant_ns = 500000, ranks = [2] }, { normal_ns = [50000, 5000] }] },
  { operation = "MPI_Gather", bytes = 8 },
]
"#,
    ),
];

/// Those that there is a compact one of, and its name. (Of `faults` the files that can be.)
const COMPACT: [(&str, &str); 10] = [
    ("kinds", "kinds-packed"),
    ("faults", "faults-packed"),
    ("threads", "threads-packed"),
    ("nonblocking", "nonblocking-packed"),
    ("ring", "ring-packed"),
    ("inside", "inside-packed"),
    ("inside-begun", "inside-begun-packed"),
    ("inside-ring", "inside-ring-packed"),
    ("inside-faults", "inside-faults-packed"),
    ("making", "making-packed"),
];

/// Those that there is one of with more notes, and its name.
const NOTED: [(&str, &str); 2] = [
    ("inside", "inside-noted"),
    ("inside-ring", "inside-ring-noted"),
];

/// The traces that mutations begin with, in memory.
#[derive(Debug, Clone)]
pub struct Bases {
    traces: Vec<(&'static str, Trace)>,
}

impl Bases {
    /// Generates them, by way of files in `scratch`, a directory that exists.
    ///
    /// # Errors
    /// If `scratch` cannot be written to.
    pub fn generate(scratch: &Path) -> anyhow::Result<Self> {
        let mut traces = Vec::new();
        let scenarios = SCENARIOS.into_iter().chain(INSIDE_SCENARIOS);
        for (name, text) in scenarios.chain([MAKING_SCENARIO]) {
            let scenario = scratch.join(format!("{name}.toml"));
            let out = scratch.join(name);
            fs::write(&scenario, text)?;
            collbench_generate::generate(&scenario, &out, None, true)?;
            let mut trace = Trace::read(&out)?;
            if name == MAKING_SCENARIO.0 {
                trace = trace.map_rank_files(with_makings);
            }
            if let Some((_, name)) = COMPACT.iter().find(|(of, _)| *of == name) {
                traces.push((*name, trace.clone().map_rank_files(packed)));
            }
            if let Some((_, name)) = NOTED.iter().find(|(of, _)| *of == name) {
                traces.push((*name, trace.clone().map_rank_files(noted)));
            }
            traces.push((name, trace));
            fs::remove_dir_all(&out)?;
            fs::remove_file(&scenario)?;
        }
        Ok(Self { traces })
    }

    /// All of them, with their names.
    #[must_use]
    pub fn all(&self) -> &[(&'static str, Trace)] {
        &self.traces
    }

    /// The bytes of any rank file of any of them.
    pub(crate) fn any_rank_file(&self, random: &mut Random) -> (String, Vec<u8>) {
        let (_, trace) = random.pick(&self.traces);
        let names = trace.rank_files();
        let name = random.pick(&names);
        (name.clone(), trace.bytes(name).to_vec())
    }
}
