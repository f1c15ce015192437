//! A better algorithm, or tree, for the calls of a run.
//!
//! Calls for which one rule of a file decides, those of an operation with the same number of processes and the same
//! payload, are looked at together. What could run is compared by instances of every other tenth of the run; the best algorithm
//! and the best tree are then tested by the instances of the others, which did not choose them. Trees are the shapes by level, those
//! of tree files, trees that are made for the links, and what follows from the best of these step by step.
//!
//! # Source
//! Simulated annealing of trees: see `docs/tune.md`.

mod anneal;
mod bits;
mod document;
mod file;
mod lateness;
mod moves;
mod objective;
mod screen;
mod starts;
mod tree;
mod verdict;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use collbench_formats::Operation;
use collbench_formats::tree::{Form, HostGroup, Level, TreeRules, Wrappers};
use collbench_stats::random::Random;
use rayon::prelude::*;

use super::candidates::Candidate;
use super::known::Modelled;
use super::own_trees::{NamedTreeFile, call, checksum};
use super::recorded::Recorded;
use super::replay;
use super::whole_run::{Chooser, WholeRun};
use super::{Band, Given, Identity, Model, PredictError, Prediction, RunPrediction};
use anneal::{Limits, anneal};
pub use bits::{Bits, Results};
use moves::Freedom;
use objective::{FEW, Instances, MANY, Objective, OfClass, Trial};
use tree::HostTree;
pub use verdict::Gain;
pub(super) use verdict::LEAST_GAIN;

/// Walks from tree to tree, and trees that are evaluated on each, unless it is said otherwise.
const WALKS: u64 = 2;
const EVALUATIONS: u32 = 2000;
/// What is best by few instances, and compared by more: so many.
const FINALISTS: usize = 6;
/// A tree that was found step by step must be better than one of a shape by this part of its time.
const LEAST_OF_STEPS: f64 = 0.01;

/// How to search.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    /// Other numbers give other random steps.
    pub seed: u64,
    /// Trees that are evaluated on each walk, for each operation and payload.
    pub evaluations: u32,
    /// The time to search, at most.
    pub time: Option<Duration>,
    /// How often deviations are drawn for the calls of a class.
    pub draws_of_class: u64,
    /// How often they are drawn for the whole run, at most.
    pub draws_of_run: u64,
    /// Which results of reductions may have other bits.
    pub results: Results,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            seed: 1,
            evaluations: EVALUATIONS,
            time: None,
            draws_of_class: super::DRAWS,
            draws_of_run: replay::DRAWS,
            results: Results::default(),
        }
    }
}

/// Calls of an operation with the same number of processes and the same payload.
#[derive(Debug, Clone)]
pub struct OfCalls {
    /// Which operation.
    pub operation: Operation,
    /// Processes of the communicator.
    pub n_processes: usize,
    /// Bytes of one process.
    pub bytes: u64,
    /// Indexes in [`Recorded::classes`].
    pub classes: Vec<usize>,
    /// How many instances ran.
    pub n_instances: u64,
    /// How long they took together, ns, if each took as long as the median one of its class.
    pub took_ns: f64,
    /// What was found; an error says why nothing is predicted.
    pub found: Result<Tried, String>,
}

/// What was tried.
#[derive(Debug, Clone)]
pub struct Tried {
    /// How many algorithms and trees.
    pub n: u32,
    /// How many of them were left out, since too little is known of their messages.
    pub n_unknown: u32,
    /// Whether the time was over before all were.
    pub is_cut_off: bool,
    /// The part of the variation of enters that is between processes: see `docs/tune.md`.
    pub persistence: f64,
    /// How late each process enters on average, ns after the median one, if trees were made for it; of the first class.
    pub late_ns: Option<Vec<f64>>,
    /// The part of the time by which what ran is predicted wrongly.
    pub error: f64,
    /// The best algorithm, if it is not the one that ran.
    pub algorithm: Option<Chosen>,
    /// The best tree.
    pub tree: Option<Chosen>,
    /// What would gain more, and is left out since its results have other bits than they may have.
    pub other_bits: Vec<Chosen>,
}

/// The best of its kind.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// What it is.
    pub what: What,
    /// What it gains by instances that did not choose it.
    pub gain: Gain,
    /// Why it is not proposed; `None` if it is.
    pub why_not: Option<String>,
    /// How long the median instance takes, by class.
    pub predicted: Vec<Band>,
    /// Which bits its results have; `None` where nothing is combined.
    pub bits: Option<Bits>,
    /// What each process does, by class.
    pub candidates: Vec<Candidate>,
}

