//! From choices of algorithms to what makes MPICH take them.
//!
//! Variables where each collective has one algorithm for all its calls, else a copy of the whole file of
//! algorithms with the choices put in: the library takes its file or another, never parts of both.
//! Where nothing was chosen, the copy says what the file said. Compositions are switched off for
//! what was chosen, so that it runs on the communicator that it was chosen for.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::measures::{Collective, Total, collective};
use super::read::read_as;
use super::rules::{Calls, Rules};
use super::tree::{Fate, Kind};
use super::version::{Algorithm, Restriction, Version};
use crate::json;

/// An algorithm that was chosen for calls of a collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// As files call it, such as `bcast`.
    pub collective: String,
    /// Processes of the communicator; `None` for all.
    pub n_processes: Option<u32>,
    /// Smallest and largest payload of one process, bytes; `None` for all.
    pub bytes: Option<(u64, u64)>,
    /// As settings call it, such as `binomial`, or as files do.
    pub algorithm: String,
    /// Its parameters, such as `k=4`; those that it has and that are not here get usual values.
    pub parameters: Vec<String>,
}

/// What makes the library take choices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Variables, with their values.
    pub variables: Vec<(String, String)>,
    /// Text of the file that [`Self::command`] names, if one is needed.
    pub file: Option<String>,
}

/// Why choices cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// There is no such collective.
    #[error("MPICH chooses no algorithm for `{0}`")]
    Collective(String),
    /// The collective has no such algorithm.
    #[error("MPICH {version} has no algorithm `{algorithm}` for {collective}; it has {known}")]
    Algorithm {
        /// Version of the model.
        version: &'static str,
        /// The algorithm, as it was asked for.
        algorithm: String,
        /// The collective.
        collective: String,
        /// Those that it has.
        known: String,
    },
    /// The algorithm cannot do it.
    #[error("{algorithm} needs {needs}, which {n_processes} processes are not")]
    Processes {
        /// The algorithm, as it was asked for.
        algorithm: String,
        /// What the algorithm needs.
        needs: &'static str,
        /// Processes of the communicator.
        n_processes: u32,
    },
    /// No test of a file tells these calls apart.
    #[error(
        "a file cannot tell calls of {0} apart by their bytes; choose one algorithm for each size of communicator"
    )]
    Bytes(String),
    /// No file can give the algorithm its parameters.
    #[error(
        "no file can give {algorithm} its {parameters}; choose it for all calls of {collective}, by a variable"
    )]
    Parameters {
        /// The algorithm, as it was asked for.
        algorithm: String,
        /// What it lacks.
        parameters: String,
        /// The collective.
        collective: String,
    },
    /// Two choices for the same calls.
    #[error("two choices for calls of {0} on as many processes with as many bytes")]
    Twice(String),
    /// There are more bytes than a file can name.
    #[error(
        "{0} bytes are more than a file can name (2147483647, for all processes together where the file counts so)"
    )]
    TooMany(u64),
    /// The file to copy is none.
    #[error("the file to copy: {0}")]
    Base(String),
}

impl Written {
    /// The command line that uses it, with the file in `path`: by the environment, and by the
    /// launcher's options.
    #[must_use]
    pub fn command(&self, path: &str) -> [String; 2] {
        let file = self
            .file
            .is_some()
            .then(|| (Kind::Mpir.setting().to_owned(), path.to_owned()));
        let all: Vec<(String, String)> = self.variables.iter().cloned().chain(file).collect();
        let (mut environment, mut options) = (String::new(), "mpiexec".to_owned());
        for (name, value) in &all {
            let _ = write!(environment, "{name}={value} ");
            let _ = write!(options, " -genv {name} {value}");
        }
        [
            format!("{environment}mpiexec -n N ./app"),
            format!("{options} -n N ./app"),
        ]
    }
}

