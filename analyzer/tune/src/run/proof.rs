//! A cheap proof before the program runs: what is proposed is measured alone, in a benchmark whose processes arrive as in
//! the recorded run.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use collbench_formats::Operation;
use collbench_stats::median::Median;
use collbench_text::quantity::duration;
use collbench_text::{inert, json};
use serde::Serialize;

use crate::predict::{Band, Benchmarked, Class, Found, OfCalls, Recorded, What};
use crate::words::sized;

/// Kinds of calls that are measured, at most: those that took longest.
const MOST_CALLS: usize = 8;
/// How long one of the times is measured, at most, s.
const POINT_S: f64 = 0.5;
/// A time of the library's own choice that is farther from the recorded one than this factor is that of another case.
const OTHER_CASE: f64 = 1.5;
/// Name of the document of arrivals.
const ARRIVALS: &str = "collbench.arrivals/1";

/// What a benchmark has to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    calls: Vec<AskedCalls>,
    arrivals: String,
}

/// A kind of calls that a benchmark has to measure.
#[derive(Debug, Clone, PartialEq)]
struct AskedCalls {
    operation: Operation,
    n_processes: usize,
    root: usize,
    bytes: u64,
    /// How long the median instance took in the recorded run, ns.
    recorded_ns: f64,
    methods: Vec<AskedMethod>,
}

/// What is proposed for a kind of calls.
#[derive(Debug, Clone, PartialEq)]
struct AskedMethod {
    /// The function of the algorithm, or the tree in words.
    name: String,
    /// Of an algorithm its number for the library; `None` for a tree.
    number: Option<i64>,
    /// How long the median instance takes with it.
    predicted: Band,
}

/// How the processes arrive, for the benchmark.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Arrivals<'a> {
    schema: &'static str,
    operations: Vec<OfClass<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfClass<'a> {
    /// The name in the MPI standard.
    operation: &'a str,
    /// Processes of the communicator.
    processes: usize,
    /// Bytes of one process.
    bytes: u64,
    /// By instance and process, when it enters after the first one, ns.
    arrivals_ns: Vec<Vec<i64>>,
}

/// What a benchmark measured of a proposal.
#[derive(Debug, Clone, PartialEq)]
pub struct Proven {
    /// Which operation.
    pub operation: Operation,
    /// Its processes.
    pub n_processes: usize,
    /// Bytes of one process.
    pub bytes: u64,
    /// What is proposed: the function of an algorithm, or a tree in words.
    pub method: String,
    /// Whether it is a tree.
    pub is_tree: bool,
    /// How long the median instance is predicted to take.
    pub predicted: Band,
    /// How long the median instance took in the recorded run, ns.
    pub recorded_ns: f64,
    /// How long the median call of the library's own choice takes, ns.
    pub own_ns: Median,
    /// How long the median call takes with what is proposed, ns.
    pub measured_ns: Median,
}

/// The proof, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// By kind of calls and proposal.
    pub proven: Vec<Proven>,
    /// Why nothing, or not everything, was measured.
    pub why_not: Option<String>,
}

impl Asked {
    /// Asks for what was found faster, of calls of all processes in the order of `MPI_COMM_WORLD`: those a benchmark below the
    /// same launcher can make; `None` if there are none.
    #[must_use]
    pub fn of(found: &Found<'_>) -> Option<Self> {
        let recorded = found.recorded;
        let asked = found.calls.iter().filter_map(|of| asked(of, recorded));
        let (calls, classes): (Vec<AskedCalls>, Vec<&Class>) = asked.take(MOST_CALLS).unzip();
        let operations = classes.into_iter().map(|class| OfClass {
            operation: class.operation.name(),
            processes: class.ranks.len(),
            bytes: class.bytes,
            arrivals_ns: class.arrivals_ns(),
        });
        let arrivals = Arrivals {
            schema: ARRIVALS,
            operations: operations.collect(),
        };
        (!calls.is_empty()).then(|| Self {
            calls,
            arrivals: json::document(&arrivals),
        })
    }

    /// The arrivals, as the benchmark reads them.
    #[must_use]
    pub fn arrivals(&self) -> &str {
        &self.arrivals
    }

    /// Whether algorithms of the library are measured.
    #[must_use]
    pub fn has_algorithms(&self) -> bool {
        let mut methods = self.calls.iter().flat_map(|of| &of.methods);
        methods.any(|of| of.number.is_some())
    }

    /// Whether trees are measured.
    #[must_use]
    pub fn has_trees(&self) -> bool {
        let mut methods = self.calls.iter().flat_map(|of| &of.methods);
        methods.any(|of| of.number.is_none())
    }