/// What is chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// An algorithm of the library.
    Algorithm {
        /// Its function, such as `bcast_intra_chain`.
        function: String,
        /// Its number for the library.
        number: Option<i64>,
    },
    /// A spanning tree.
    Tree(FoundTree),
}

/// A spanning tree that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTree {
    /// By shapes, or node by node.
    pub form: Form,
    /// What it is for the processes of the first class.
    pub wrappers: Wrappers,
    /// A number for its paths there.
    pub crc32: u32,
}

/// All that was found in a run.
#[derive(Debug, Clone)]
pub struct Found<'r> {
    /// The run.
    pub recorded: &'r Recorded,
    /// By operation, number of processes and payload; those that took longest first.
    pub calls: Vec<OfCalls>,
    /// Instances of classes with too few of them.
    pub n_rare: u64,
    /// How long the whole run takes with the algorithms that are proposed, and with the trees; `None` if nothing is proposed, or
    /// that is not predicted.
    pub run: Option<RunPrediction>,
    /// Sites and switches of the trees.
    pub groups: Vec<HostGroup>,
    /// What is known of each class that was predicted.
    pub predictions: Vec<Prediction<'r>>,
}

/// What the whole run is predicted with.
pub(crate) const WITH_ALGORITHMS: &str = "with the algorithms that are proposed";
pub(crate) const WITH_TREES: &str = "with the trees that are proposed";

/// Searches a better algorithm, and a better tree, for the calls of a run.
///
/// # Errors
/// [`PredictError`] if nothing can be predicted at all.
pub fn search<'r>(
    recorded: &'r Recorded,
    given: &Given,
    options: Search,
) -> Result<Found<'r>, PredictError> {
    let begin = Instant::now();
    let model = Model::of(recorded, given.links.as_ref(), &given.over_trees)?;
    let groups = TreeRules {
        groups: groups(recorded, given),
        ..TreeRules::default()
    };
    let numbers: Vec<usize> = (0..recorded.classes.len()).collect();
    let predictions = numbers.par_iter().filter_map(|&number| {
        let of = model.class(number);
        let times = of.class.instances.iter().map(|instance| instance.took_ns);
        Some(Prediction {
            class: of.class,
            number,
            measured: Band::of(times.collect())?,
            identity: of.identity(),
            candidates: Vec::new(),
            n_left_out: 0,
            trees_left_out: Vec::new(),
        })
    });
    let predictions: Vec<Prediction<'_>> = predictions.collect();
    let mut together: BTreeMap<(&str, usize, u64), Vec<&Prediction<'_>>> = BTreeMap::new();
    for prediction in predictions.iter().filter(|of| !of.class.has_too_few()) {
        let class = prediction.class;
        let key = (class.operation.name(), class.ranks.len(), class.bytes);
        together.entry(key).or_default().push(prediction);
    }
    let searcher = Searcher {
        model: &model,
        groups: &groups,
        tree_files: &given.tree_files,
        options,
        deadline: options.time.map(|time| begin + time),
    };
    // What took longest comes first, so that it is not what a limit of time cuts off.
    let mut together: Vec<Vec<&Prediction<'_>>> = together.into_values().collect();
    let took_ns = |of: &[&Prediction<'_>]| of.iter().map(|of| of.all_ns()).sum::<f64>();
    together.sort_by(|a, b| took_ns(b).total_cmp(&took_ns(a)));
    let calls: Vec<OfCalls> = (together.par_iter())
        .map(|of| searcher.calls(of, took_ns(of)))
        .collect();
    let is_proposed = |of: &OfCalls| of.algorithm().is_some() || of.tree().is_some();
    let has_proposals = calls.iter().any(is_proposed);
    let run = has_proposals.then(|| whole_run(&model, &predictions, &calls, options.draws_of_run));
    let rare = recorded.classes.iter().filter(|of| of.has_too_few());
    Ok(Found {
        recorded,
        n_rare: rare.map(|of| of.n_instances).sum(),
        calls,
        run: run.flatten(),
        groups: groups.groups,
        predictions,
    })
}

