//! What other algorithms would have taken, from the recorded run.
//!
//! The instances of a run give the times at which processes enter, its messages the parameters of links. Each
//! algorithm is a [schedule](collbench_schedules), evaluated for these enters (open loop), with deviations of
//! latencies as the messages of the run had them. What ran is predicted first, with parameters from one half
//! of the run against the times of the other half: where that fails, nothing else is predicted.
//!
//! # Source
//! Hoefler, Schneider, Lumsdaine 2010 (LogGOPSim); for the identity as the first test see `docs/predict.md`.

mod as_recorded;
mod benchmarked;
mod candidates;
mod document;
mod draws;
mod eager;
mod faster;
mod figure;
mod known;
mod library;
mod links;
mod memory;
mod own_trees;
mod parameters;
mod picture;
mod recorded;
mod replay;
mod score;
mod screen;
mod search;
mod whole_run;

use std::collections::BTreeMap;

use collbench_stats::rank_correlation::rank_correlation;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use benchmarked::{Benchmarked, BenchmarkedError};
pub use candidates::{Candidate, MessagesOf, Method};
pub use document::MadeFrom;
pub use faster::faster;
pub use figure::Figure;
pub use links::{LinksError, MeasuredClass, MeasuredLinks, OtherHosts};
pub use memory::Memory;
pub use own_trees::{LeftOut, NamedTreeFile};
pub use parameters::{Deviations, LinkClass, LinkTooFew, Parameters, UnknownHost};
pub use recorded::{Class, CollectiveCall, Instance, OwnTree, Pass, Recorded, Sample};
pub use replay::Ratios;
pub use score::{ClassScore, Compared, Score, ScoreError, Written, score};
pub use search::{
    Bits, Chosen, Found, FoundTree, Gain, OfCalls, Results, Search, Tried, What, search,
};
pub(crate) use search::{WITH_ALGORITHMS, WITH_TREES};
pub use whole_run::RunPrediction;

use known::{Known, Measured, Modelled, Unknown};
use library::KnownLibrary;
use whole_run::WholeRun;

/// How often deviations are drawn.
const DRAWS: u64 = 200;
/// Instances that are evaluated with each draw, at least and at most: as many as have so many messages.
const INSTANCES_OF_DRAW: (usize, usize) = (4, 16);
const MESSAGES_OF_DRAW: usize = 20_000;
/// How often deviations are drawn for an instance that is compared with its time.
const DRAWS_OF_INSTANCE: u64 = 15;
/// Instances that identity needs, at least.
const LEAST_INSTANCES: usize = 20;

/// What did not run is not predicted more exactly than that, however well what ran is.
const MOST_EXACT: f64 = 0.03;
/// Tenths of the run in which what ran is compared.
const TENTHS_COMPARED: usize = 5;

/// Where the median of predicted by measured times must be for what ran, and where most of them must be.
const IDENTITY: [f64; 2] = [0.95, 1.05];
const MOST_WITHIN: [f64; 2] = [0.8, 1.25];
const MOST: f64 = 0.9;

/// 5th percentile, median and 95th percentile, ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Band {
    /// The 5th percentile.
    #[serde(rename = "p05")]
    pub p05_ns: f64,
    /// The median.
    #[serde(rename = "median")]
    pub median_ns: f64,
    /// The 95th percentile.
    #[serde(rename = "p95")]
    pub p95_ns: f64,
}

/// How well what ran was predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Identity {
    /// The median of predicted by measured times.
    pub ratio: f64,
    /// By which part of its time something else may be predicted wrongly: as much as what ran is in the worst tenth of the run,
    /// and 3 % at least.
    pub error: f64,
    /// The part of the instances for which that is from 0.8 to 1.25.
    pub within: f64,
    /// Spearman's rank correlation of the predicted and the measured times of instances; `None` if all are equal.
    pub rank_correlation: Option<f64>,
    /// The part of the measured times that are from 0.8 to 1.25 of their median: hardly more can be predicted where it does
    /// not matter who is late.
    pub alike: f64,
    /// How many instances were compared.
    pub n: usize,
}

