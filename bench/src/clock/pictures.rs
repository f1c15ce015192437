//! Pictures of the figures.

use std::path::Path;

use collbench_stats::spread::Spread;
use collbench_viz::{CurveAxis, Curves, Picture, Quantity, Stroke};

use super::drift;
use super::figures::{Figures, PairFigures};
use super::quality::Quality;
use super::simulation::Simulation;
use super::table;
use crate::folder;

/// Most pairs in one picture: more lines could not be distinguished.
const DRAWN: usize = 6;

/// A picture with the name of its file.
pub(super) type Named = (&'static str, Curves);

/// Writes pictures into a directory.
///
/// # Errors
/// Names the file.
pub(super) fn write(pictures: &[Named], folder: &Path) -> anyhow::Result<()> {
    for (name, curves) in pictures {
        folder::write(folder, name, &Picture::from(curves.clone()))?;
    }
    Ok(())
}

/// Pictures of a measurement.
pub(super) fn of_figures(figures: &Figures) -> Vec<Named> {
    vec![
        ("round-trips", round_trips(figures)),
        ("drift", drift(figures)),
        ("held-out", held_out(figures)),
        ("stop-rule-quality", quality(figures)),
        ("stop-rule-cost", cost(figures)),
        ("synchronization", synchronization(figures)),
    ]
}

/// Pictures of a simulation.
pub(super) fn of_simulation(simulation: &Simulation) -> Vec<Named> {
    vec![("synchronization-simulated", simulated(simulation))]
}

fn name(pair: &PairFigures) -> String {
    format!("rank {} on {}", pair.local.rank, pair.local.host)
}

fn subtitle(figures: &Figures) -> String {
    let library = figures.mpi_library.as_deref().unwrap_or_default();
    format!(
        "against rank {} on {}, clock {}, {}",
        figures.reference.rank,
        figures.reference.host,
        figures.clock,
        library.split(',').next().unwrap_or_default(),
    )
}

/// The pairs to draw, and a text that says which they are.
fn chosen(figures: &Figures, by: impl Fn(&PairFigures) -> f64) -> (Vec<&PairFigures>, String) {
    let pairs = sample_evenly(&figures.pairs, by);
    let words = match figures.pairs.len() {
        n if n > pairs.len() => format!("; {DRAWN} of {n} drawn, from the smallest to the largest"),
        _ => String::new(),
    };
    (pairs, words)
}

/// All of a few; of more, sorted by a figure, the least, the greatest, and some in between at equal
/// distances in that order.
fn sample_evenly<T>(all: &[T], by: impl Fn(&T) -> f64) -> Vec<&T> {
    let mut sorted: Vec<&T> = all.iter().collect();
    if sorted.len() <= DRAWN {
        return sorted;
    }
    sorted.sort_by(|a, b| by(a).total_cmp(&by(b)));
    let last = sorted.len() - 1;
    (0..DRAWN).map(|i| sorted[i * last / (DRAWN - 1)]).collect()
}

/// The range of a figure over the pairs, as text.
fn range(figures: impl Iterator<Item = f64>, shown: impl Fn(f64) -> String) -> Option<String> {
    let spread = Spread::of(figures)?;
    Some(match spread.n {
        1 => shown(spread.min),
        _ => format!("{} to {}", shown(spread.min), shown(spread.max)),
    })
}

fn round_trips(figures: &Figures) -> Curves {
    let median = |pair: &PairFigures| pair.round_trip_ns.map(|spread| spread.median);
    let medians = figures.pairs.iter().filter_map(median);
    let finding = match range(medians, table::duration) {
        Some(range) => format!("Round trips: median {range}"),
        None => "Round trips: none was measured".to_owned(),
    };
    let (pairs, words) = chosen(figures, |pair| median(pair).unwrap_or(0.0));
    let mut curves = Curves::new(
        finding,
        subtitle(figures) + &words,
        CurveAxis::new("round trip", Quantity::Time).logarithmic(),
        CurveAxis::new("number per 9 % step of the round trip", Quantity::Number),
    );
    for pair in pairs {
        let corners = pair.histogram.iter().enumerate().flat_map(|(i, step)| {
            let n = step.n as f64;
            let gap = pair
                .histogram
                .get(i + 1)
                .is_none_or(|next| next.from_ns > step.to_ns * 1.01);
            let first = i == 0 || pair.histogram[i - 1].to_ns < step.from_ns * 0.99;
            let before = first.then_some((step.from_ns, 0.0));
            let behind = gap.then_some((step.to_ns, 0.0));
            let top = [(step.from_ns, n), (step.to_ns, n)];
            before.into_iter().chain(top).chain(behind)
        });
        let least = pair.round_trip_ns.map(|spread| table::duration(spread.min));
        let least = least.unwrap_or_else(|| "unknown".to_owned());
        let words = format!("{}: shortest {least}", name(pair));
        curves.push(words, Stroke::Line, corners);
    }
    curves
}

fn drift(figures: &Figures) -> Curves {
    let ppm = |pair: &PairFigures| pair.drift.map(|drift| drift.ppm);
    let finding = match range(figures.pairs.iter().filter_map(ppm), |ppm| {
        format!("{ppm:.3}")
    }) {
        Some(range) => format!("Drift of the clocks: {range} ppm"),
        None => "Drift of the clocks: not known".to_owned(),
    };
    let (pairs, words) = chosen(figures, |pair| ppm(pair).unwrap_or(0.0));
    let mut curves = Curves::new(
        finding,
        subtitle(figures) + &words,
        CurveAxis::new("time since the first burst", Quantity::Time),
        CurveAxis::new(
            "offset against the reference, minus the first one",
            Quantity::Time,
        ),
    );
    for pair in pairs {
        let counted = pair.bursts.iter().filter(|burst| !burst.is_disturbed);
        let points = counted.map(|burst| (burst.at_ns as f64, burst.offset_ns as f64));
        let mut words = format!("{}: {} ppm", name(pair), table::drift(pair));
        if pair.n_disturbed > 0 {
            words += &format!(", {} disturbed bursts left out", pair.n_disturbed);
        }
        curves.push(words, Stroke::Line, points);
    }
    curves
}

fn held_out(figures: &Figures) -> Curves {
    let median = |pair: &PairFigures| pair.held_out_ns.map(|spread| spread.median);
    let finding = match range(figures.pairs.iter().filter_map(median), table::duration) {
        Some(range) => {
            format!("A burst is predicted by its two neighbors with a median error of {range}")
        }
        None => "How well a burst is predicted by its neighbors: not known".to_owned(),
    };
    let (pairs, words) = chosen(figures, |pair| median(pair).unwrap_or(0.0));
    let mut curves = Curves::new(
        finding,
        subtitle(figures) + &words,
        CurveAxis::new(
            "distance from the line through the two neighbors",
            Quantity::Time,
        ),
        CurveAxis::new("bursts within that distance, percent", Quantity::Number),
    );
    for pair in pairs {
        let mut errors = drift::held_out(&pair.bursts);
        errors.sort_by(f64::total_cmp);
        let n = errors.len();
        let part = |i: usize| 100.0 * i as f64 / n as f64;
        let steps = errors.iter().enumerate();
        let points = steps.flat_map(|(i, &error)| [(error, part(i)), (error, part(i + 1))]);
        let words = format!("{}: {n} bursts", name(pair));
        curves.push(words, Stroke::Line, points);
    }
    curves
}

/// The result for the stop rule of the recorder.
fn with_hundred(figures: &Figures) -> Option<&Quality> {
    figures.stop_rule.iter().find(|q| q.unimproved == 100)
}

fn patience_axis() -> CurveAxis {
    let words = "N: stop after N exchanges in a row without a smaller one";
    CurveAxis::new(words, Quantity::Number).logarithmic()
}

fn quality(figures: &Figures) -> Curves {
    let finding = match with_hundred(figures) {
        Some(q) => format!(
            "With N = 100 the best round trip is {:.2} % above the smallest of all",
            q.above_least_percent
        ),
        None => "Quality of the stop rule: not known".to_owned(),
    };
    let words = "smallest round trip found, percent above the smallest of all";
    let mut curves = Curves::new(
        finding,
        subtitle(figures),
        patience_axis(),
        CurveAxis::new(words, Quantity::Number).logarithmic(),
    );
    let points = figures.stop_rule.iter();
    let points = points.map(|q| (f64::from(q.unimproved), q.above_least_percent));
    curves.push("mean over all pairs", Stroke::Line, points);
    curves
}

fn cost(figures: &Figures) -> Curves {
    let finding = match with_hundred(figures) {
        Some(q) => format!(
            "With N = 100 the stop rule takes {:.0} exchanges",
            q.exchanges
        ),
        None => "Cost of the stop rule: not known".to_owned(),
    };
    let mut curves = Curves::new(
        finding,
        subtitle(figures),
        patience_axis(),
        CurveAxis::new("exchanges made", Quantity::Number).logarithmic(),
    );
    let points = figures
        .stop_rule
        .iter()
        .map(|q| (f64::from(q.unimproved), q.exchanges));
    curves.push("mean over all pairs", Stroke::Line, points);
    curves
}

fn synchronization(figures: &Figures) -> Curves {
    let all: Vec<(f64, Spread, Spread)> = figures
        .synchronization
        .iter()
        .filter_map(|s| Some((s.hosts as f64, s.linear_ns?, s.rounds_ns?)))
        .collect();
    let finding = match all.last() {
        Some((clocks, linear, rounds)) => format!(
            "{clocks} clocks: {} one after the other, {} in rounds",
            table::duration(linear.median),
            table::duration(rounds.median)
        ),
        None => "Measuring all clocks: nothing was measured".to_owned(),
    };
    let mut curves = Curves::new(
        finding,
        subtitle(figures),
        CurveAxis::new("clocks", Quantity::Number).logarithmic(),
        CurveAxis::new("median time until all are measured", Quantity::Time),
    );
    // A single host has the reference clock: nothing to measure.
    let one = [(1.0, 0.0)];
    let linear = all.iter().map(|(clocks, time, _)| (*clocks, time.median));
    curves.push(
        "one after the other",
        Stroke::Line,
        one.into_iter().chain(linear),
    );
    let rounds = all.iter().map(|(clocks, _, time)| (*clocks, time.median));
    curves.push("in rounds", Stroke::Line, one.into_iter().chain(rounds));
    curves
}

fn simulated(simulation: &Simulation) -> Curves {
    let groups = &simulation.groups;
    let n_hosts = groups.iter().map(|group| group.hosts).max().unwrap_or(0);
    let largest = groups.iter().filter(|group| group.hosts == n_hosts);
    let ratios: Vec<String> = largest
        .map(|group| format!("{:.1} times ({})", group.ratio, group.network))
        .collect();
    let mut curves = Curves::new(
        format!(
            "{n_hosts} hosts, simulated: rounds are faster by {}",
            ratios.join(", ")
        ),
        "the recorder's schedule and stop rule (N = 100), on simulated networks",
        CurveAxis::new("hosts", Quantity::Number).logarithmic(),
        CurveAxis::new("mean time until all are measured", Quantity::Time).logarithmic(),
    );
    for of_network in groups.chunk_by(|a, b| a.network == b.network) {
        let network = of_network[0].network;
        let linear = of_network.iter().map(|g| (g.hosts as f64, g.linear_ns));
        curves.push(
            format!("{network}, one after the other"),
            Stroke::Line,
            linear,
        );
        let rounds = of_network.iter().map(|g| (g.hosts as f64, g.rounds_ns));
        curves.push(format!("{network}, in rounds"), Stroke::Line, rounds);
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_the_least_the_greatest_and_some_in_between_are_drawn() {
        let many: Vec<f64> = (0..63).map(|i| f64::from(i * 37 % 63)).collect();
        let drawn = sample_evenly(&many, |x| *x);
        assert_eq!(drawn, [&0.0, &12.0, &24.0, &37.0, &49.0, &62.0]);
        let few = [3.0, 1.0, 2.0];
        assert_eq!(sample_evenly(&few, |x| *x), [&3.0, &1.0, &2.0]);
    }

    #[test]
    fn a_range_of_one_is_that_one() {
        let shown = |x: f64| format!("{x:.0}");
        assert_eq!(range([7.0].into_iter(), shown).unwrap(), "7");
        assert_eq!(range([9.0, 7.0].into_iter(), shown).unwrap(), "7 to 9");
        assert_eq!(range(std::iter::empty(), shown), None);
    }
}
