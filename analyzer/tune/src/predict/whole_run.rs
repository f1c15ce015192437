//! How long the whole run takes with other algorithms and trees (closed loop).

use super::candidates::{self, Candidate, Method};
use super::known::Modelled;
use super::own_trees::NamedTreeFile;
use super::recorded::Class;
use super::replay::{Ratios, Replay};
use super::{Band, Model, Prediction};

/// What is faster by less is not distinguished from what ran.
const LEAST_GAIN: f64 = 0.03;

/// How long the whole run takes with other algorithms, while processes compute between collectives as long as they did.
#[derive(Debug, Clone)]
pub struct RunPrediction {
    /// How many collectives are carried out.
    pub n_calls: usize,
    /// Whether these are the begin of the run only.
    pub is_begin_only: bool,
    /// From their first enter to their last leave, ns.
    pub took_ns: f64,
    /// As it ran: the median of predicted by recorded times.
    pub identity: f64,
    /// What is changed, and the times with it by those of the run as it ran; empty if the identity does not hold.
    pub changes: Vec<(String, Ratios)>,
}

/// Says what the calls of a class run; `None`: what they ran.
pub(super) type Chooser<'c> = Box<dyn Fn(&Prediction<'_>) -> Option<Candidate> + 'c>;

/// A run of which is known what runs.
pub(super) struct WholeRun<'r> {
    pub(super) model: &'r Model<'r>,
    pub(super) predictions: &'r [Prediction<'r>],
    /// How often deviations are drawn, at most.
    pub(super) draws: u64,
}

impl WholeRun<'_> {
    /// With the fastest algorithm for each class for which one is clearly faster, and with each tree file.
    pub(super) fn predict(&self, tree_files: &[NamedTreeFile]) -> Option<RunPrediction> {
        let fastest = "the fastest algorithm for each class of calls".to_owned();
        let fastest: (String, Chooser<'_>) = (fastest, Box::new(|of| self.fastest(of)));
        let files = tree_files.iter().map(|file| {
            let choose: Chooser<'_> = Box::new(move |of| self.tree(file, of));
            (file.name.clone(), choose)
        });
        let changes = std::iter::once(fastest).chain(files);
        self.with(changes)
    }

    /// With changes, each by name; classes for which one says nothing run what they ran.
    pub(super) fn with<'c>(
        &self,
        changes: impl Iterator<Item = (String, Chooser<'c>)>,
    ) -> Option<RunPrediction> {
        let ran = self.runs(&|of| candidates::that_ran(self.model.library, of.class));
        if ran.iter().all(Option::is_none) {
            return None;
        }
        let replay = Replay::new(self.model.recorded, self.draws)?;
        let ran_ns = replay.takes_ns(&ran);
        let mut run = RunPrediction {
            n_calls: replay.n_calls(),
            is_begin_only: self.model.recorded.has_more_calls,
            took_ns: replay.took_ns,
            identity: Band::of(ran_ns.clone())?.median_ns / replay.took_ns,
            changes: Vec::new(),
        };
        if run.not_predicted().is_some() {
            return Some(run);
        }
        let error = self
            .error_of_classes(run.took_ns)
            .max((run.identity - 1.0).abs());
        for (what, choose) in changes {
            let mut changed = self.runs(&choose);
            if changed.iter().all(Option::is_none) {
                continue;
            }
            let error = error + self.width_of_classes(&changed)? / run.took_ns;
            for (changed, ran) in changed.iter_mut().zip(&ran) {
                if changed.is_none() {
                    changed.clone_from(ran);
                }
            }
            let ratios = replay.compared(&ran_ns, &changed, error)?;
            run.changes.push((what, ratios));
        }
        Some(run)
    }

    /// The part of the time of the run by which its classes may be predicted wrongly.
    fn error_of_classes(&self, took_ns: f64) -> f64 {
        let errors = self.predictions.iter().filter_map(|of| {
            let identity = of.identity.as_ref().ok()?;
            Some(identity.error * of.all_ns())
        });
        errors.sum::<f64>() / took_ns
    }

    /// How far the times of all instances of what is changed are from the middle of their bands, ns, if it is the same end of the
    /// band for all of them.
    fn width_of_classes(&self, changed: &[Option<Modelled<'_>>]) -> Option<f64> {
        let widths = self.predictions.iter().filter_map(|of| {
            let modelled = changed[of.number].as_ref()?;
            let band = self.model.class(of.number).band(modelled, self.draws);
            let n = of.class.n_instances as f64;
            Some(band.map(|band| n * (band.p95_ns - band.p05_ns) / 2.0))
        });
        widths.sum()
    }

    /// What classes run, as far as it is predicted, and `candidate` says it.
    fn runs(
        &self,
        candidate: &dyn Fn(&Prediction<'_>) -> Option<Candidate>,
    ) -> Vec<Option<Modelled<'_>>> {
        let of_class = |(number, class): (usize, &Class)| {
            let mut predictions = self.predictions.iter();
            let prediction = predictions.find(|of| of.number == number)?;
            let is_predicted = prediction.not_predicted().is_none();
            let candidate = is_predicted.then(|| candidate(prediction))??;
            let known = self
                .model
                .measured
                .between(self.model.recorded, class)
                .ok()?;
            known.modelled(class, candidate).ok()
        };
        let classes = self.model.recorded.classes.iter().enumerate();
        classes.map(of_class).collect()
    }

    /// The tree of a file that the calls of a class would run on, if it is predicted.
    fn tree(&self, file: &NamedTreeFile, prediction: &Prediction<'_>) -> Option<Candidate> {
        let tree = file.tree_of(self.model.recorded, prediction.class)?.ok()?;
        let is_it = |method: &Method| match method {
            Method::Tree { crc32, .. } => *crc32 == tree.crc32,
            Method::Algorithm(_) => false,
        };
        let mut methods = prediction.candidates.iter().map(|of| &of.method);
        methods.any(is_it).then(|| Candidate::over(tree))
    }

    /// The fastest algorithm of a class, if it is clearly faster than what ran.
    fn fastest(&self, prediction: &Prediction<'_>) -> Option<Candidate> {
        let mut algorithms = prediction.candidates.iter();
        let fastest = algorithms.find(|of| matches!(of.method, Method::Algorithm(_)))?;
        if fastest.gain(prediction.measured) < LEAST_GAIN {
            return None;
        }
        let all = candidates::candidates(self.model.library, prediction.class).into_iter();
        let is_it = |of: &Candidate| {
            of.method == fastest.method && of.segment_bytes == fastest.segment_bytes
        };
        all.into_iter().find(is_it)
    }
}