    /// Proposals, each for a kind of calls.
    #[must_use]
    pub fn n_methods(&self) -> usize {
        self.calls.iter().map(|of| of.methods.len()).sum()
    }

    /// Times that are measured: of each kind of calls also that of the library's own choice.
    #[must_use]
    pub fn n_points(&self) -> usize {
        self.calls.len() + self.n_methods()
    }

    /// How long the times are measured, at most, s; the job needs its begin and end besides.
    #[must_use]
    pub fn takes_s(&self) -> f64 {
        POINT_S * self.n_points() as f64
    }

    /// What all messages may consist of: the largest elements, as in [schedules](collbench_schedules::Call), since algorithms depend
    /// on their number.
    fn element(&self) -> &'static str {
        let elements = [(8, "double"), (4, "int")].into_iter();
        let mut fitting =
            elements.filter(|(size, _)| self.calls.iter().all(|of| of.bytes % size == 0));
        fitting.next().map_or("byte", |(_, name)| name)
    }

    /// The plan of the benchmark, with the arrivals in this file.
    #[must_use]
    pub fn plan(&self, arrivals: &Path) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut plan = format!(
            "precision = 0.02\nrepetitions = [20, 2000]\nseconds = {POINT_S:?}\nelement = \"{}\"\n",
            self.element()
        );
        for of in &self.calls {
            let _ = write!(
                plan,
                "\n[[measure]]\noperations = [{}]\nlengths = [{}]\nprocesses = [{}]\nroots = [{}]\narrivals = {}\n",
                quoted(of.operation.name()),
                of.bytes,
                of.n_processes,
                of.root,
                quoted(&arrivals.to_string_lossy()),
            );
            if self.has_algorithms() {
                let numbers = of.methods.iter().filter_map(|of| of.number);
                let numbers: Vec<String> = numbers.map(|of| of.to_string()).collect();
                let _ = writeln!(plan, "algorithms = [{}]", numbers.join(", "));
            }
        }
        plan
    }

    /// What the results of the benchmark say of each proposal, with its trees in this file.
    ///
    /// # Errors
    /// Why they cannot be compared with the recorded run.
    pub fn read(
        &self,
        results: &[u8],
        trees: &Path,
        recorded: &Recorded,
    ) -> Result<Vec<Proven>, String> {
        let benchmarked = Benchmarked::parse(results).map_err(|error| error.to_string())?;
        if benchmarked.library() != recorded.library {
            return Err(format!(
                "collbench-bench has another MPI library ({}) than the program ({})",
                inert::line(benchmarked.library(), 80),
                inert::line(&recorded.library, 80)
            ));
        }
        let trees = inert::path(trees);
        let each = self
            .calls
            .iter()
            .flat_map(|calls| calls.methods.iter().map(move |method| (calls, method)));
        let proven = each.filter_map(|(calls, method)| {
            let is_tree = method.number.is_none();
            let name = if is_tree { &trees } else { &method.name };
            let median = |name| {
                let call = (calls.operation, calls.bytes, calls.n_processes, calls.root);
                Median::of(benchmarked.times_ns(call, name))
            };
            Some(Proven {
                operation: calls.operation,
                n_processes: calls.n_processes,
                bytes: calls.bytes,
                method: method.name.clone(),
                is_tree,
                predicted: method.predicted,
                recorded_ns: calls.recorded_ns,
                own_ns: median(None)?,
                measured_ns: median(Some(name))?,
            })
        });
        Ok(proven.collect())
    }
}

/// What is to be measured of a kind of calls, and the class whose arrivals are taken.
fn asked<'r>(of: &OfCalls, recorded: &'r Recorded) -> Option<(AskedCalls, &'r Class)> {
    let n_processes = recorded.host_of_rank.len();
    let classes = of.classes.iter().map(|number| &recorded.classes[*number]);
    let (at, class) = classes
        .enumerate()
        .find(|(_, class)| class.ranks.iter().copied().eq(0..n_processes as u32))?;
    let methods = [of.algorithm(), of.tree()].into_iter().flatten();
    let methods = methods.filter_map(|chosen| {
        let number = match &chosen.what {
            What::Algorithm { number, .. } => Some((*number)?),
            What::Tree(_) => None,
        };
        Some(AskedMethod {
            name: chosen.what.in_words(),
            number,
            predicted: chosen.predicted[at],
        })
    });
    let methods: Vec<AskedMethod> = methods.collect();
    let took_ns = class.instances.iter().map(|of| of.took_ns);
    let asked = AskedCalls {
        operation: of.operation,
        n_processes,
        root: class.root,
        bytes: of.bytes,
        recorded_ns: Median::of(took_ns)?.value,
        methods,
    };
    (!asked.methods.is_empty()).then_some((asked, class))
}

