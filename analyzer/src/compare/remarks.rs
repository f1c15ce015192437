//! What a reader of a comparison should know, apart from being printed.

use collbench_stats::estimate::MIN_INSTANCES;
use collbench_text::inert;

use crate::compare::correspondence::Correspondence;
use crate::compare::{ComparedOperation, ComparedTrace, ComparisonVerdict, DifferingSetting};
use crate::results::analysis::{Analysis, RemarkSummary};

/// What a trace is called: `A` is the baseline.
#[must_use]
pub fn letter(trace: usize) -> String {
    match u8::try_from(trace).ok().filter(|&n| n < 26) {
        Some(n) => char::from(b'A' + n).to_string(),
        None => format!("T{}", trace + 1),
    }
}

/// The setting of what was recorded beside the calls. A layer is the same by default as by name.
const LAYERS: &str = "layers";

/// Settings that are not the same in all traces.
pub(crate) fn differing(traces: &[ComparedTrace]) -> Vec<DifferingSetting> {
    let setting = |what, value: &dyn Fn(&ComparedTrace) -> String| DifferingSetting {
        what,
        values: traces.iter().map(value).collect(),
    };
    let settings = [
        setting("command", &|t| t.trace.command.join(" ")),
        setting("ranks", &|t| t.trace.ranks.to_string()),
        setting("hosts", &|t| t.trace.hosts.join(", ")),
        setting("mpi_library", &|t| t.trace.mpi_library.clone()),
        setting("clock", &|t| {
            format!("{}; {}", t.clock.source, t.clock.method)
        }),
        setting(LAYERS, &|t| {
            let layers = t.trace.layers.iter().filter(|(_, layer)| layer.on);
            let names: Vec<&str> = layers.map(|(name, _)| name.as_str()).collect();
            names.join(",")
        }),
    ];
    let is_differing = |s: &DifferingSetting| s.values.iter().any(|value| *value != s.values[0]);
    settings.into_iter().filter(is_differing).collect()
}

/// All remarks, in the order of their weight.
pub(crate) fn remarks(
    analyses: &[Analysis],
    answers: &[Correspondence],
    differs: &[DifferingSetting],
    operations: &[ComparedOperation],
) -> Vec<RemarkSummary> {
    let mut remarks = Vec::new();
    let mut add = |code, text| remarks.push(RemarkSummary { code, text });
    let which = |is_it: &dyn Fn(&Analysis) -> bool| {
        let those = analyses.iter().enumerate().filter(|(_, a)| is_it(a));
        those.map(|(index, _)| letter(index)).collect::<Vec<_>>()
    };
    let incomplete = which(&|analysis| !analysis.trace.complete);
    if !incomplete.is_empty() {
        add(
            "incomplete",
            format!(
                "incomplete: {}; what is compared is what there is. collbench-analyze on that \
                 trace alone says what is missing",
                incomplete.join(", ")
            ),
        );
    }
    let has_remark = |analysis: &Analysis, code| analysis.remarks.iter().any(|r| r.code == code);
    let not_aligned = which(&|analysis| has_remark(analysis, "clocks_not_aligned"));
    if !not_aligned.is_empty() {
        add(
            "clocks_not_aligned",
            format!(
                "clocks of different hosts are not aligned in {}: there waits are those within \
                 each host, and durations the longest of any host; call times are not affected",
                not_aligned.join(", ")
            ),
        );
    }
    if differs.iter().any(|setting| setting.what == LAYERS) {
        add(
            "other_layers",
            "not the same layers were recorded: what recording them costs is in the differences; \
             give all runs the same --layers"
                .to_owned(),
        );
    }
    let by_name: Vec<String> = (1..)
        .zip(analyses[1..].iter().zip(answers))
        .filter(|(_, (other, answer))| pairs_unlike_members(&analyses[0], other, answer))
        .map(|(index, _)| letter(index))
        .collect();
    if !by_name.is_empty() {
        add(
            "matched_by_name",
            format!(
                "communicators of A and {} with other members are compared by name and kind",
                by_name.join(", ")
            ),
        );
    }
    let too_few = operations.iter().flat_map(|o| &o.differences);
    let too_few = too_few.filter(|d| d.verdict == ComparisonVerdict::TooFew);
    let n_too_few = too_few.count();
    if n_too_few > 0 {
        add(
            "too_few",
            format!(
                "{n_too_few} of the differences are of operations with fewer than \
                 {MIN_INSTANCES} instances (or of instances all close together): no interval"
            ),
        );
    }
    let is_alike = |a: &Analysis, b: &Analysis| {
        a.trace.command == b.trace.command
            && a.trace.hosts == b.trace.hosts
            && a.trace.mpi_library == b.trace.mpi_library
    };
    let has_repetition = (1..analyses.len())
        .any(|at| (1..at).any(|before| is_alike(&analyses[at], &analyses[before])));
    add(
        "one_run_each",
        format!(
            "the intervals hold how the instances of a run vary. What differs from run to run \
             (placement, neighbours on the network, other load) is in none of them: {}",
            if has_repetition && differs.is_empty() {
                "see how far runs of the same command differ here"
            } else {
                "give several runs of each, all are compared with the first"
            }
        ),
    );
    remarks
}

/// Whether some communicator answers to one with other members.
fn pairs_unlike_members(baseline: &Analysis, other: &Analysis, answer: &Correspondence) -> bool {
    other.communicators.iter().any(|communicator| {
        let of_baseline = answer.in_baseline(communicator.id);
        of_baseline.is_some_and(|id| baseline.communicators[id].ranks != communicator.ranks)
    })
}

/// A setting's values, each inert and cut.
#[must_use]
pub fn setting_in_words(setting: &DifferingSetting, width: usize) -> String {
    let values = setting.values.iter().enumerate();
    values
        .map(|(index, value)| format!("{}: {}", letter(index), inert::line(value, width)))
        .collect::<Vec<_>>()
        .join("; ")
}
