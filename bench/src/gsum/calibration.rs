//! Which trees are faster than the MPI library here: measures all operations with some payloads, and
//! writes a tree file with those trees.

mod choice;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use collbench_formats::tree::{Collective, Level};
use collbench_stats::median::Median;
use collbench_text::quantity;
use collbench_tree_files::TreeFile;
use serde::Serialize;

use super::measure::{OfAll, of_loops};
use super::rounds::Plan;
use super::{Operation, Options};
use crate::folder;
use crate::overhead::{empty_table, hundredths};
use crate::trees::{Call, Run, Surroundings, rounds_that_count};
use choice::{Row, chosen};

/// Rounds of each operation and payload.
const ROUNDS: u32 = 15;

/// Payloads that are measured, bytes of a leaf, and the calls of a round.
const PAYLOADS: [(u64, u32); 7] = [
    (8, 100),
    (512, 100),
    (4 << 10, 50),
    (16 << 10, 20),
    (64 << 10, 10),
    (256 << 10, 5),
    (1 << 20, 2),
];

/// Bytes of the parts of all leaves, at most.
const MOST_BYTES: u64 = 64 << 20;

/// Trees that are tried: a name, and the shape as a tree file says it. Where several are the same tree, the first one counts.
const CANDIDATES: [(&str, &str); 7] = [
    (EXCHANGE, r#"{ ranks = "exchange", hosts = "exchange" }"#),
    ("linear", r#"{ ranks = "linear", hosts = "linear" }"#),
    ("binomial", r#"{ ranks = "binomial", hosts = "binomial" }"#),
    (
        "binomial of hosts",
        r#"{ ranks = "linear", hosts = "binomial" }"#,
    ),
    (
        "4-nomial of hosts",
        r#"{ ranks = "linear", hosts = "4-nomial" }"#,
    ),
    (
        EXCHANGE_OF_CORE_COMPLEXES,
        r#"{ ranks = "linear", core-complexes = "exchange" }"#,
    ),
    (
        "linear of core complexes",
        r#"{ ranks = "linear", core-complexes = "linear" }"#,
    ),
];

/// The candidates that are no trees: for operations without a root.
const EXCHANGE: &str = "exchange";
const EXCHANGE_OF_CORE_COMPLEXES: &str = "exchange of core complexes";

/// The result; unknown figures are `null`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Figures {
    schema: &'static str,
    #[serde(flatten)]
    surroundings: Surroundings,
    /// The tree file that was written; `None` if no tree was faster.
    file: Option<String>,
    calls: Vec<CallFigures>,
}

/// An operation with one payload.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CallFigures {
    operation: &'static str,
    #[serde(skip)]
    collective: Collective,
    payload_bytes: u64,
    /// Time of a call with the library, ns.
    library_ns: Option<Median>,
    candidates: Vec<CandidateFigures>,
    /// The name of the tree that the file has for it; null where it is left to the library.
    tree: Option<&'static str>,
}

/// A tree that was tried.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CandidateFigures {
    name: &'static str,
    /// Time over it divided by that with the library, by round.
    ratio: Option<Median>,
}

/// Measures, writes the tree file, and in process 0 the result.
///
/// # Errors
/// States what is missing, or that the file exists or could not be written.
pub(super) fn run(options: &Options, file: &Path, output: &mut impl Write) -> anyhow::Result<()> {
    let candidates = CANDIDATES.map(|(name, shape)| {
        // The tree is used for all operations.
        let text = format!("[[tree]]\noperations = \"allreduce\"\n{}", tree(shape));
        let file = TreeFile::parse(&text, Path::new(""));
        (name.to_owned(), file.expect("a tree file"))
    });
    let mut trees = options.trees.clone();
    trees.candidates = candidates.into();
    trees.library = true;
    let call = |_| Call {
        collective: Collective::Allreduce,
        bytes: 0,
    };
    let check = || check_file(file);
    let Some(run) = Run::begin(&trees, call, check)? else {
        return Ok(());
    };
    let n_leaves = run.settings.n_leaves();
    if n_leaves < 2 {
        run.end()?;
        bail!("--calibrate: one process has no tree; start at least two with a launcher");
    }
    let distinct = distinct(&run);
    let plans = plans(n_leaves);
    let which = |operation: Operation| -> Vec<usize> {
        let is_exchange = |nth: usize| {
            let exchanges = [EXCHANGE, EXCHANGE_OF_CORE_COMPLEXES];
            exchanges.contains(&&*run.configurations[nth].0)
        };
        let fits = |&nth: &usize| !operation.is_one_way() || !is_exchange(nth);
        distinct.iter().copied().filter(fits).collect()
    };
    let of_leaves = run.on_leaves(|leaf| {
        let of_plan = |plan: &Plan| plan.execute(leaf, &which(plan.operation));
        plans
            .iter()
            .map(of_plan)
            .collect::<anyhow::Result<Vec<_>>>()
    });
    let mut measured = Vec::new();
    for (plan, of_leaf) in plans.iter().zip(&of_leaves[0]) {
        let all = of_loops(&run, std::slice::from_ref(of_leaf), *plan)?;
        measured.push((plan, which(plan.operation), all));
    }
    let figures = run.first.is_some().then(|| Figures::of(&run, &measured));
    run.end()?;
    let Some(mut figures) = figures.transpose()? else {
        return Ok(());
    };
    let text = figures.tree_file();
    if figures.calls.iter().any(|call| call.tree.is_some()) {
        let (within, name) = place(file)?;
        folder::write_file(within, name, text.as_bytes())?;
        figures.file = Some(file.display().to_string());
    }
    options.format.write(&figures, write, output)
}