impl Proof {
    /// Why this is not run below the program for calls of an operation with so many processes and bytes; `None` if it is.
    #[must_use]
    pub fn why_not(&self, call: (Operation, usize, u64), what: &What) -> Option<String> {
        self.find(call, &what.in_words())?.why_not()
    }

    /// What was measured of a proposal with this name.
    pub(super) fn find(&self, call: (Operation, usize, u64), method: &str) -> Option<&Proven> {
        let mut all = self.proven.iter();
        all.find(|of| (of.operation, of.n_processes, of.bytes) == call && of.method == method)
    }
}

impl Proven {
    /// The time with what is proposed by that of the library's own choice.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.measured_ns.value / self.own_ns.value.max(1.0)
    }

    /// Why nothing follows for the program; `None` if something does.
    #[must_use]
    pub fn says_nothing(&self) -> Option<String> {
        let ratio = self.own_ns.value / self.recorded_ns.max(1.0);
        (!(1.0 / OTHER_CASE..=OTHER_CASE).contains(&ratio)).then(|| {
            format!("the library's own choice takes {ratio:.2} of its time in the program")
        })
    }

    /// Whether it is slower than the library's own choice by more than chance: both 95 % intervals are apart.
    #[must_use]
    pub fn is_slower(&self) -> bool {
        let apart = self.measured_ns.interval.zip(self.own_ns.interval);
        self.says_nothing().is_none() && apart.is_some_and(|((low, _), (_, high))| low > high)
    }

    /// Why what is proposed is not run below the program; `None` if it is.
    #[must_use]
    pub fn why_not(&self) -> Option<String> {
        let time = |of: &Median| duration(of.value as i64);
        self.is_slower().then(|| {
            format!(
                "slower when measured alone, {} instead of {}",
                time(&self.measured_ns),
                time(&self.own_ns)
            )
        })
    }

    /// In a line.
    #[must_use]
    pub fn in_words(&self) -> String {
        let time = |of: &Median| duration(of.value as i64);
        let verdict = match (self.says_nothing(), self.is_slower()) {
            (Some(why), _) => format!("; nothing follows from that: {why}"),
            (None, true) => "; not run below the program".to_owned(),
            (None, false) => String::new(),
        };
        format!(
            "{}, {}: {} takes {}, the library's own choice {}{verdict}",
            self.operation.name(),
            sized(self.n_processes, self.bytes),
            inert::line(&self.method, 120),
            time(&self.measured_ns),
            time(&self.own_ns),
        )
    }
}

/// The words of a command line before those of its program, whose first process said that its command line is `ran`; `None` where
/// that is not clear, or there is more than one program.
#[must_use]
pub fn launcher<'c>(command: &'c [OsString], ran: &[String]) -> Option<&'c [OsString]> {
    let pairs = command.iter().rev().zip(ran.iter().rev());
    let n_same = pairs
        .take_while(|(word, ran)| word.to_str() == Some(ran.as_str()))
        .count();
    let (launcher, program) = command.split_at(command.len() - n_same);
    let has_several = launcher.iter().chain(program).any(|word| word == ":");
    (!launcher.is_empty() && !program.is_empty() && !has_several).then_some(launcher)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(command: &str, ran: &str) -> Option<String> {
        let command: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        let ran: Vec<String> = ran.split(' ').map(str::to_owned).collect();
        let launcher = launcher(&command, &ran)?.iter();
        let words: Vec<&str> = launcher.filter_map(|word| word.to_str()).collect();
        Some(words.join(" "))
    }

    #[test]
    fn the_launcher_is_what_stands_before_the_program() {
        for (command, ran, expected) in [
            ("mpirun -n 4 ./app -n 4", "./app -n 4", Some("mpirun -n 4")),
            ("mpirun -n 4 ./app", "./app", Some("mpirun -n 4")),
            // A script, whose interpreter the system has put before it.
            (
                "mpirun -n 4 ./a.py x",
                "/usr/bin/python3 ./a.py x",
                Some("mpirun -n 4"),
            ),
            (
                "mpirun numactl -l ./app",
                "./app",
                Some("mpirun numactl -l"),
            ),
            ("mpirun -n 1 ./a : -n 1 ./b", "./b", None),
            ("mpirun -n 1 ./a : -n 1 ./b", "./a", None),
            ("./app", "./app", None),
            ("./runs-mpirun.sh", "./app", None),
        ] {
            assert_eq!(split(command, ran).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<Arrivals<'_>>(ARRIVALS);
    }
}
