//! Comparisons in sentences.

use collbench_analyzer::compare::{ComparisonRemark, DifferingSetting};
use collbench_stats::estimate::MIN_INSTANCES;
use collbench_text::inert;

/// What a trace is called: `A` is the baseline.
pub(crate) fn letter(trace: usize) -> String {
    match u8::try_from(trace).ok().filter(|&n| n < 26) {
        Some(n) => char::from(b'A' + n).to_string(),
        None => format!("T{}", trace + 1),
    }
}

/// A setting's values, each inert and cut.
pub(crate) fn setting_in_words(setting: &DifferingSetting, width: usize) -> String {
    let values = setting.values.iter().enumerate();
    values
        .map(|(index, value)| format!("{}: {}", letter(index), inert::line(value, width)))
        .collect::<Vec<_>>()
        .join("; ")
}

/// What a remark on a comparison says.
pub(crate) fn remark(remark: &ComparisonRemark) -> String {
    let letters = |traces: &[usize]| {
        let letters: Vec<String> = traces.iter().copied().map(letter).collect();
        letters.join(", ")
    };
    match remark {
        ComparisonRemark::Incomplete { traces } => format!(
            "incomplete: {}; what is compared is what there is. collbench-analyze on that trace alone \
             says what is missing",
            letters(traces)
        ),
        ComparisonRemark::ClocksNotAligned { traces } => format!(
            "clocks of different hosts are not aligned in {}: there waits are those within each host, \
             and durations the longest of any host; call times are not affected",
            letters(traces)
        ),
        ComparisonRemark::OtherLayers => {
            "not the same layers were recorded: what recording them costs is in the differences; \
             give all runs the same --layers"
                .to_owned()
        }
        ComparisonRemark::MatchedByName { traces } => format!(
            "communicators of A and {} with other members are compared by name and kind",
            letters(traces)
        ),
        ComparisonRemark::TooFew { n_differences } => format!(
            "{n_differences} of the differences are of operations with fewer than {MIN_INSTANCES} \
             instances (or of instances all close together): no interval"
        ),
        ComparisonRemark::OneRunEach { are_repeated } => format!(
            "the intervals hold how the instances of a run vary. What differs from run to run \
             (placement, neighbours on the network, other load) is in none of them: {}",
            if *are_repeated {
                "see how far runs of the same command differ here"
            } else {
                "give several runs of each, all are compared with the first"
            }
        ),
    }
}
