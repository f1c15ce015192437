//! By what trials are compared: the time of recorded instances, divided into those that choose and those that
//! test the choice.

use std::collections::BTreeMap;

use collbench_formats::tree::{
    Calls, Collectors, CollectorsOfKinds, Form, Level, Place, Rule, TreeRules, Wrappers,
};
use collbench_schedules::Grouping;
use collbench_stats::random::Random;
use collbench_trees::wrappers::{Members, Order, resolve};

use super::super::candidates::{self, Candidate};
use super::super::figure::Figure;
use super::super::known::{Known, Modelled};
use super::super::own_trees::{TreeOfCall, call, checksum, places, schedule_over};
use super::super::recorded::Class;
use super::super::{Method, Model, Prediction};
use super::lateness;

/// Instances of each class by which trials are compared while there are many of them, and at the end.
pub(super) const FEW: usize = 24;
pub(super) const MANY: usize = 200;
/// The file of the trees that are found.
const FOUND: &str = "trees.toml";

/// What could run.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Trial {
    /// What ran.
    Ran,
    /// An algorithm of the library, as a whole.
    Algorithm {
        /// Its function.
        function: String,
        /// Its number for the library.
        number: Option<i64>,
    },
    /// A spanning tree.
    Tree(Form),
}

/// An instance, and when its processes enter.
#[derive(Debug, Clone)]
struct Sampled {
    enters_ns: Vec<f64>,
    position: u64,
}

/// A class of the calls.
#[derive(Debug)]
pub(super) struct OfClass<'r, 'm> {
    pub(super) model: &'m Model<'r>,
    pub(super) class: &'r Class,
    pub(super) number: usize,
    pub(super) places: Vec<Place>,
    /// By which part of its time something else may be predicted wrongly.
    pub(super) error: f64,
    known: Known<'m>,
    ran: Candidate,
    algorithms: Vec<Candidate>,
    choosing: Vec<Sampled>,
    testing: Vec<Sampled>,
    /// How late each process enters on average, ns after the median one, where the same ones are late again and again.
    pub(super) late_ns: Option<Vec<f64>>,
    /// The part of the variation of enters that is between processes.
    pub(super) persistence: f64,
}

/// Which instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instances {
    /// At most so many of those that choose.
    Choosing(usize),
    /// All that test.
    Testing,
}

/// Classes of calls for which one rule decides.
#[derive(Debug)]
pub(super) struct Objective<'r, 'm> {
    pub(super) classes: Vec<OfClass<'r, 'm>>,
    /// By class in which grouping what ran combines; `None` where that is not known.
    pub(super) ran: Vec<Option<Grouping>>,
}

impl<'r, 'm> OfClass<'r, 'm> {
    /// A class of which what ran is predicted.
    ///
    /// # Errors
    /// Says why nothing else can be predicted of it.
    pub(super) fn new(
        model: &'m Model<'r>,
        prediction: &Prediction<'r>,
        groups: &TreeRules,
        seed: u64,
    ) -> Result<Self, String> {
        let number = prediction.number;
        let of = model.class(number);
        let class = of.class;
        let identity = prediction.identity.as_ref().map_err(String::clone)?;
        let known = of.known().map_err(|error| error.to_string())?;
        let ran = candidates::that_ran(model.library, class);
        let ran = ran.ok_or("no messages of its calls were recorded")?;
        let places = places(model.recorded, class, groups);
        let places = places.ok_or("there are ranks without a file")?;
        let choosing = class.tenths(0).instances;
        let lateness = lateness::of(&choosing);
        let random = &mut Random::of(&[seed, number as u64, 3]);
        let mut sampled: Vec<Sampled> = (choosing.into_iter())
            .map(|of| Sampled {
                enters_ns: of.enters_ns,
                position: of.position,
            })
            .collect();
        if lateness.of_process_ns.is_none() {
            // Who happened to be late must not decide.
            for of in &mut sampled {
                random.shuffle(&mut of.enters_ns);
            }
        }
        let testing = class.tenths(1).instances.into_iter();
        Ok(Self {
            model,
            class,
            number,
            places,
            error: identity.error,
            known,
            ran,
            algorithms: candidates::candidates(model.library, class),
            choosing: sampled,
            testing: testing
                .map(|of| Sampled {
                    enters_ns: of.enters_ns,
                    position: of.position,
                })
                .collect(),
            late_ns: lateness.of_process_ns,
            persistence: lateness.persistence,
        })
    }

    /// The tree of a form for its processes at some places, in the order of ranks.
    pub(super) fn tree_at(&self, form: &Form, places: &[Place]) -> Option<Wrappers> {
        let root = call(self.class)?.named_root();
        let members = Members {
            hosts: &self.model.recorded.hosts,
            places,
        };
        resolve(&rule_of(form.clone()), root, Order::Any, members).ok()
    }

    /// The tree of a form for its processes.
    pub(super) fn tree(&self, form: &Form) -> Option<Wrappers> {
        self.tree_at(form, &self.places)
    }