/// An algorithm, or a tree, and how long it takes.
#[derive(Debug, Clone)]
pub struct PredictedCandidate {
    /// Which one.
    pub method: Method,
    /// Its number for the library.
    pub number: Option<i64>,
    /// Length of a segment, bytes; 0: none.
    pub segment_bytes: u64,
    /// Its messages.
    pub messages: MessagesOf,
    /// How long the median instance takes; the band says how that depends on deviations.
    pub predicted: Band,
}

/// What is predicted of the instances of a class.
#[derive(Debug, Clone)]
pub struct Prediction<'r> {
    /// Of what.
    pub class: &'r Class,
    /// The index of that in [`Recorded::classes`].
    pub number: usize,
    /// How long they took.
    pub measured: Band,
    /// How well that is predicted; an error says why not at all.
    pub identity: Result<Identity, String>,
    /// All that could have run, the fastest first; none where identity failed.
    pub candidates: Vec<PredictedCandidate>,
    /// Algorithms that are left out, since they have messages between hosts, or of lengths, of which too little is known.
    pub n_left_out: usize,
    /// Trees that are left out.
    pub trees_left_out: Vec<LeftOut>,
}

/// All predictions of a run.
#[derive(Debug, Clone)]
pub struct Predictions<'r> {
    /// The library.
    pub library: String,
    /// The links between its processes.
    pub links: Vec<LinkClass>,
    /// Links of which too few messages say how long they take.
    pub links_too_few: Vec<LinkTooFew>,
    /// By class.
    pub predictions: Vec<Prediction<'r>>,
    /// How long the whole run takes; `None` if nothing else is predicted.
    pub run: Option<RunPrediction>,
    /// The tree files.
    pub tree_files: Vec<NamedTreeFile>,
    /// What these have that no call of the run would run on.
    pub trees_left_out: Vec<LeftOut>,
}

/// Why nothing is predicted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PredictError {
    /// The algorithms of the library are not known.
    #[error(
        "the trace is of \"{0}\"; expected Open MPI 4.1 or 5.0, or MPICH 4.0 or 5.0, whose algorithms are known"
    )]
    Library(String),
    /// There is no call of a kind that is predicted.
    #[error(
        "the trace has no complete collective that is predicted, so there is nothing to tune: nonblocking collectives, and \
         payloads that differ between processes, are not predicted"
    )]
    NothingPredicted,
    /// There are no messages.
    #[error(
        "the trace has no messages inside collectives; record with --layers +messages,+algorithms"
    )]
    NoMessages,
    /// There are no messages but those of trees, which are not recorded.
    #[error(
        "all collectives of the trace ran over trees of our own, whose messages are not recorded; record without --trees, \
         or with trees for some operations only, or give a file of collbench-bench logp --links as --links"
    )]
    OnlyTrees,
    /// The links file is of other hosts.
    #[error(transparent)]
    Links(#[from] OtherHosts),
}

impl Prediction<'_> {
    /// How long its instances took together, if each took as long as the median one, ns.
    fn all_ns(&self) -> f64 {
        self.class.n_instances as f64 * self.measured.median_ns
    }
}

impl Identity {
    /// Whether what ran is predicted well enough to predict something else.
    #[must_use]
    pub fn holds(&self) -> bool {
        (IDENTITY[0]..=IDENTITY[1]).contains(&self.ratio) && self.within >= MOST
    }
}

/// Which part of some ratios is from 0.8 to 1.25.
fn part_within(ratios: &[f64]) -> f64 {
    let [least, most] = MOST_WITHIN;
    let within = ratios
        .iter()
        .filter(|ratio| (least..=most).contains(*ratio));
    within.count() as f64 / ratios.len().max(1) as f64
}

impl Band {
    /// Of some times, which are sorted; `None` of none.
    fn of(mut times: Vec<f64>) -> Option<Self> {
        times.sort_by(f64::total_cmp);
        let at = |part: f64| times[((times.len() - 1) as f64 * part).round() as usize];
        (!times.is_empty()).then(|| Self {
            p05_ns: at(0.05),
            median_ns: at(0.5),
            p95_ns: at(0.95),
        })
    }

