//! What to try: from predictions.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use collbench_tune::open_mpi::{self, Library, Version};
use collbench_tune::predict::{
    Given, Method, NamedTreeFile, PredictedCandidate, Prediction, Predictions, Recorded, predict,
};
use collbench_tune::{Change, Choice, Means, Proposal, RulesText, Value};

/// What is faster by less is not tried.
const LEAST_GAIN: f64 = 0.03;

/// A proposal, and the file of trees that the user has given.
pub(super) struct Proposed {
    pub(super) proposal: Proposal,
    pub(super) own_file: Option<PathBuf>,
}

/// What to try, and why other things are not tried.
#[derive(Default)]
pub(super) struct Proposals {
    pub(super) all: Vec<Proposed>,
    pub(super) not_proposed: Vec<String>,
}

/// The fastest algorithms of the library where they are clearly faster, and each tree file that was given.
pub(super) fn propose(recorded: &Recorded, given: Given, tree_paths: &[PathBuf]) -> Proposals {
    let tree_files = given.tree_files.clone();
    let mut proposals = Proposals::default();
    let predictions = predict(recorded, given);
    match &predictions {
        Ok(predictions) => match algorithms(predictions) {
            Ok(proposal) => proposals.all.push(Proposed {
                proposal,
                own_file: None,
            }),
            Err(why) => proposals.not_proposed.push(why),
        },
        Err(why) => proposals
            .not_proposed
            .push(format!("nothing is predicted: {why}")),
    }
    for (file, path) in tree_files.iter().zip(tree_paths) {
        let of_trees = trees(predictions.as_ref().ok(), file, path);
        match of_trees {
            Ok(proposal) => proposals.all.push(Proposed {
                proposal,
                own_file: Some(path.clone()),
            }),
            Err(why) => proposals.not_proposed.push(why),
        }
    }
    proposals
}

/// By class what runs instead.
fn change(prediction: &Prediction<'_>, candidate: &PredictedCandidate) -> Change {
    let class = prediction.class;
    Change {
        operation: class.operation,
        communicator: class.communicator.clone(),
        n_processes: class.ranks.len(),
        root: Some(class.root),
        bytes: class.bytes,
        n_instances: class.n_instances,
        ran: class.ran_in_words(),
        measured: prediction.measured,
        method: candidate.method.clone(),
        predicted: candidate.predicted,
    }
}

fn algorithms(predictions: &Predictions<'_>) -> Result<Proposal, String> {
    let library = Version::find(&predictions.library).and_then(Library::of);
    let Some(library) = library else {
        return Err(format!("no rules are written for {}", predictions.library));
    };
    let refused = predictions
        .predictions
        .iter()
        .filter(|of| of.not_predicted().is_some())
        .count();
    let mut sorted: Vec<&Prediction<'_>> = predictions.predictions.iter().collect();
    let all_ns = |of: &&Prediction<'_>| of.class.n_instances as f64 * of.measured.median_ns;
    sorted.sort_by(|a, b| all_ns(b).total_cmp(&all_ns(a)));
    let (mut changes, mut choices, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for prediction in sorted {
        let class = prediction.class;
        let n_processes = class.ranks.len() as u32;
        // Rules do not know communicators: the calls that take the most time decide.
        if !seen.insert((class.operation.name(), n_processes, class.bytes)) {
            continue;
        }
        let choice = |bytes, algorithm: Option<&str>| Choice {
            operation: class.operation,
            n_processes,
            bytes,
            algorithm: algorithm.map(str::to_owned),
        };
        let fastest = prediction.candidates.iter().find(|of| {
            matches!(of.method, Method::Algorithm(_))
                && of.number.is_some()
                && of.segment_bytes == 0
        });
        let fastest = fastest.filter(|of| of.gain(prediction.measured) >= LEAST_GAIN);
        let name = fastest.and_then(|of| {
            let mut algorithms = library.operation(class.operation)?.algorithms.iter();
            algorithms.find(|one| Some(one.id) == of.number)
        });
        let (Some(fastest), Some(algorithm)) = (fastest, name) else {
            choices.push(choice(class.bytes, None));
            continue;
        };
        choices.push(choice(class.bytes, Some(algorithm.name)));
        if class.bytes > 0 {
            choices.push(choice(class.bytes + 1, None));
        }
        changes.push(change(prediction, fastest));
    }
    if changes.is_empty() {
        let why = if refused > 0 {
            format!(
                "; {refused} classes of calls cannot be predicted: collbench-tune predict says why"
            )
        } else {
            String::new()
        };
        return Err(format!(
            "no algorithm of the library is predicted to be faster by 3 % or more{why}"
        ));
    }
    // A length that follows one that was chosen is the library's only where nothing was predicted for it.
    choices.sort_by_key(|of| {
        (
            of.operation.name(),
            of.n_processes,
            of.bytes,
            of.algorithm.is_none(),
        )
    });
    choices.dedup_by_key(|of| (of.operation.name(), of.n_processes, of.bytes));
    let name = "algorithms.rules".to_owned();
    let written = open_mpi::write(&choices, library, &name);
    let variable = |name: &str, value| (format!("OMPI_MCA_coll_tuned_{name}"), value);
    Ok(Proposal {
        name: "algorithms".to_owned(),
        means: Means::Environment {
            file: Some(RulesText {
                name,
                text: written.text,
            }),
            variables: vec![
                variable("use_dynamic_rules", Value::Text("1".to_owned())),
                variable("dynamic_rules_filename", Value::File),
            ],
        },
        changes,
        run: of_run(predictions, "the fastest algorithm for each class of calls"),
    })
}

fn of_run(predictions: &Predictions<'_>, what: &str) -> Option<collbench_tune::predict::Ratios> {
    let mut changes = predictions.run.as_ref()?.changes.iter();
    changes
        .find(|(name, _)| name == what)
        .map(|(_, ratios)| *ratios)
}

/// The name of a tree file without its folder.
fn short_name(file: &NamedTreeFile) -> String {
    let name = file.name.rsplit('/').next();
    name.unwrap_or(&file.name).to_owned()
}

fn trees(
    predictions: Option<&Predictions<'_>>,
    file: &NamedTreeFile,
    path: &PathBuf,
) -> Result<Proposal, String> {
    let text = match path.to_str() {
        Some("best") => collbench_tree_files::BEST.to_owned(),
        _ => fs::read_to_string(path).map_err(|error| format!("{}: {error}", file.name))?,
    };
    let classes = predictions.map_or(&[][..], |of| &of.predictions).iter();
    let changes = classes.filter_map(|prediction| {
        let candidate = prediction.candidates.iter().find(|of| match &of.method {
            Method::Tree { place, .. } => place
                .rsplit_once(':')
                .is_some_and(|(name, _)| name == file.name),
            Method::Algorithm(_) => false,
        });
        Some(change(prediction, candidate?))
    });
    Ok(Proposal {
        name: short_name(file),
        means: Means::Trees(text),
        changes: changes.collect(),
        run: predictions.and_then(|of| of_run(of, &file.name)),
    })
}