/// Writes `choices` for `version`, whose own file of algorithms is `base`.
///
/// # Errors
/// [`WriteError`] at the first choice that cannot be written.
pub fn write(
    choices: &[Choice],
    version: &'static Version,
    base: &[u8],
) -> Result<Written, WriteError> {
    let mut by_collective: BTreeMap<&str, Vec<Rule>> = BTreeMap::new();
    for choice in choices {
        by_collective
            .entry(&choice.collective)
            .or_default()
            .push(rule(choice, version)?);
    }
    let mut variables = Vec::new();
    let mut edited: BTreeMap<&str, Vec<Rule>> = BTreeMap::new();
    for (name, rules) in by_collective {
        let capitals = name.to_ascii_uppercase();
        if !name.starts_with('i') {
            variables.push((
                format!("MPIR_CVAR_{capitals}_DEVICE_COLLECTIVE"),
                "0".to_owned(),
            ));
        }
        match &rules[..] {
            [one] if one.is_for_all() => {
                let value = one.algorithm.entry.name.to_owned();
                variables.push((format!("MPIR_CVAR_{capitals}_INTRA_ALGORITHM"), value));
            }
            _ => drop(edited.insert(name, rules)),
        }
    }
    let file = if edited.is_empty() {
        None
    } else {
        Some(copy(base, version, edited)?)
    };
    Ok(Written { variables, file })
}

/// A choice that this version can do.
#[derive(Debug, Clone)]
struct Rule {
    collective: &'static Collective,
    algorithm: Algorithm,
    n_processes: Option<u32>,
    bytes: Option<(u64, u64)>,
    /// Parameters that were asked for.
    given: Vec<String>,
}

impl Rule {
    /// Whether a variable can say all of it, and is checked for what the algorithm cannot do.
    fn is_for_all(&self) -> bool {
        let is_checked = self.algorithm.entry.needs.is_empty();
        self.n_processes.is_none() && self.bytes.is_none() && self.given.is_empty() && is_checked
    }
}

fn rule(choice: &Choice, version: &'static Version) -> Result<Rule, WriteError> {
    let name = &choice.collective;
    let collective = collective(name).ok_or_else(|| WriteError::Collective(name.clone()))?;
    let by_setting = version.by_setting(name, true, &choice.algorithm);
    let of_name = || {
        version
            .algorithm(&choice.algorithm)
            .filter(|algorithm| algorithm.collective == name.as_str())
    };
    let algorithm = by_setting.or_else(of_name).ok_or_else(|| {
        let of_collective = version
            .every_algorithm()
            .filter(|known| known.collective == name.as_str());
        let known: Vec<_> = of_collective
            .filter(|known| known.on != "inter")
            .map(|known| known.entry.name)
            .collect();
        WriteError::Algorithm {
            version: version.number(),
            algorithm: choice.algorithm.clone(),
            collective: name.clone(),
            known: known.join(", "),
        }
    })?;
    let needed = algorithm
        .entry
        .restrictions
        .iter()
        .chain(algorithm.entry.needs);
    if let Some(n_processes) = choice.n_processes
        && needed
            .into_iter()
            .any(|needs| *needs == Restriction::PowerOfTwo)
        && !n_processes.is_power_of_two()
    {
        let needs = Restriction::PowerOfTwo.words();
        return Err(WriteError::Processes {
            algorithm: algorithm.name(),
            needs,
            n_processes,
        });
    }
    Ok(Rule {
        collective,
        algorithm,
        n_processes: choice.n_processes,
        bytes: choice.bytes,
        given: choice.parameters.clone(),
    })
}