/// Sites and switches as a tree file names them, else sites as the round trips of the links file show them, or those of the
/// trace.
fn groups(recorded: &Recorded, given: &Given) -> Vec<HostGroup> {
    let mut files = given.tree_files.iter().map(|file| &file.file.rules.groups);
    if let Some(groups) = files.find(|groups| !groups.is_empty()) {
        return groups.clone();
    }
    let links = given.links.as_ref();
    let sites = links.and_then(|links| links.sites(&recorded.hosts));
    let Some(sites) = sites.or_else(|| recorded.sites()) else {
        return Vec::new();
    };
    let site = |site: usize| {
        let hosts = recorded.hosts.iter().zip(&sites.of_host);
        let hosts = hosts.filter(|(_, of)| **of == site);
        HostGroup {
            level: Level::Site,
            name: format!("site {}", site + 1),
            hosts: hosts.map(|(name, _)| name.clone()).collect(),
        }
    };
    (0..sites.n).map(site).collect()
}

impl Tried {
    /// Trials with what they cost by few instances, ns; without those of which too little is known.
    fn evaluated(
        &mut self,
        objective: &Objective<'_, '_>,
        trials: Vec<Trial>,
    ) -> Vec<(Trial, f64)> {
        let n = trials.len();
        let evaluated = trials.into_par_iter().filter_map(|trial| {
            let cost_ns = objective.cost_ns(&trial, Instances::Choosing(FEW))?;
            Some((trial, cost_ns))
        });
        let evaluated: Vec<_> = evaluated.collect();
        self.n += n as u32;
        self.n_unknown += (n - evaluated.len()) as u32;
        evaluated
    }
}

struct Searcher<'s, 'r> {
    model: &'s Model<'r>,
    groups: &'s TreeRules,
    tree_files: &'s [NamedTreeFile],
    options: Search,
    deadline: Option<Instant>,
}

