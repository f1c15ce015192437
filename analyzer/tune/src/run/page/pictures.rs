//! The pictures: what was predicted beside what was measured.

use collbench_stats::median::Median;
use collbench_text::inert;
use collbench_viz::{Figure, Interval, Intervals, Quantity};

use super::rows::{Kind, Rival};
use crate::run::outcome::Outcome;
use crate::run::screen::time;

/// Names of marks.
const PREDICTED: &str = "predicted";
const MEASURED: &str = "measured";
const ALONE: &str = "measured alone";
const AS_IT_RAN: &str = "as it ran";
const AS_IT_IS: &str = "as it is";

/// The whole program with each proposal; `None` if nothing was tried.
pub(super) fn program(outcome: &Outcome) -> Option<Figure> {
    if outcome.tried.is_empty() {
        return None;
    }
    let mut picture = Intervals::new(
        inert::line(&outcome.answer(), 400),
        "in each round the program runs twice as it is, and once with each proposal",
        "time of the command by that of the program as it is",
        Quantity::Number,
    )
    .with_line(1.0, "as it is");
    let pair = outcome.rounds.baseline_pair();
    picture.push(
        "the program itself: its second run of a round by the first (A/A)",
        pair.and_then(|of| Interval::new(AS_IT_IS, of.ratio, Some(of.interval))),
    );
    for (idx, tried) in outcome.tried.iter().enumerate() {
        let judged = outcome.judged(idx).map(|of| of.ratio);
        let marks = [
            tried
                .predicted
                .and_then(|of| Interval::new(PREDICTED, of.median, Some((of.p05, of.p95)))),
            judged.and_then(|of| Interval::new(MEASURED, of.value, of.interval)),
        ];
        picture.push(
            format!(
                "{}: {}",
                tried.proposal.name,
                outcome.verdict_in_words(idx, tried)
            ),
            marks.into_iter().flatten(),
        );
    }
    Some(Figure {
        heading: "The program with each proposal".into(),
        caption: "Ratios of times of the whole command: left of the line the program is faster. Measured: the median over \
                  rounds with its 95 % interval. Predicted: the median with the 5th and the 95th percentile. Where both \
                  overlap, the prediction agrees with the measurement. If the interval of the program against itself (A/A) does \
                  not contain 1, something else changed from run to run."
            .into(),
        export: "".into(),
        on_demand: false,
        picture: picture.into(),
    })
}

/// What could run in the calls of a kind; `None` if nothing is known that could.
pub(super) fn kind(kind: &Kind<'_>, outcome: &Outcome) -> Option<Figure> {
    let first = kind.rivals.first()?;
    let mut picture = Intervals::new(
        finding(kind, first, outcome),
        kind.in_words(),
        "time of an instance",
        Quantity::Time,
    );
    for (class, ran) in kind.ran.iter().enumerate() {
        let band = ran.measured;
        let mark = Interval::new(AS_IT_RAN, band.median_ns, Some((band.p05_ns, band.p95_ns)));
        let place = kind.place(class);
        picture.push(format!("{}{place}, which ran", ran.what), mark);
    }
    for rival in &kind.rivals {
        let band = rival.predicted;
        let predicted = Interval::new(PREDICTED, band.median_ns, Some((band.p05_ns, band.p95_ns)));
        let mark = |name: &str, of: Option<Median>| {
            of.and_then(|of| Interval::new(name, of.value, of.interval))
        };
        let proof = outcome.proof.as_ref();
        let alone = proof
            .and_then(|of| of.find((kind.operation, kind.n_processes, kind.bytes), rival.what));
        let alone = mark(ALONE, alone.map(|of| of.measured_ns));
        let measured = mark(MEASURED, rival.measured(outcome));
        picture.push(
            format!(
                "{}{}: {}",
                rival.what,
                kind.place(rival.class),
                rival.proposed_in_words()
            ),
            [predicted, alone, measured].into_iter().flatten(),
        );
    }
    Some(Figure {
        heading: "What could run instead".into(),
        caption: "As it ran: the median instance of the recorded run, with the 5th and the 95th percentile of its instances. \
                  Predicted: the median instance, with the 5th and the 95th percentile of what deviations make of it. Measured \
                  alone: the median call in a benchmark with the recorded arrivals, with its 95 % interval. Measured: the median instance of one recorded run with the proposal, with its 95 % interval. An interval without a right \
                  end goes on beyond the axis."
            .into(),
        export: "".into(),
        on_demand: false,
        picture: picture.into(),
    })
}

/// What the picture shows: the fastest that was measured, else what is predicted.
fn finding(kind: &Kind<'_>, first: &Rival<'_>, outcome: &Outcome) -> String {
    let ran_ns = |rival: &Rival<'_>| {
        let ran = kind.ran.get(rival.class);
        time(ran.map_or(0.0, |ran| ran.measured.median_ns))
    };
    let measured = kind.rivals.iter();
    let measured = measured.filter_map(|rival| Some((rival, rival.measured(outcome)?.value)));
    if let Some((rival, ns)) = measured.min_by(|a, b| a.1.total_cmp(&b.1)) {
        return format!(
            "{} took {} instead of {}, predicted {}",
            rival.what,
            time(ns),
            ran_ns(rival),
            time(rival.predicted.median_ns)
        );
    }
    let mut proposed = kind.rivals.iter().filter(|rival| rival.why_not.is_none());
    match proposed.next() {
        Some(rival) => format!(
            "{} is predicted to take {} instead of {}, and was not measured",
            rival.what,
            time(rival.predicted.median_ns),
            ran_ns(rival),
        ),
        None => format!("{}: {}", first.what, first.proposed_in_words()),
    }
}
