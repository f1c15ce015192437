//! What a search looked at, as far as a user is told of it: also what it did not propose, and why.

use std::fmt;

use collbench_formats::Operation;
use collbench_text::quantity::counted;

use crate::predict::{Band, Chosen, Found, Gain, Method, OfCalls, What};
use crate::words::sized;

/// Kinds of calls for which the text says why nothing is proposed.
const SHOWN: usize = 5;

/// What a search looked at.
#[derive(Debug, Clone, Default)]
pub struct Considered {
    /// Hosts of the run; 0 if nothing was searched.
    pub n_hosts: usize,
    /// Its processes; 0 if nothing was searched.
    pub n_processes: usize,
    /// By operation, number of processes and payload; those that took longest first.
    pub kinds: Vec<KindOfCalls>,
    /// Instances of calls of which there are too few to predict.
    pub n_rare: u64,
}

/// Calls for which one rule of a file decides.
#[derive(Debug, Clone)]
pub struct KindOfCalls {
    /// Which operation.
    pub operation: Operation,
    /// Processes of the communicator.
    pub n_processes: usize,
    /// Bytes of one process.
    pub bytes: u64,
    /// How many instances ran.
    pub n_instances: u64,
    /// How long they took together, ns.
    pub took_ns: f64,
    /// What ran, by class of calls.
    pub ran: Vec<Ran>,
    /// What could run instead: the best of each kind; an error says why nothing is predicted.
    pub alternatives: Result<Vec<Alternative>, String>,
}

/// What ran in a class of calls.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Name of the communicator.
    pub communicator: String,
    /// The root, of operations that have one.
    pub root: Option<usize>,
    /// What ran.
    pub what: String,
    /// How long an instance took.
    pub measured: Band,
}

/// What could run instead of what ran.
#[derive(Debug, Clone)]
pub struct Alternative {
    /// What it is, in words.
    pub what: String,
    /// Whether it is a spanning tree; else an algorithm of the library.
    pub is_tree: bool,
    /// What a trace with it would name, by class of calls.
    pub methods: Vec<Method>,
    /// How long the median instance takes, by class of calls.
    pub predicted: Vec<Band>,
    /// The part of the time that it saves.
    pub gain: Gain,
    /// Why it is not proposed; `None` if it is.
    pub why_not: Option<WhyNot>,
}

/// Why something is not proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyNot {
    /// It gains nothing, too little, or less than is known for sure: that.
    Gain(String),
    /// Its results may differ in the last digits.
    OtherBits,
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gain(why) => f.write_str(why),
            Self::OtherBits => f.write_str("its results may differ in the last digits"),
        }
    }
}

impl Found<'_> {
    /// What a user is told of all that was looked at.
    #[must_use]
    pub fn considered(&self) -> Considered {
        Considered {
            n_hosts: self.recorded.hosts.len(),
            n_processes: self.recorded.host_of_rank.len(),
            kinds: self.calls.iter().map(|of| self.kind(of)).collect(),
            n_rare: self.n_rare,
        }
    }

    fn kind(&self, of: &OfCalls) -> KindOfCalls {
        let has_root = of.operation.semantics().is_rooted();
        let ran = self.of_classes(of).map(|prediction| {
            let class = prediction.class;
            Ran {
                communicator: class.communicator.clone(),
                root: has_root.then_some(class.root),
                what: class.ran_in_words(),
                measured: prediction.measured,
            }
        });
        let alternatives = of.found.as_ref().map_err(String::clone).map(|tried| {
            let best = [&tried.algorithm, &tried.tree].into_iter().flatten();
            let best = best.map(|of| Alternative {
                why_not: of.why_not.clone().map(WhyNot::Gain),
                ..Alternative::of(of)
            });
            let others = tried.other_bits.iter().map(|of| Alternative {
                why_not: Some(WhyNot::OtherBits),
                ..Alternative::of(of)
            });
            best.chain(others).collect()
        });
        KindOfCalls {
            operation: of.operation,
            n_processes: of.n_processes,
            bytes: of.bytes,
            n_instances: of.n_instances,
            took_ns: of.took_ns,
            ran: ran.collect(),
            alternatives,
        }
    }
}

impl Alternative {
    fn of(chosen: &Chosen) -> Self {
        let methods = chosen.candidates.iter().map(|of| of.method.clone());
        Self {
            what: chosen.what.in_words(),
            is_tree: matches!(chosen.what, What::Tree(_)),
            methods: methods.collect(),
            predicted: chosen.predicted.clone(),
            gain: chosen.gain,
            why_not: None,
        }
    }
}

impl KindOfCalls {
    /// Why nothing is proposed for it; `None` if something is.
    #[must_use]
    pub fn why_nothing(&self) -> Option<String> {
        let why = match &self.alternatives {
            Err(why) => format!("nothing is predicted: {why}"),
            Ok(all) => {
                if all.iter().any(|of| of.why_not.is_none()) {
                    return None;
                }
                let gain = all.iter().find_map(|of| match &of.why_not {
                    Some(WhyNot::Gain(why)) => Some(why),
                    _ => None,
                });
                match gain {
                    Some(why) => format!("nothing is proposed: the best is {why}"),
                    None => "nothing is better than what ran".to_owned(),
                }
            }
        };
        Some(format!(
            "{}, {}: {why}",
            self.operation.name(),
            sized(self.n_processes, self.bytes)
        ))
    }
}

impl Considered {
    /// Whether there are calls, and of none of them it is predicted what else would take.
    #[must_use]
    pub fn is_nothing_predicted(&self) -> bool {
        !self.kinds.is_empty() && self.kinds.iter().all(|of| of.alternatives.is_err())
    }

    /// For which calls nothing is proposed, and why; those that took longest.
    #[must_use]
    pub fn not_proposed(&self) -> Vec<String> {
        let kinds = self.kinds.iter().filter_map(KindOfCalls::why_nothing);
        kinds.take(SHOWN).chain(self.rare_in_words()).collect()
    }

    /// Of how many calls there are too few; `None` if of none.
    #[must_use]
    pub fn rare_in_words(&self) -> Option<String> {
        (self.n_rare > 0).then(|| {
            format!(
                "{} of other calls, too few of each to predict",
                counted(self.n_rare, "instance")
            )
        })
    }
}