fn copy(
    base: &[u8],
    version: &'static Version,
    edited: BTreeMap<&str, Vec<Rule>>,
) -> Result<String, WriteError> {
    let read = read_as(Kind::Mpir, base, version);
    if read.fate != Fate::Loads {
        let first = read
            .problems
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
        return Err(WriteError::Base(format!(
            "MPICH {} does not load it: {first}",
            version.number()
        )));
    }
    let document = json::parse(base, 32).map_err(|error| WriteError::Base(error.to_string()))?;
    let mut file = Rules::of(&document.root);
    for (name, mut rules) in edited {
        let key = format!("collective={name}");
        let found = file.0.iter_mut().find(|(other, _)| *other == key);
        let Some((_, of_collective)) = found else {
            return Err(WriteError::Base(format!(
                "it has no `{key}` at its first level"
            )));
        };
        // With the meaning that tests have where they stand now, wherever they will stand.
        let mut before = of_collective.clone();
        before.make_movable(true);
        let intra = before
            .0
            .iter()
            .find(|(key, _)| key == "comm_type=intra")
            .map(|(_, inside)| inside.clone());
        let rest = intra.unwrap_or_else(|| before.clone());
        rules.sort_by_key(|rule| (rule.n_processes.map_or(u32::MAX, |n| n), rule.bytes));
        let chosen = by_size(&rules, &rest)?;
        *of_collective = Rules::one("comm_type=intra", chosen);
        let inter = before
            .0
            .into_iter()
            .find(|(key, _)| key == "comm_type=inter");
        of_collective.0.extend(inter);
    }
    let text = file.text();
    let written = read_as(Kind::Mpir, text.as_bytes(), version);
    if written.fate != Fate::Loads {
        let first = written
            .problems
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
        return Err(WriteError::Base(format!(
            "it has no rules for some calls: {first}"
        )));
    }
    Ok(text)
}

/// Tests of the communicator's size, and what was chosen for each; `rest` for all others.
fn by_size(rules: &[Rule], rest: &Rules) -> Result<Rules, WriteError> {
    let of_any = rules.iter().position(|rule| rule.n_processes.is_none());
    let (sized, any) = rules.split_at(of_any.unwrap_or(rules.len()));
    // What was chosen for all sizes, or the rules that are there, for communicators of these sizes.
    let others = |least: u32, most: i64| {
        let calls = Calls::default().within("comm_size", i64::from(least), most);
        if any.is_empty() {
            Ok(rest.for_calls(&calls))
        } else {
            by_bytes(any, None, rest, &calls)
        }
    };
    let mut tests = Rules::default();
    let mut begins = 1;
    for of_size in sized.chunk_by(|a, b| a.n_processes == b.n_processes) {
        let n = of_size[0].n_processes.unwrap_or(1);
        if n > begins {
            tests.0.push((
                format!("comm_size<={}", n - 1),
                others(begins, i64::from(n - 1))?,
            ));
        }
        let calls = Calls::default().within("comm_size", i64::from(n), i64::from(n));
        tests.0.push((
            format!("comm_size<={n}"),
            by_bytes(of_size, Some(n), rest, &calls)?,
        ));
        begins = n + 1;
    }
    let last = others(begins, i64::MAX)?;
    if tests.0.is_empty() {
        return Ok(last);
    }
    tests.0.push(("comm_size=any".to_owned(), last));
    Ok(tests)
}

/// Tests of bytes, and what was chosen for each, for `calls`.
fn by_bytes(
    rules: &[Rule],
    n_processes: Option<u32>,
    rest: &Rules,
    calls: &Calls,
) -> Result<Rules, WriteError> {
    let collective = rules[0].collective;
    if let [Rule { bytes: None, .. }] = rules {
        return guarded(&rules[0], rest, calls);
    }
    let (name, factor) = match (collective.average, collective.total, n_processes) {
        (true, ..) => ("avg_msg_size", 1),
        (false, Total::TimesProcesses | Total::Sum, Some(n)) => ("total_msg_size", u64::from(n)),
        _ => return Err(WriteError::Bytes(collective.name.to_owned())),
    };
    let mut tests = Rules::default();
    // The least in the file's unit that has no rule yet.
    let mut begins = 0;
    let mut last = None;
    for rule in rules {
        let Some((least, most)) = rule.bytes else {
            return Err(WriteError::Twice(collective.name.to_owned()));
        };
        let least = i64::from(number(least.saturating_mul(factor))?);
        if least < begins || last.is_some() {
            return Err(WriteError::Twice(collective.name.to_owned()));
        }
        if least > begins {
            let between = rest.for_calls(&calls.within(name, begins, least - 1));
            tests.0.push((format!("{name}<={}", least - 1), between));
        }
        if most == u64::MAX {
            last = Some(guarded(rule, rest, &calls.within(name, least, i64::MAX))?);
            continue;
        }
        let most = i64::from(number(most.saturating_mul(factor))?);
        tests.0.push((
            format!("{name}<={most}"),
            guarded(rule, rest, &calls.within(name, least, most))?,
        ));
        begins = most + 1;
    }
    let last = last.unwrap_or_else(|| rest.for_calls(&calls.within(name, begins, i64::MAX)));
    if tests.0.is_empty() {
        return Ok(last);
    }
    tests.0.push((format!("{name}=any"), last));
    Ok(tests)
}