/// Each operation with each payload, without those whose parts would take much memory together.
fn plans(n_leaves: u32) -> Vec<Plan> {
    let of_operation = |&operation: &Operation| {
        let mut payloads = match operation {
            Operation::Barrier => vec![(0, PAYLOADS[0].1)],
            _ => PAYLOADS.to_vec(),
        };
        if operation.moves_parts() {
            payloads.retain(|(bytes, _)| u64::from(n_leaves) * bytes <= MOST_BYTES);
        }
        payloads.into_iter().map(move |(bytes, calls)| Plan {
            operation,
            bytes,
            calls,
            rounds: ROUNDS,
            is_each_timed: false,
        })
    };
    let all = Operation::value_variants().iter();
    all.flat_map(of_operation).collect()
}

/// The configurations whose trees differ, the library first.
fn distinct(run: &Run) -> Vec<usize> {
    let all = &run.configurations;
    let is_new = |&nth: &usize| all[..nth].iter().all(|(_, tree)| *tree != all[nth].1);
    (0..all.len()).filter(is_new).collect()
}

/// The folder and the name of the tree file.
fn place(file: &Path) -> anyhow::Result<(&Path, &str)> {
    let name = file.file_name().and_then(|name| name.to_str());
    let name =
        name.with_context(|| format!("--calibrate {}: not a name of a file", file.display()))?;
    let within = file.parent().filter(|within| *within != Path::new(""));
    Ok((within.unwrap_or(Path::new(".")), name))
}

/// Whether the tree file can be written.
fn check_file(file: &Path) -> anyhow::Result<()> {
    ensure!(
        !file.exists(),
        "--calibrate {}: exists already; choose another name, or remove it",
        file.display()
    );
    let (within, _) = place(file)?;
    tempfile::tempfile_in(within).map(drop).with_context(|| {
        format!(
            "--calibrate {}: cannot be written; choose another folder",
            file.display()
        )
    })
}

fn call_figures(
    plan: &Plan,
    which: &[usize],
    all: &[OfAll],
    surroundings: &Surroundings,
) -> anyhow::Result<CallFigures> {
    let operation = plan.operation.collective().operation().name();
    let rounds: Vec<Vec<OfAll>> = all.chunks(which.len()).map(<[OfAll]>::to_vec).collect();
    if let Some(nth) = (0..which.len()).find(|&nth| rounds.iter().any(|of| of[nth].wrong > 0)) {
        let name = &surroundings.names[which[nth]];
        bail!(
            "{operation} of {} bytes over {name}: wrong results",
            plan.bytes
        );
    }
    let (counting, _) =
        rounds_that_count(&rounds, surroundings.all_rounds_count, |of| of.preempted);
    let ratio = |nth: usize| {
        let valid = counting.iter().filter(|round| round[0].call_ns > 0.0);
        Median::of(valid.map(|round| (1e4 * round[nth].call_ns / round[0].call_ns).round() / 1e4))
    };
    Ok(CallFigures {
        operation,
        collective: plan.operation.collective(),
        payload_bytes: plan.bytes,
        library_ns: Median::of(counting.iter().map(|round| hundredths(round[0].call_ns))),
        candidates: (1..which.len())
            .map(|nth| CandidateFigures {
                name: CANDIDATES[which[nth] - 1].0,
                ratio: ratio(nth),
            })
            .collect(),
        tree: None,
    })
}

/// What a tree file says of a tree with this shape.
fn tree(shape: &str) -> String {
    format!("shape = {shape}\ncollectors = \"none\"\n")
}

