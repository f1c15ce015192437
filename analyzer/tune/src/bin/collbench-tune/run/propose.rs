//! What to try: what was searched, and tree files that were given.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use collbench_tune::predict::{
    Found, Given, Method, NamedTreeFile, PredictError, Prediction, Predictions, Recorded, Search,
    predict, search,
};
use collbench_tune::run::Considered;
use collbench_tune::{Change, Means, Proposal};

/// A proposal, and the file of trees that the user has given.
pub(super) struct Proposed {
    pub(super) proposal: Proposal,
    pub(super) own_file: Option<PathBuf>,
}

/// What to try, and why other things are not tried.
#[derive(Default)]
pub(super) struct Proposals {
    pub(super) all: Vec<Proposed>,
    pub(super) considered: Considered,
    /// Why there was no search, or a file that was given is not tried.
    pub(super) not_tried: Vec<String>,
}

/// What is faster by a search of so long.
pub(super) fn find<'r>(
    recorded: &'r Recorded,
    given: &Given,
    time: Duration,
) -> Result<Found<'r>, PredictError> {
    let settings = Search {
        time: Some(time),
        ..Search::default()
    };
    search(recorded, given, settings)
}

/// What was found, and each tree file that was given.
pub(super) fn propose(
    recorded: &Recorded,
    found: Result<&Found<'_>, &PredictError>,
    given: &Given,
    tree_paths: &[PathBuf],
) -> Proposals {
    let mut proposals = Proposals::default();
    match found {
        Ok(found) => {
            let found_all = found.proposals().into_iter();
            proposals.all.extend(found_all.map(|proposal| Proposed {
                proposal,
                own_file: None,
            }));
            proposals.considered = found.considered();
        }
        Err(why) => proposals
            .not_tried
            .push(format!("nothing is predicted: {why}")),
    }
    if tree_paths.is_empty() {
        return proposals;
    }
    let predictions = predict(recorded, given.clone()).ok();
    for (file, path) in given.tree_files.iter().zip(tree_paths) {
        match trees(predictions.as_ref(), file, path) {
            Ok(proposal) => proposals.all.push(Proposed {
                proposal,
                own_file: Some(path.clone()),
            }),
            Err(why) => proposals.not_tried.push(why),
        }
    }
    proposals
}

/// The name of a tree file without its folder.
fn short_name(file: &NamedTreeFile) -> String {
    let name = file.name.rsplit('/').next();
    name.unwrap_or(&file.name).to_owned()
}

/// The trees of a file that was given, which are tried whatever is predicted of them.
fn trees(
    predictions: Option<&Predictions<'_>>,
    file: &NamedTreeFile,
    path: &Path,
) -> Result<Proposal, String> {
    let text = match path.to_str() {
        Some("best") => collbench_tree_files::BEST.to_owned(),
        _ => fs::read_to_string(path).map_err(|error| format!("{}: {error}", file.name))?,
    };
    let classes = predictions.map_or(&[][..], |of| &of.predictions).iter();
    let run = predictions.and_then(|of| {
        let mut changes = of.run.as_ref()?.changes.iter();
        let found = changes.find(|(name, _)| *name == file.name);
        found.map(|(_, ratios)| *ratios)
    });
    Ok(Proposal {
        name: short_name(file),
        means: Means::Trees(text),
        changes: classes.filter_map(|of| change(of, file)).collect(),
        run,
    })
}

/// What runs over a tree of the file instead; `None` where that is not predicted.
fn change(prediction: &Prediction<'_>, file: &NamedTreeFile) -> Option<Change> {
    let candidate = prediction.candidates.iter().find(|of| match &of.method {
        Method::Tree { place, .. } => place
            .rsplit_once(':')
            .is_some_and(|(name, _)| name == file.name),
        Method::Algorithm(_) => false,
    })?;
    let method = candidate.method.clone();
    let what = (method.name().to_owned(), method);
    Some(Change::of(prediction, what, candidate.predicted))
}