fn number(bytes: u64) -> Result<i32, WriteError> {
    i32::try_from(bytes).map_err(|_| WriteError::TooMany(bytes))
}

/// The algorithm where it can do a call, and `rest` where it cannot.
fn guarded(rule: &Rule, rest: &Rules, calls: &Calls) -> Result<Rules, WriteError> {
    let algorithm = rule.algorithm;
    if !algorithm.entry.lacks.is_empty() {
        return Err(WriteError::Parameters {
            algorithm: algorithm.name(),
            parameters: algorithm.entry.lacks.join(", "),
            collective: rule.collective.name.to_owned(),
        });
    }
    let parameters = algorithm.entry.reads.iter().map(|name| {
        let given = rule.given.iter().find(|given| {
            given
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('='))
        });
        (
            given
                .cloned()
                .unwrap_or_else(|| format!("{name}={}", usual(name))),
            Rules::default(),
        )
    });
    let key = format!("algorithm={}", algorithm.name());
    let mut object = Rules::one(&key, Rules(parameters.collect()));
    for restriction in algorithm
        .entry
        .restrictions
        .iter()
        .chain(algorithm.entry.needs)
    {
        let (yes, no) = match restriction {
            Restriction::ParentComm => ("comm_hierarchy=parent", "comm_hierarchy=any"),
            Restriction::PowerOfTwo if rule.n_processes.is_some() => continue,
            Restriction::PowerOfTwo => ("comm_size=pow2", "comm_size=any"),
            Restriction::InPlace => ("is_sendbuf_inplace=yes", "is_sendbuf_inplace=no"),
            Restriction::NotInPlace => ("is_sendbuf_inplace=no", "is_sendbuf_inplace=yes"),
            Restriction::Commutative => ("is_commutative=yes", "is_commutative=no"),
            Restriction::BuiltIn => ("is_op_built_in=yes", "is_op_built_in=no"),
            Restriction::NodeConsecutive => ("is_node_consecutive=yes", "is_node_consecutive=no"),
            Restriction::Regular => ("is_block_regular=yes", "is_block_regular=no"),
            Restriction::CountAtLeastPowerOfTwo => {
                let below = rest.for_calls(&calls.after("count<pow2", true));
                object = Rules(vec![
                    ("count<pow2".to_owned(), below),
                    ("count=any".to_owned(), object),
                ]);
                continue;
            }
            // No test asks for it.
            Restriction::OrderedDisplacements => continue,
            // Compositions, whose parts have fewer, are switched off.
            Restriction::SeveralProcesses => continue,
        };
        // Scans have no test of this; the algorithm keeps the order of ranks.
        if matches!(restriction, Restriction::Commutative) && !rule.collective.commutative {
            continue;
        }
        let others = rest.for_calls(&calls.after(yes, false));
        object = Rules(vec![(yes.to_owned(), object), (no.to_owned(), others)]);
    }
    Ok(object)
}

/// A value of a parameter that makes the algorithm do its plain work.
fn usual(parameter: &str) -> &'static str {
    match parameter {
        "k" | "scatterv_k" | "allgatherv_k" => "2",
        "ccl" => "auto",
        _ => "0",
    }
}