impl<'r> Searcher<'_, 'r> {
    fn calls(&self, of: &[&Prediction<'r>], took_ns: f64) -> OfCalls {
        let class = of[0].class;
        let numbers = of.iter().map(|of| of.number);
        OfCalls {
            operation: class.operation,
            n_processes: class.ranks.len(),
            bytes: class.bytes,
            classes: numbers.collect(),
            n_instances: of.iter().map(|of| of.class.n_instances).sum(),
            took_ns,
            found: self.found(of),
        }
    }

    fn found(&self, of: &[&Prediction<'r>]) -> Result<Tried, String> {
        if let Some(why) = of.iter().find_map(|of| of.not_predicted()) {
            return Err(why);
        }
        let classes = of
            .iter()
            .map(|of| OfClass::new(self.model, of, self.groups, self.options.seed));
        let objective = Objective::new(classes.collect::<Result<_, _>>()?);
        let errors = of.iter().filter_map(|of| of.identity.as_ref().ok());
        let error = errors
            .map(|of: &Identity| (of.ratio - 1.0).abs())
            .fold(0.0, f64::max);
        let ran = objective.times_ns(&Trial::Ran, Instances::Testing);
        let ran = ran.ok_or("too few messages waited for no other one")?;
        let mut tried = Tried {
            n: 0,
            n_unknown: 0,
            is_cut_off: false,
            persistence: objective.classes[0].persistence,
            late_ns: objective.classes[0].late_ns.clone(),
            error,
            algorithm: None,
            tree: None,
            other_bits: Vec::new(),
        };
        let algorithms = tried.evaluated(&objective, objective.algorithms());
        tried.algorithm = self.best(&objective, algorithms, (&ran, error), &mut tried.other_bits);
        if call(objective.classes[0].class).is_some() {
            let trees = self.trees(&objective, &mut tried);
            tried.tree = self.best(&objective, trees, (&ran, error), &mut tried.other_bits);
        }
        Ok(tried)
    }

    /// Trees: to begin with, and what follows from the best one step by step.
    fn trees(&self, objective: &Objective<'r, '_>, tried: &mut Tried) -> Vec<(Trial, f64)> {
        let mut forms = starts::shapes(objective);
        forms.extend(self.of_files(objective));
        let mut known: Vec<u32> = Vec::new();
        let mut is_new = |form: &Form| {
            let tree = objective.classes[0].tree(form);
            let crc32 = tree.map(|tree| checksum(&tree));
            let is_new = crc32.is_some_and(|crc32| !known.contains(&crc32));
            known.extend(crc32);
            is_new
        };
        forms.retain(&mut is_new);
        let made = starts::earliest(objective)
            .into_iter()
            .map(|tree| tree.form());
        forms.extend(made.filter(&mut is_new));
        let mut trees = tried.evaluated(objective, forms.into_iter().map(Trial::Tree).collect());
        let places = &objective.classes[0].places;
        let is_one_root = {
            let root = objective.classes[0].class.root;
            objective.classes.iter().all(|of| of.class.root == root)
        };
        let has_root = starts::has_root(objective);
        if tree::n_hosts(places) < 3 || (has_root && !is_one_root) {
            return trees;
        }
        let limits = Limits {
            evaluations: self.options.evaluations,
            deadline: self.deadline,
            results: self.options.results,
        };
        trees.sort_by(|a, b| a.1.total_cmp(&b.1));
        let allowed = trees.iter();
        let mut allowed = allowed.filter(|(of, _)| objective.is_allowed(of, limits.results));
        let begin = allowed.find_map(|(trial, cost_ns)| {
            let Trial::Tree(form) = trial else {
                return None;
            };
            let tree = objective.classes[0].tree(form)?;
            Some((HostTree::of(&tree, places)?, *cost_ns))
        });
        let Some((begin, cost_ns)) = begin else {
            return trees;
        };
        let freedom = Freedom {
            is_root_free: !has_root,
        };
        let walks = (0..WALKS).into_par_iter().map(|walk| {
            let class = objective.classes[0].number as u64;
            let random = &mut Random::of(&[self.options.seed, class, 5, walk]);
            anneal(objective, (&begin, cost_ns), freedom, limits, random)
        });
        let walks: Vec<_> = walks.collect();
        for walk in &walks {
            tried.n += walk.n_evaluated;
            tried.n_unknown += walk.n_unknown;
        }
        tried.is_cut_off = walks.iter().any(|of| of.is_cut_off);
        let found = walks.iter().map(|of| of.best.form());
        let found = found.filter(&mut is_new).map(Trial::Tree);
        let found = found.filter_map(|trial| {
            let cost_ns = objective.cost_ns(&trial, Instances::Choosing(FEW))?;
            Some((trial, cost_ns))
        });
        trees.extend(found);
        trees
    }

    /// The trees of the files that calls would run on.
    fn of_files(&self, objective: &Objective<'r, '_>) -> Vec<Form> {
        let of = &objective.classes[0];
        let Some(call) = call(of.class) else {
            return Vec::new();
        };
        let files = self.tree_files.iter();
        let rules = files.flat_map(|file| &file.file.rules.rules);
        let rules = rules.filter(|rule| {
            let is_for = rule.calls.include(call.collective, call.bytes);
            is_for && rule.calls.are_on(&of.places) && of.tree(&rule.form).is_some()
        });
        rules.map(|rule| rule.form.clone()).collect()
    }

    /// The best of some trials whose results may be taken; what is better, and proposed but for that, is added to `other_bits`.
    fn best(
        &self,
        objective: &Objective<'r, '_>,
        trials: Vec<(Trial, f64)>,
        (ran, error): (&[Vec<f64>], f64),
        other_bits: &mut Vec<Chosen>,
    ) -> Option<Chosen> {
        let is_allowed = |of: &Trial| objective.is_allowed(of, self.options.results);
        let (allowed, others): (Vec<_>, Vec<_>) =
            (trials.into_iter()).partition(|(of, _)| is_allowed(of));
        let chosen = |trials| {
            let trial = finalist(objective, trials)?;
            self.chosen(objective, trial, ran, error)
        };
        let best = chosen(allowed);
        let gain = best.as_ref().map_or(0.0, |of| of.gain.mean.max(0.0));
        let other = chosen(others).filter(|of| of.why_not.is_none() && of.gain.mean > gain);
        other_bits.extend(other);
        best
    }

    /// What a trial gains; `None` for what does the same as what ran.
    fn chosen(
        &self,
        objective: &Objective<'r, '_>,
        trial: Trial,
        ran: &[Vec<f64>],
        error: f64,
    ) -> Option<Chosen> {
        let times = objective.times_ns(&trial, Instances::Testing)?;
        let classes = objective.classes.iter().zip(ran.iter().zip(&times));
        let classes: Vec<(f64, &[f64], &[f64])> = classes
            .map(|(of, (ran, times))| (of.class.n_instances as f64, &ran[..], &times[..]))
            .collect();
        let gain = Gain::of(&classes);
        let is_what_ran = ran == times;
        if is_what_ran {
            return None;
        }
        let modelled = objective.classes.iter().map(|of| of.modelled(&trial));
        let modelled: Vec<Modelled<'_>> = modelled.collect::<Option<_>>()?;
        let predicted = objective
            .classes
            .iter()
            .zip(&modelled)
            .map(|(of, modelled)| {
                let class = self.model.class(of.number);
                let band = class.band(modelled, self.options.draws_of_class)?;
                Some(band.widened(of.error))
            });
        let predicted = predicted.collect::<Option<_>>()?;
        let bits = objective.bits(&trial);
        let what = match trial {
            Trial::Ran => return None,
            Trial::Algorithm { function, number } => What::Algorithm { function, number },
            Trial::Tree(form) => {
                let wrappers = objective.classes[0].tree(&form)?;
                What::Tree(FoundTree {
                    crc32: checksum(&wrappers),
                    wrappers,
                    form,
                })
            }
        };
        Some(Chosen {
            predicted,
            why_not: gain.why_not(error),
            bits,
            what,
            gain,
            candidates: modelled.into_iter().map(|of| of.candidate).collect(),
        })
    }
}

/// How long the whole run takes with what is proposed.
fn whole_run(
    model: &Model<'_>,
    predictions: &[Prediction<'_>],
    calls: &[OfCalls],
    draws: u64,
) -> Option<RunPrediction> {
    let whole = WholeRun {
        model,
        predictions,
        draws,
    };
    type Pick = fn(&OfCalls) -> Option<&Chosen>;
    let with = |pick: Pick| -> Chooser<'_> {
        Box::new(move |of| {
            let (calls, at) = calls.iter().find_map(|calls| {
                let mut classes = calls.classes.iter();
                Some((calls, classes.position(|number| *number == of.number)?))
            })?;
            let chosen = pick(calls)?;
            chosen.candidates.get(at).cloned()
        })
    };
    let changes = [
        (WITH_ALGORITHMS.to_owned(), with(OfCalls::algorithm)),
        (WITH_TREES.to_owned(), with(OfCalls::tree)),
    ];
    whole.with(changes.into_iter())
}

impl<'r> Found<'r> {
    /// What is known of each class of some calls.
    pub fn of_classes<'f>(
        &'f self,
        calls: &'f OfCalls,
    ) -> impl Iterator<Item = &'f Prediction<'r>> {
        let find = |number: &usize| self.predictions.iter().find(|of| of.number == *number);
        calls.classes.iter().filter_map(find)
    }

    /// Proposes less: what is refused for calls of an operation with so many processes and bytes, with the reason, is left out,
    /// and the whole run is predicted anew.
    ///
    /// # Errors
    /// [`PredictError`] as for the search with the same `given`.
    pub fn refuse(
        &mut self,
        given: &Given,
        refused: impl Fn((Operation, usize, u64), &What) -> Option<String>,
    ) -> Result<(), PredictError> {
        let mut has_refused = false;
        for of in &mut self.calls {
            let calls = (of.operation, of.n_processes, of.bytes);
            let chosen = of.found.iter_mut();
            let chosen = chosen.flat_map(|tried| [&mut tried.algorithm, &mut tried.tree]);
            for chosen in chosen.flatten().filter(|of| of.why_not.is_none()) {
                chosen.why_not = refused(calls, &chosen.what);
                has_refused |= chosen.why_not.is_some();
            }
        }
        if has_refused {
            let model = Model::of(self.recorded, given.links.as_ref(), &given.over_trees)?;
            self.run = whole_run(&model, &self.predictions, &self.calls, replay::DRAWS);
        }
        Ok(())
    }
}

