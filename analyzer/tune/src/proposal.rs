//! What could run instead of what ran, and how it reaches the library.

mod found;

use collbench_formats::Operation;

use crate::predict::{Band, Method, Prediction, Ratios};

/// What is proposed to run: a program is never changed for it.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// What people call it, such as `algorithms` or `trees`.
    pub name: String,
    /// How it reaches the library.
    pub means: Means,
    /// What it changes, by class of calls.
    pub changes: Vec<Change>,
    /// The time of the whole run with it by that of the run as it ran; `None` where that is not predicted.
    pub run: Option<Ratios>,
}

/// How a proposal reaches the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    /// By variables of the environment of the launcher.
    Environment {
        /// The file that a variable names.
        file: Option<RulesText>,
        /// Names and values.
        variables: Vec<(String, Value)>,
    },
    /// By a tree file for `collbench-record --trees`: its text.
    Trees(String),
}

/// A file for the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesText {
    /// Its name, without a folder.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// The path of the file.
    File,
}

/// What a proposal changes in a class of calls.
#[derive(Debug, Clone)]
pub struct Change {
    /// Which operation.
    pub operation: Operation,
    /// Name of the communicator.
    pub communicator: String,
    /// Its processes.
    pub n_processes: usize,
    /// The root, of operations that have one.
    pub root: Option<usize>,
    /// Bytes of one process.
    pub bytes: u64,
    /// How many instances ran.
    pub n_instances: u64,
    /// What ran.
    pub ran: String,
    /// How long the median instance took.
    pub measured: Band,
    /// What is proposed, as people call it: an algorithm, or a tree by its shapes or its form.
    pub what: String,
    /// What is proposed, as a trace with it names it.
    pub method: Method,
    /// How long the median instance takes with it.
    pub predicted: Band,
}

impl Change {
    /// From what is predicted of a class to what is proposed for it.
    #[must_use]
    pub fn of(
        prediction: &Prediction<'_>,
        (what, method): (String, Method),
        predicted: Band,
    ) -> Self {
        let class = prediction.class;
        let has_root = class.operation.semantics().is_rooted();
        Self {
            operation: class.operation,
            communicator: class.communicator.clone(),
            n_processes: class.ranks.len(),
            root: has_root.then_some(class.root),
            bytes: class.bytes,
            n_instances: class.n_instances,
            ran: class.ran_in_words(),
            measured: prediction.measured,
            what,
            method,
            predicted,
        }
    }
}
