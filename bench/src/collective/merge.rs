//! Several runs of one plan to one result: of each point the medians.
//!
//! # Source
//! Reussner et al. 1999, section 3.3.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use collbench_stats::spread::Spread;

use super::results::{Point, Results, SCHEMA};

/// Reads documents.
///
/// # Errors
/// Names the file that cannot be read.
pub(super) fn read(files: &[PathBuf]) -> anyhow::Result<Vec<Results>> {
    files.iter().map(|file| read_results(file)).collect()
}

/// Reads a document.
///
/// # Errors
/// Names the file if it cannot be read.
pub(crate) fn read_results(file: &Path) -> anyhow::Result<Results> {
    let text = std::fs::read_to_string(file);
    let text = text.with_context(|| format!("reading {}", file.display()))?;
    let results: Results = serde_json::from_str(&text)
        .with_context(|| format!("{} is no {SCHEMA}", file.display()))?;
    ensure!(
        results.schema == SCHEMA,
        "{} is {}, not {SCHEMA}",
        file.display(),
        results.schema
    );
    Ok(results)
}

/// Checks that what is written into a folder replaces none of these results.
///
/// # Errors
/// Names the folder and the result that lies there.
pub(crate) fn ensure_kept(files: &[PathBuf], folder: &Path) -> anyhow::Result<()> {
    let Ok(folder_itself) = folder.canonicalize() else {
        // It is not there yet.
        return Ok(());
    };
    let lies_there = |file: &&PathBuf| {
        let itself = file.canonicalize();
        itself.is_ok_and(|itself| itself.parent() == Some(&folder_itself))
    };
    match files.iter().find(lies_there) {
        None => Ok(()),
        Some(file) => bail!(
            "--output {}: it holds {}, which is one of the results to be read and would be \
             overwritten; choose another directory",
            folder.display(),
            file.display()
        ),
    }
}

/// Reads documents and merges them.
///
/// # Errors
/// Names the file that cannot be read, or that measured something else.
pub(super) fn of_files(files: &[PathBuf]) -> anyhow::Result<Results> {
    let all = read(files)?;
    let first = all.first().context("nothing to merge")?;
    for (results, file) in all.iter().zip(files) {
        ensure!(
            results.run.ranks == first.run.ranks && results.run.element == first.run.element,
            "{} is of another job: {} processes and {}, not {} and {}",
            file.display(),
            results.run.ranks,
            results.run.element,
            first.run.ranks,
            first.run.element
        );
        let differs = [
            (
                "another MPI library",
                results.run.mpi_library != first.run.mpi_library,
            ),
            (
                "other settings of the MPI library",
                results.run.environment != first.run.environment,
            ),
            ("another figure", results.run.figure != first.run.figure),
        ];
        if let Some((what, _)) = differs.iter().find(|(_, differs)| *differs) {
            bail!(
                "{} was measured with {what} than {}: compare them with --compare; only runs of the same are merged",
                file.display(),
                files[0].display()
            );
        }
    }
    Ok(merge(&all))
}

/// The medians of the points of these runs, at least one, in the order of the first.
fn merge(all: &[Results]) -> Results {
    let mut by_key: BTreeMap<String, Vec<&Point>> = BTreeMap::new();
    let mut order = Vec::new();
    for point in all.iter().flat_map(|results| &results.points) {
        let of_key = by_key.entry(point.key()).or_default();
        if of_key.is_empty() {
            order.push(point.key());
        }
        of_key.push(point);
    }
    let mut merged = all[0].clone();
    merged.run.runs = all.iter().map(|results| results.run.runs).sum();
    merged.run.points_before = all.iter().map(|results| results.run.points_before).sum();
    if all.len() > 1 {
        // Each launch has an order of its own.
        merged.run.seed = None;
    }
    merged.points = order.iter().map(|key| median_of(&by_key[key])).collect();
    merged
}