/// The best of some trials by more instances: the cheapest one, and what is simpler where that is hardly more expensive.
fn finalist(objective: &Objective<'_, '_>, mut trials: Vec<(Trial, f64)>) -> Option<Trial> {
    trials.sort_by(|a, b| a.1.total_cmp(&b.1));
    let is_shape = |of: &Trial| !matches!(of, Trial::Tree(Form::Nodes(_)));
    let first_shape = trials.iter().position(|(of, _)| is_shape(of));
    let finalists = trials.into_iter().enumerate();
    let finalists = finalists.filter(|(nth, _)| *nth < FINALISTS || first_shape == Some(*nth));
    let finalists: Vec<(Trial, f64)> = finalists
        .filter_map(|(_, (trial, _))| {
            let cost_ns = objective.cost_ns(&trial, Instances::Choosing(MANY))?;
            Some((trial, cost_ns))
        })
        .collect();
    let cheapest = |is_wanted: &dyn Fn(&Trial) -> bool| {
        let wanted = finalists.iter().filter(|(of, _)| is_wanted(of));
        wanted.min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let best = cheapest(&|_| true)?;
    let simple = cheapest(&is_shape).filter(|of| of.1 <= best.1 * (1.0 + LEAST_OF_STEPS));
    Some(simple.unwrap_or(best).0.clone())
}
