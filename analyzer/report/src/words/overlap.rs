//! How far nonblocking collectives went on while the program did something else, in sentences.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    OperationSummary, OverlapDiagnosis, OverlapSummary, SentSummary,
};
use collbench_text::quantity::{counted, duration, percent};

use crate::words::{capitalized, communicator};

/// Nonblocking operations whose overlap is shown on the screen.
const MAX_OVERLAPS: usize = 3;

/// How far the nonblocking operations that take longest can have been overlapped.
pub(crate) fn overlaps(analysis: &Analysis) -> Vec<String> {
    let sentence = |operation: &OperationSummary| {
        let times = times(operation)?;
        let mut parts: Vec<String> = diagnosis(operation).into_iter().collect();
        parts.extend(nothing_progressed(operation));
        parts.push(times);
        Some(format!(
            "{} on {}: {}",
            operation.operation,
            communicator(analysis, operation.communicator, 40),
            parts.join("; ")
        ))
    };
    let sentences = analysis.operations.iter().filter_map(sentence);
    sentences.take(MAX_OVERLAPS).collect()
}

/// The same of one operation, with what it means; `None` of blocking ones.
pub(crate) fn of_operation(operation: &OperationSummary) -> Option<String> {
    let times = times(operation)?;
    let meaning = operation.overlap.as_ref().and_then(meaning);
    let said = diagnosis(operation).into_iter();
    let parts = said.chain(nothing_progressed(operation)).chain([times]);
    let mut sentences: Vec<String> = parts.map(|part| capitalized(&part) + ".").collect();
    sentences.insert(1, meaning.unwrap_or_default().to_owned());
    sentences.retain(|sentence| !sentence.is_empty());
    Some(sentences.join(" "))
}

/// What hinders the overlap, and which messages show it; `None` where messages were not recorded.
fn diagnosis(operation: &OperationSummary) -> Option<String> {
    let OverlapSummary { diagnosis, sent } = operation.overlap.as_ref()?;
    let name = match diagnosis {
        OverlapDiagnosis::GoodOverlap => "good overlap",
        OverlapDiagnosis::FirstStepOnly => "only the first step overlapped",
        OverlapDiagnosis::NoProgression => "no progression",
        OverlapDiagnosis::LittleBetween => {
            return Some("too little time between its calls for an overlap".to_owned());
        }
        OverlapDiagnosis::NotVisible => return not_visible(sent.as_ref()?).map(str::to_owned),
    };
    let sent = sent.as_ref()?;
    let n_sent = sent.initiating + sent.between + sent.completing;
    let part = |n: u64| match n {
        0 => "none".to_owned(),
        n => percent(n.cast_signed(), n_sent.cast_signed()),
    };
    let by = match operation.tests {
        _ if 2 * sent.outside_mpi > sent.between => " by a thread of the MPI library",
        Some(1..) => " in tests or other calls",
        _ => "",
    };
    Some(format!(
        "{name}: of {}, initiating calls sent {}, completing calls {}, {} were sent between{by}",
        counted(n_sent, "message"),
        part(sent.initiating),
        part(sent.completing),
        part(sent.between),
    ))
}

/// Why messages do not show when an operation went on.
fn not_visible(sent: &SentSummary) -> Option<&'static str> {
    Some(if sent.between + sent.completing == 0 {
        "initiating calls sent all messages; whether these arrived before the completing calls is \
         not visible"
    } else {
        "it progressed in tests, single ones of which are not recorded"
    })
}

/// What a diagnosis means, as a sentence; `None` where there is nothing to add.
fn meaning(overlap: &OverlapSummary) -> Option<&'static str> {
    match overlap.diagnosis {
        OverlapDiagnosis::GoodOverlap => Some("The communication advances during the computation."),
        OverlapDiagnosis::FirstStepOnly => Some(
            "Only a part of the communication, such as its first step, advances during the \
             computation; the rest happens in the completing call.",
        ),
        OverlapDiagnosis::NoProgression => Some(
            "The communication does not advance during the computation: all of it happens in the \
             calls of MPI.",
        ),
        OverlapDiagnosis::LittleBetween | OverlapDiagnosis::NotVisible => None,
    }
}

/// The time in its calls and between them, and the part that can have been overlapped; `None` of
/// operations that are blocking, or were never completed.
fn times(operation: &OperationSummary) -> Option<String> {
    let initiation = operation.initiation_ns.as_ref()?;
    let completion = operation.completion_ns.as_ref()?;
    let exposed = operation.exposed_ns.as_ref()?;
    let bound = operation.overlap_bound_ns.as_ref()?;
    let waits = operation.wait_ns.as_ref();
    let waiting = match waits.filter(|wait| wait.total > 0 && wait.n == completion.n) {
        Some(wait) => format!(", of that {} for late ranks", duration(wait.mean)),
        None => String::new(),
    };
    let in_calls_ns = initiation.total.saturating_add(completion.total);
    let tests = match operation.tests {
        None | Some(0) => String::new(),
        Some(n) => format!(
            ", {} in {}",
            duration((exposed.total - in_calls_ns) / exposed.n.max(1).cast_signed()),
            counted(n, "unsuccessful test")
        ),
    };
    let part = percent(bound.total, exposed.total.saturating_add(bound.total));
    // "<1 %" is a bound already.
    let at_most = if part.starts_with('<') {
        ""
    } else {
        "at most "
    };
    Some(format!(
        "mean exposed time {} per call ({} initiating{tests}, {} completing{waiting}), {} between its \
         calls: {at_most}{part} of their sum was overlapped (n = {})",
        duration(exposed.mean),
        duration(initiation.mean),
        duration(completion.mean),
        duration(bound.mean),
        bound.n,
    ))
}

/// For how long nothing progressed between the calls of a nonblocking operation; `None` if that is
/// less than a tenth of the time between them, or not known.
fn nothing_progressed(operation: &OperationSummary) -> Option<String> {
    let between_ns = operation.overlap_bound_ns.as_ref()?.mean;
    let figures = operation.trees.iter().flatten();
    let mut progress = figures.filter_map(|tree| tree.figures.as_ref()?.progress.as_ref());
    let nobody = progress.find_map(|progress| progress.nobody_in_mpi_ns.as_ref())?;
    (nobody.mean > 0 && nobody.mean.saturating_mul(10) >= between_ns).then(|| {
        format!(
            "nothing progressed for {} per call, in which no rank was in MPI (n = {})",
            duration(nobody.mean),
            nobody.n
        )
    })
}