/// The run whose time is the median, with the median as its time. Of an even number the point is
/// that of the faster of the two in the middle.
fn median_of(points: &[&Point]) -> Point {
    let mut sorted: Vec<&Point> = points.to_vec();
    let time = |point: &Point| point.time_ns.unwrap_or(f64::INFINITY);
    sorted.sort_by(|a, b| time(a).total_cmp(&time(b)));
    let times: Vec<f64> = sorted.iter().filter_map(|point| point.time_ns).collect();
    let middle = sorted[times.len().max(1).div_ceil(2) - 1];
    let median = Spread::of(times.iter().copied()).map(|spread| spread.median);
    // The launch is the unit of confidence: the error of one run says nothing about the others.
    let n_times = times.len();
    let reach = Spread::of(times).map(|spread| {
        let reach = (spread.max - spread.median).max(spread.median - spread.min);
        reach / spread.median
    });
    Point {
        time_ns: median,
        relative_error: reach.filter(|_| n_times > 1).or(middle.relative_error),
        is_precise: points.iter().all(|point| point.is_precise),
        made: points.iter().map(|point| point.made).sum(),
        missed: points.iter().map(|point| point.missed).sum(),
        delayed: points.iter().map(|point| point.delayed).sum(),
        samples: None,
        ..middle.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(times: &[(u64, Option<f64>)]) -> Results {
        let points = times
            .iter()
            .map(|&(bytes, time)| Point::example("MPI_Bcast", bytes, time));
        Results::example(points.collect())
    }

    #[test]
    fn the_error_reaches_from_the_median_to_the_farther_end_and_is_that_of_a_run_that_is_alone() {
        let of = |times: [Option<f64>; 3]| {
            let runs = times.map(|time| run(&[(8, time)]));
            let known = runs[0].points[0].relative_error;
            (merge(&runs).points[0].relative_error, known)
        };
        assert_eq!(of([Some(1.0), Some(1.0), Some(2.0)]).0, Some(1.0));
        assert_eq!(of([Some(2.0), Some(1.0), Some(4.0)]).0, Some(1.0));
        let (alone, known) = of([Some(2.0), None, None]);
        assert_eq!(alone, known);
    }

    #[test]
    fn runs_of_another_library_or_with_other_settings_are_not_merged() {
        let folder = tempfile::tempdir().unwrap();
        let mut other = run(&[(8, Some(2.0))]);
        other
            .run
            .environment
            .insert("OMPI_MCA_coll".to_owned(), "basic".to_owned());
        let files: Vec<PathBuf> = ["a", "b"].map(|name| folder.path().join(name)).into();
        for (file, results) in files.iter().zip([run(&[(8, Some(1.0))]), other]) {
            std::fs::write(file, serde_json::to_vec(&results).unwrap()).unwrap();
        }
        let error = of_files(&files).unwrap_err().to_string();
        assert!(
            error.contains("other settings of the MPI library"),
            "{error}"
        );
        assert_eq!(of_files(&files[..1]).unwrap().points.len(), 1);
    }

    #[test]
    fn a_result_is_not_replaced_by_what_is_made_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        for of in [&a, &b] {
            std::fs::create_dir(of).unwrap();
            std::fs::write(of.join("collective.json"), "{}").unwrap();
        }
        let files = [a.join("collective.json"), b.join("collective.json")];
        let again = folder.path().join("again");
        std::os::unix::fs::symlink(&b, &again).unwrap();
        for refused in [&a, &b.join("../a"), &again] {
            let said = ensure_kept(&files, refused).unwrap_err().to_string();
            assert!(said.contains("choose another directory"), "{said}");
        }
        // The directory of all, and one that is not there yet.
        ensure_kept(&files, folder.path()).unwrap();
        ensure_kept(&files, &folder.path().join("merged")).unwrap();
    }

    #[test]
    fn of_three_runs_each_point_is_the_median_and_one_outlier_is_filtered_out() {
        let runs = [
            run(&[(8, Some(1_000.0)), (64, Some(1_500.0))]),
            run(&[(8, Some(900_000.0)), (64, Some(1_400.0))]),
            run(&[(8, Some(1_100.0)), (64, None), (512, Some(9_000.0))]),
        ];
        let merged = merge(&runs);
        assert_eq!(merged.run.runs, 3);
        let found: Vec<_> = merged
            .points
            .iter()
            .map(|point| (point.bytes, point.time_ns))
            .collect();
        let expected = [
            (Some(8), Some(1_100.0)),
            (Some(64), Some(1_450.0)),
            (Some(512), Some(9_000.0)),
        ];
        assert_eq!(found, expected);
        let of_64 = &merged.points[1];
        assert_eq!((of_64.made, of_64.missed, of_64.is_precise), (12, 6, false));
        // Half of the distance of both launches, over the median.
        let error = of_64.relative_error.unwrap();
        assert!((error - 50.0 / 1_450.0).abs() < 1e-12);
        assert_eq!(merged.points[2].relative_error, Some(0.01));
    }

    #[test]
    fn a_point_that_no_run_could_measure_stays_unknown() {
        let merged = merge(&[run(&[(8, None)]), run(&[(8, None)])]);
        assert_eq!(merged.points[0].time_ns, None);
    }

    #[test]
    fn files_of_other_jobs_and_other_documents_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let four = file("four.json", &serde_json::to_string(&run(&[])).unwrap());
        let mut eight = run(&[]);
        eight.run.ranks = 8;
        let eight = file("eight.json", &serde_json::to_string(&eight).unwrap());
        let other = file("other.json", "{}");
        let said = |files: &[PathBuf]| format!("{:#}", of_files(files).unwrap_err());
        assert!(said(&[four.clone(), eight]).contains("eight.json is of another job"));
        assert!(said(&[four.clone(), other]).contains("other.json is no"));
        assert!(said(&[folder.path().join("none.json")]).contains("none.json"));
        assert!(of_files(&[four]).is_ok());
    }
}