    /// The band with the error of the model, a part of the time, in both directions.
    fn widened(self, error: f64) -> Self {
        let factor = 1.0 + error;
        Self {
            p05_ns: self.p05_ns / factor,
            p95_ns: self.p95_ns * factor,
            ..self
        }
    }
}

/// What a run is predicted from, besides its trace.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Parameters of links, which count where they are known.
    pub links: Option<MeasuredLinks>,
    /// Trees that are predicted, too.
    pub tree_files: Vec<NamedTreeFile>,
    /// Runs over trees, whose event collectors show what it costs that ranks of a host meet in its memory.
    pub over_trees: Vec<Recorded>,
}

/// What a run says of its library and its network.
#[derive(Debug)]
struct Model<'r> {
    recorded: &'r Recorded,
    library: KnownLibrary,
    /// From every other tenth of the run.
    of_odd: Measured,
    /// From the whole run.
    measured: Measured,
}

impl<'r> Model<'r> {
    /// Of a run.
    ///
    /// # Errors
    /// [`PredictError`] if nothing can be predicted from it.
    fn of(
        recorded: &'r Recorded,
        links: Option<&MeasuredLinks>,
        over_trees: &[Recorded],
    ) -> Result<Self, PredictError> {
        let Some(library) = KnownLibrary::find(&recorded.library) else {
            return Err(PredictError::Library(recorded.library.clone()));
        };
        if recorded.classes.is_empty() {
            return Err(PredictError::NothingPredicted);
        }
        let mut instances = recorded.classes.iter().flat_map(|class| &class.instances);
        if links.is_none() && instances.all(|instance| instance.messages.is_empty()) {
            let is_over_trees = recorded.classes.iter().any(|class| class.tree.is_some());
            return Err(if is_over_trees {
                PredictError::OnlyTrees
            } else {
                PredictError::NoMessages
            });
        }
        if let Some(links) = links {
            links.check(&recorded.hosts)?;
        }
        let classes = recorded.classes.iter();
        let odd: Vec<Class> = classes.map(|class| class.tenths(1)).collect();
        let measured = |classes: &[Class]| Measured {
            parameters: Parameters::of(recorded, classes.iter(), links),
            memory: Memory::of(
                (classes.iter()).chain(over_trees.iter().flat_map(|run| &run.classes)),
            ),
        };
        Ok(Self {
            recorded,
            library,
            of_odd: measured(&odd),
            measured: measured(&recorded.classes),
        })
    }

    /// A class of calls, by its index.
    fn class(&self, number: usize) -> OfClass<'r, '_> {
        OfClass {
            model: self,
            class: &self.recorded.classes[number],
            number: number as u64,
        }
    }
}

/// Predicts what the algorithms of the library, and trees, would have taken for each class of calls of a run.
///
/// # Errors
/// [`PredictError`] if that is not possible at all.
pub fn predict(recorded: &Recorded, given: Given) -> Result<Predictions<'_>, PredictError> {
    let Given {
        links,
        tree_files,
        over_trees,
    } = given;
    let model = Model::of(recorded, links.as_ref(), &over_trees)?;
    let numbers = (0..recorded.classes.len()).into_par_iter();
    let predictions = numbers.map(|number| model.class(number).predict(&tree_files));
    let predictions: Vec<Prediction<'_>> = predictions.flatten().collect();
    let run = WholeRun {
        model: &model,
        predictions: &predictions,
        draws: replay::DRAWS,
    }
    .predict(&tree_files);
    let measured = model.measured;
    Ok(Predictions {
        library: recorded.library.clone(),
        run,
        predictions,
        links_too_few: measured.parameters.too_few,
        links: measured.parameters.classes,
        trees_left_out: (tree_files.iter())
            .flat_map(|file| file.unused(recorded))
            .collect(),
        tree_files,
    })
}

/// A class of calls that is predicted.
struct OfClass<'r, 'm> {
    model: &'m Model<'r>,
    class: &'r Class,
    number: u64,
}