    /// What the processes do in a trial; `None` if that is not possible.
    pub(super) fn candidate(&self, trial: &Trial) -> Option<Candidate> {
        match trial {
            Trial::Ran => Some(self.ran.clone()),
            Trial::Algorithm { function, .. } => {
                let mut algorithms = self.algorithms.iter();
                let is_it = |of: &&Candidate| of.segment_bytes == 0 && of.method.name() == function;
                algorithms.find(is_it).cloned()
            }
            Trial::Tree(form) => {
                let tree = self.tree(form)?;
                Some(Candidate::over(TreeOfCall {
                    place: FOUND.to_owned(),
                    crc32: checksum(&tree),
                    schedule: schedule_over(&tree, self.class).ok()?,
                }))
            }
        }
    }

    pub(super) fn modelled(&self, trial: &Trial) -> Option<Modelled<'m>> {
        self.known.modelled(self.class, self.candidate(trial)?).ok()
    }

    fn sampled(&self, which: Instances) -> impl Iterator<Item = &Sampled> {
        let (all, most) = match which {
            Instances::Choosing(most) => (&self.choosing, most),
            Instances::Testing => (&self.testing, usize::MAX),
        };
        all.iter().step_by(all.len().div_ceil(most).max(1))
    }

    /// How long instances take, ns, in the order of time.
    fn times_ns(&self, trial: &Trial, which: Instances) -> Option<Vec<f64>> {
        let modelled = self.modelled(trial)?;
        let mut evaluator = modelled.evaluator()?;
        let figure = Figure::of(self.class.operation, self.class.root);
        let times = self.sampled(which).map(|of| {
            let mut draws = evaluator.draws(&[self.number as u64, 4, of.position], None);
            let leaves_ns = evaluator.leaves_ns(&of.enters_ns, &mut draws);
            figure.takes_ns(&of.enters_ns, leaves_ns)
        });
        Some(times.collect())
    }

    /// The network, for trees that are made from it.
    pub(super) fn known(&self) -> &Known<'m> {
        &self.known
    }
}

/// A rule for any calls.
pub(super) fn rule_of(form: Form) -> Rule {
    Rule {
        line: 0,
        calls: Calls {
            operations: Vec::new(),
            ranks: (1, u32::MAX),
            bytes: (0, u64::MAX),
            across: None,
        },
        form,
        collectors: CollectorsOfKinds::uniform(Collectors::NONE),
    }
}

impl<'r, 'm> Objective<'r, 'm> {
    /// Of some classes.
    pub(super) fn new(classes: Vec<OfClass<'r, 'm>>) -> Self {
        let ran = classes.iter().map(|of| of.grouping(&Trial::Ran));
        Self {
            ran: ran.collect(),
            classes,
        }
    }
}

impl Objective<'_, '_> {
    /// By class how long each of the instances takes, ns; `None` if the trial is not possible for all of them, or too little
    /// is known of its messages.
    pub(super) fn times_ns(&self, trial: &Trial, which: Instances) -> Option<Vec<Vec<f64>>> {
        let times = self.classes.iter();
        let times = times.map(|of| of.times_ns(trial, which));
        times.collect()
    }

    /// The mean over all instances of the run, if each class has these times, ns.
    pub(super) fn mean_ns(&self, times_ns: &[Vec<f64>]) -> f64 {
        let each = self.classes.iter().zip(times_ns);
        let sum: f64 = each
            .map(|(of, times_ns)| of.class.n_instances as f64 * mean(times_ns))
            .sum();
        sum / self.n_instances() as f64
    }

    pub(super) fn n_instances(&self) -> u64 {
        self.classes.iter().map(|of| of.class.n_instances).sum()
    }

    /// What a trial costs, ns.
    pub(super) fn cost_ns(&self, trial: &Trial, which: Instances) -> Option<f64> {
        Some(self.mean_ns(&self.times_ns(trial, which)?))
    }

    /// Names and numbers of the algorithms that all classes can run.
    pub(super) fn algorithms(&self) -> Vec<Trial> {
        let mut counted: BTreeMap<(String, Option<i64>), usize> = BTreeMap::new();
        for of in &self.classes {
            for algorithm in of.algorithms.iter().filter(|of| of.segment_bytes == 0) {
                if let Method::Algorithm(function) = &algorithm.method {
                    let key = (function.clone(), algorithm.number);
                    *counted.entry(key).or_default() += 1;
                }
            }
        }
        let of_all = counted
            .into_iter()
            .filter(|(_, n)| *n == self.classes.len());
        of_all
            .map(|((function, number), _)| Trial::Algorithm { function, number })
            .collect()
    }

    /// Whether processes of some class are at several sites.
    pub(super) fn has_sites(&self) -> bool {
        let mut all = self.classes.iter();
        all.any(|of| Level::across(&of.places) == Level::Site)
    }
}

pub(super) fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len().max(1) as f64
}