impl Figures {
    /// The figures of what was measured, by plan with the configurations that were tried. No call has a tree,
    /// and no file is written yet.
    fn of(run: &Run, measured: &[(&Plan, Vec<usize>, Vec<OfAll>)]) -> anyhow::Result<Self> {
        let surroundings = Surroundings::of(run);
        let calls = measured
            .iter()
            .map(|(plan, which, all)| call_figures(plan, which, all, &surroundings))
            .collect::<anyhow::Result<_>>()?;
        Ok(Self {
            schema: "collbench.bench.calibration/1",
            file: None,
            surroundings,
            calls,
        })
    }

    /// The text of the tree file. Notes which of its trees each call has.
    fn tree_file(&mut self) -> String {
        let n = self.surroundings.processes;
        let across = match self.surroundings.hosts.len() {
            1 => Level::Rank,
            _ => Level::Host,
        };
        let mut text = format!(
            "# Trees that were faster than the MPI library for {}. Other calls are left to the library.\n\
             version = 1\n",
            self.surroundings.in_words()
        );
        for collective in Collective::ALL {
            let mut calls: Vec<&mut CallFigures> = self
                .calls
                .iter_mut()
                .filter(|call| call.collective == collective)
                .collect();
            let rows: Vec<Row> = calls.iter().map(|call| call.row()).collect();
            for rule in chosen(&rows) {
                let (name, shape) = CANDIDATES[rule.candidate];
                let _ = write!(text, "\n# {name}:");
                for call in &mut calls {
                    let (least, most) = rule.bytes;
                    if (least..=most).contains(&call.payload_bytes) {
                        call.tree = Some(name);
                        text.push_str(&call.in_words());
                    }
                }
                let _ = write!(text, "\n[[tree]]\n");
                let _ = writeln!(text, "across = \"{}\"", across.plural());
                let _ = writeln!(text, "size = {n}\noperations = \"{}\"", collective.name());
                if collective != Collective::Barrier {
                    let (least, most) = rule.bytes;
                    let _ = writeln!(text, "bytes = \"{least}-{most}\"");
                }
                text.push_str(&tree(shape));
            }
        }
        text
    }
}

impl CallFigures {
    fn row(&self) -> Row {
        let of = |(name, _): (&str, &str)| {
            let found = self.candidates.iter().find(|of| of.name == name);
            found.and_then(|of| of.ratio)
        };
        Row {
            bytes: self.payload_bytes,
            ratios: CANDIDATES.map(of).to_vec(),
        }
    }

    /// The payload and the ratio of the tree of this call, `" 8 bytes 0.43;"`.
    fn in_words(&self) -> String {
        let found = self.candidates.iter().find(|of| Some(of.name) == self.tree);
        let ratio = found.and_then(|of| of.ratio);
        let ratio = ratio.map_or(String::new(), |ratio| format!(" {:.2}", ratio.value));
        match self.payload_bytes {
            0 => ratio,
            bytes => format!(" {}{ratio};", quantity::counted_grouped(bytes, "byte")),
        }
    }
}

/// Writes one screen.
fn write(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "calibration, {}", figures.surroundings.in_words())?;
    figures.surroundings.write(output)?;
    writeln!(
        output,
        "Time of a call in loops, over trees divided by the library's: medians of {ROUNDS} rounds"
    )?;
    let tried = |of: &&(&str, &str)| {
        let mut calls = figures.calls.iter();
        calls.any(|call| call.candidates.iter().any(|tried| tried.name == of.0))
    };
    let names: Vec<&str> = CANDIDATES.iter().filter(tried).map(|of| of.0).collect();
    let mut head = vec!["operation", "bytes", "library"];
    head.extend(&names);
    head.push("used");
    let mut table = empty_table(&head);
    for call in &figures.calls {
        let library = call.library_ns;
        let mut row = vec![
            call.operation.to_owned(),
            quantity::grouped(call.payload_bytes),
            library.map_or("unknown".to_owned(), |of| quantity::fine_duration(of.value)),
        ];
        row.extend(names.iter().map(|name| {
            let ratio = call.candidates.iter().find(|of| of.name == *name);
            let ratio = ratio.and_then(|of| of.ratio);
            ratio.map_or(String::new(), |ratio| format!("{:.2}", ratio.value))
        }));
        row.push(call.tree.unwrap_or("library").to_owned());
        table.add_row(row);
    }
    writeln!(output, "{}\n", table.trim_fmt())?;
    match &figures.file {
        Some(file) => writeln!(output, "written: {file}"),
        None => writeln!(output, "no tree was faster; no file was written"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::Figures>("collbench.bench.calibration/1");
    }
}