impl<'r, 'm> OfClass<'r, 'm> {
    /// The network between its processes.
    fn known(&self) -> Result<Known<'m>, UnknownHost> {
        (self.model.measured).between(self.model.recorded, self.class)
    }

    /// `None` where there is nothing to predict.
    fn predict(&self, tree_files: &[NamedTreeFile]) -> Option<Prediction<'r>> {
        let times = self.class.instances.iter().map(|instance| instance.took_ns);
        let mut prediction = Prediction {
            class: self.class,
            number: self.number as usize,
            measured: Band::of(times.collect())?,
            identity: self.identity(),
            candidates: Vec::new(),
            n_left_out: 0,
            trees_left_out: Vec::new(),
        };
        let is_predictable = prediction.identity.as_ref().is_ok_and(Identity::holds);
        if let (true, Ok(known)) = (is_predictable, self.known()) {
            let candidates = candidates::candidates(self.model.library, self.class);
            let n_all = candidates.len();
            let mut candidates: Vec<Modelled<'_>> = (candidates.into_iter())
                .filter_map(|candidate| known.modelled(self.class, candidate).ok())
                .collect();
            prediction.n_left_out = n_all - candidates.len();
            let (trees, left_out) = self.trees(&known, tree_files);
            prediction.trees_left_out = left_out;
            candidates.extend(trees);
            let error = prediction.identity.as_ref().map_or(0.0, |of| of.error);
            let predicted = candidates.into_par_iter().filter_map(|modelled| {
                let predicted = self.band(&modelled, DRAWS)?.widened(error);
                let candidate = modelled.candidate;
                Some(PredictedCandidate {
                    messages: candidate.messages(),
                    method: candidate.method,
                    number: candidate.number,
                    segment_bytes: candidate.segment_bytes,
                    predicted,
                })
            });
            prediction.candidates = predicted.collect();
            prediction
                .candidates
                .sort_by(|a, b| a.predicted.median_ns.total_cmp(&b.predicted.median_ns));
        }
        Some(prediction)
    }

    /// The trees that the calls would run on, and those of which too little is known.
    fn trees(
        &self,
        known: &Known<'m>,
        tree_files: &[NamedTreeFile],
    ) -> (Vec<Modelled<'m>>, Vec<LeftOut>) {
        let (mut trees, mut left_out) = (Vec::new(), Vec::new());
        let files = tree_files.iter();
        for found in files.filter_map(|file| file.tree_of(self.model.recorded, self.class)) {
            let modelled = found.and_then(|found| {
                let tree = found.place.clone();
                let modelled = known.modelled(self.class, Candidate::over(found));
                modelled.map_err(|why| LeftOut {
                    tree,
                    why: why.to_string(),
                })
            });
            match modelled {
                Ok(modelled) => trees.push(modelled),
                Err(why) => left_out.push(why),
            }
        }
        (trees, left_out)
    }

    /// Predicts what ran in every other tenth of the run, with the parameters of the others.
    fn identity(&self) -> Result<Identity, String> {
        let even = self.class.tenths(0);
        if self.class.has_too_few() {
            let n = even.instances.len();
            return Err(format!(
                "too few instances: {n} in every other tenth of the run, expected {LEAST_INSTANCES}"
            ));
        }
        let Some(ran) = candidates::that_ran(self.model.library, self.class) else {
            if let Some(tree) = &self.class.tree {
                return Err(match own_trees::schedule_over(&tree.wrappers, self.class) {
                    Err(why) => format!("{}: {why}", tree.name),
                    Ok(_) => format!("{}: it has no schedule", tree.name),
                });
            }
            return Err("no messages of its calls were recorded".to_owned());
        };
        let known = (self.model.of_odd).between(self.model.recorded, self.class);
        let known = known.map_err(|error| error.to_string())?;
        let modelled = known.modelled(self.class, ran).map_err(|why| match why {
            Unknown::Messages => {
                "too few messages waited for no other one: fewer than 30 between some hosts; record more calls".to_owned()
            }
            Unknown::Memory(_) => why.to_string(),
        })?;
        let evaluator = modelled.evaluator();
        let mut evaluator = evaluator.ok_or("a message of it has one end only")?;
        let figure = Figure::of(self.class.operation, self.class.root);
        let predicted_ns = even.instances.iter().map(|instance| {
            let each = (0..DRAWS_OF_INSTANCE).map(|draw| {
                let numbers = [self.number, 0, instance.position, draw];
                let mut draws = evaluator.draws(&numbers, None);
                evaluator.takes_ns(instance, figure, &mut draws)
            });
            Band::of(each.collect()).map_or(0.0, |predicted| predicted.median_ns)
        });
        let predicted_ns: Vec<f64> = predicted_ns.collect();
        let measured_ns: Vec<f64> = even.instances.iter().map(|of| of.took_ns).collect();
        let both = predicted_ns.iter().zip(&measured_ns);
        let ratios: Vec<f64> = both
            .map(|(predicted, measured)| predicted / measured.max(1.0))
            .collect();
        let n = ratios.len();
        let tenths = ratios.chunks(n.div_ceil(TENTHS_COMPARED).max(1));
        let error = tenths
            .filter_map(|of| Band::of(of.to_vec()))
            .map(|of| of.median_ns.max(1.0 / of.median_ns) - 1.0)
            .fold(MOST_EXACT, f64::max);
        let within = part_within(&ratios);
        let band = Band::of(ratios).ok_or("nothing was compared")?;
        let median_ns = Band::of(measured_ns.clone()).map_or(1.0, |of| of.median_ns.max(1.0));
        let of_median: Vec<f64> = measured_ns.iter().map(|ns| ns / median_ns).collect();
        Ok(Identity {
            ratio: band.median_ns,
            error,
            within,
            alike: part_within(&of_median),
            rank_correlation: rank_correlation(&predicted_ns, &measured_ns),
            n,
        })
    }

    /// How long the median instance takes, for each draw of deviations.
    fn band(&self, modelled: &Modelled<'_>, draws: u64) -> Option<Band> {
        let instances = &self.class.instances;
        let figure = Figure::of(self.class.operation, self.class.root);
        let n_messages = modelled.candidate.schedule.n_messages().max(1);
        let (least, most) = INSTANCES_OF_DRAW;
        let n_evaluated = (MESSAGES_OF_DRAW / n_messages).clamp(least, most);
        let step = instances.len().div_ceil(n_evaluated);
        let mut evaluator = modelled.evaluator()?;
        let medians = (0..draws).map(|draw| {
            let mut draws = evaluator.draws(&[self.number, 1, draw], Some(draw));
            let first = draw as usize % step;
            let some = instances[first..].iter().step_by(step);
            let times = some.map(|of| evaluator.takes_ns(of, figure, &mut draws));
            Some(Band::of(times.collect())?.median_ns)
        });
        Band::of(medians.collect::<Option<Vec<f64>>>()?)
    }
}

