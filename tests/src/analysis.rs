//! Analyzing a trace, and reading the answer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use serde_json::Value;

use crate::agreement::agreements;
use crate::machine::command;
use crate::run::{Finished, Job, run};

#[path = "../../analyzer/report/tests/it/invariants.rs"]
mod invariants;

/// Codes of remarks on the machine: the recorder was held up, it has too few cores, or clocks do not run
/// evenly.
const ON_THE_MACHINE: [&str; 5] = [
    "recorder_pauses",
    "cores_shared",
    "clock_slewed",
    "clock_uneven",
    "clocks_wander",
];

/// What `collbench-analyze` says of a trace.
#[derive(Debug)]
pub struct Analysis {
    /// The command, as it ended.
    pub finished: Finished,
    /// Its document; `null` where the analysis failed.
    pub json: Value,
}

/// Runs the analyzer for its JSON alone.
///
/// # Panics
///
/// If the answer is no JSON of the schema though the status says that there is an analysis, does not
/// keep what every document promises, or says of the inside of collectives what contradicts the outside.
#[track_caller]
pub fn analyze(trace: &Path, options: &[&str]) -> Analysis {
    let mut line: Vec<OsString> = vec![command("collbench-analyze").into()];
    // All operations, so that they add up to the totals.
    line.extend(["--format", "json", "--no-pictures", "--full"].map(OsString::from));
    line.extend(options.iter().map(OsString::from));
    line.push(trace.into());
    let finished = run(&line);
    if finished.status != 0 && finished.status != 3 {
        return Analysis {
            finished,
            json: Value::Null,
        };
    }
    let json = collbench_schemas::read(&finished.stdout);
    assert_eq!(json["schema"], "collbench.analysis/1", "{finished}");
    let broken = invariants::broken(&json);
    assert!(broken.is_empty(), "{finished}\nbreaks {broken:#?}");
    for agreement in agreements(&json) {
        assert_eq!(
            agreement.contradictions, 0,
            "inside and outside say the same of who was waited for: {agreement:?}"
        );
    }
    Analysis { finished, json }
}

impl Job<'_> {
    /// Records it in `folder`, and analyzes the trace.
    ///
    /// # Panics
    ///
    /// As [`Self::recorded`], and as [`analyze`].
    #[track_caller]
    #[must_use]
    pub fn analyzed(&self, folder: &Path) -> Analysis {
        analyze(&self.recorded(folder), &[]).expect(0)
    }
}

impl Analysis {
    /// Goes on only if the status is this one.
    ///
    /// # Panics
    ///
    /// With another status.
    #[track_caller]
    #[must_use]
    pub fn expect(mut self, status: i32) -> Self {
        self.finished = self.finished.expect(status);
        self
    }

    /// An array of the document; `place` as in RFC 6901, such as `/trace/damage`.
    ///
    /// # Panics
    ///
    /// If there is no array.
    #[track_caller]
    #[must_use]
    pub fn array(&self, place: &str) -> &[Value] {
        self.json
            .pointer(place)
            .and_then(Value::as_array)
            .unwrap_or_else(|| panic!("no array {place} in {}", self.finished))
    }

    /// The text of a remark.
    ///
    /// # Panics
    ///
    /// If there is none of this code.
    #[track_caller]
    #[must_use]
    pub fn remark(&self, code: &str) -> &str {
        let mut remarks = self.array("/remarks").iter();
        let remark = remarks.find(|remark| remark["code"] == code);
        remark
            .and_then(|remark| remark["text"].as_str())
            .unwrap_or_else(|| panic!("no {code} in {}", self.finished))
    }

    /// The entry of a rank in `ranks`.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[track_caller]
    #[must_use]
    pub fn rank(&self, rank: usize) -> &Value {
        self.array("/ranks")
            .iter()
            .find(|entry| entry["rank"] == rank)
            .unwrap_or_else(|| panic!("no rank {rank} in {}", self.finished))
    }

    /// All remarks but those on the machine, which come and go with what else it has to do.
    #[must_use]
    pub fn remarks_on_the_program(&self) -> Vec<&Value> {
        let remarks = self.array("/remarks").iter();
        let is_on_the_machine = |remark: &&Value| {
            let code = remark["code"].as_str().unwrap_or_default();
            ON_THE_MACHINE.contains(&code)
        };
        remarks
            .filter(|remark| !is_on_the_machine(remark))
            .collect()
    }

    /// Whether there is a remark of this code.
    #[must_use]
    pub fn has_remark(&self, code: &str) -> bool {
        self.array("/remarks")
            .iter()
            .any(|remark| remark["code"] == code)
    }
}

/// `calls_by_class` of an entry of `ranks`.
///
/// # Panics
///
/// If it is not an object of counts.
#[track_caller]
#[must_use]
pub fn calls_by_class(rank: &Value) -> BTreeMap<String, u64> {
    counts(&rank["calls_by_class"])
}

#[track_caller]
fn counts(object: &Value) -> BTreeMap<String, u64> {
    let object = object
        .as_object()
        .unwrap_or_else(|| panic!("no object of counts: {object}"));
    object
        .iter()
        .map(|(name, count)| {
            (
                name.clone(),
                count
                    .as_u64()
                    .unwrap_or_else(|| panic!("no count: {name} {count}")),
            )
        })
        .collect()
}

/// The sum of a field over entries.
///
/// # Panics
///
/// If one has no such number.
#[track_caller]
pub fn sum<'a>(entries: impl IntoIterator<Item = &'a Value>, field: &str) -> i64 {
    entries
        .into_iter()
        .map(|entry| {
            entry[field]
                .as_i64()
                .unwrap_or_else(|| panic!("no {field} in {entry}"))
        })
        .sum()
}