impl Class {
    /// Whether it has too few instances to be predicted: in every other tenth of the run.
    fn has_too_few(&self) -> bool {
        self.in_tenths(0).count() < LEAST_INSTANCES
    }

    /// Instances with as many messages as most of those that have any: in its first call on a communicator a library may make
    /// others for itself.
    fn usual_instances(&self) -> impl Iterator<Item = &Instance> {
        let mut times: BTreeMap<usize, usize> = BTreeMap::new();
        let n_messages = self.instances.iter().map(|of| of.messages.len());
        for n in n_messages.filter(|&n| n > 0) {
            *times.entry(n).or_default() += 1;
        }
        let usual = times.into_iter().max_by_key(|&(_, times)| times);
        let is_usual = move |of: &&Instance| usual.is_some_and(|(n, _)| of.messages.len() == n);
        self.instances.iter().filter(is_usual)
    }

    fn in_tenths(&self, remainder: u64) -> impl Iterator<Item = &Instance> {
        let last = self.instances.last();
        let last = last.map_or(0, |instance| instance.position);
        let is_in = move |of: &&Instance| of.position * 10 / (last + 1) % 2 == remainder;
        self.instances.iter().filter(is_in)
    }

    /// With the instances of every other tenth of the run only: those of the first one for 0, of the second one for 1.
    fn tenths(&self, remainder: u64) -> Self {
        Self {
            instances: self.in_tenths(remainder).cloned().collect(),
            ..self.clone()
        }
    }
}
