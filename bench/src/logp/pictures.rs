//! Pictures of the figures.

use std::collections::BTreeSet;
use std::path::Path;

use collbench_text::quantity::fine_duration;
use collbench_viz::{
    BarPart, CurveAxis, Curves, Palette, Picture, Quantity, RatioAxis, RatioCell, RatioMap,
    RatioScale, StackedBars, Stroke,
};

use super::figures::{Figures, OfClass};
use super::model::{Cost, Curve, Estimate, Limit, OfSize};
use super::table;
use crate::folder;

/// Sizes of bulk messages whose signatures are drawn beside one another.
const SURFACE: usize = 6;

/// Writes all pictures into a directory.
///
/// # Errors
/// Names the file.
pub(super) fn write(figures: &Figures, folder: &Path) -> anyhow::Result<()> {
    folder::write(folder, "summary", &summary(figures).into())?;
    for of_class in &figures.classes {
        let links = of_class.class.name.replace(' ', "-").to_lowercase();
        let write = |name: &str, picture: Picture| {
            folder::write(folder, &format!("{name}-{links}"), &picture)
        };
        write("signature", signature(figures, of_class).into())?;
        if !of_class.sizes.is_empty() {
            write("bulk-signature", bulk_signature(figures, of_class).into())?;
            write("bulk-surface", bulk_surface(figures, of_class).into())?;
            write("times", times(figures, of_class).into())?;
            write("bandwidth", bandwidth(figures, of_class).into())?;
            write("overhead", overhead(figures, of_class).into())?;
        }
    }
    Ok(())
}

/// Between which processes a class was measured.
fn subtitle(figures: &Figures, of_class: &OfClass) -> String {
    let [from, to] = of_class.between.map(|rank| figures.process(rank));
    let library = figures
        .mpi_library
        .as_deref()
        .unwrap_or("simulated network");
    let library = library.split(',').next().unwrap_or_default();
    format!(
        "{} links, between {from} and {to}, {library}",
        of_class.class.name
    )
}

/// Figure 6 of the paper: the time of one way, divided into overheads and latency, and the gap.
fn summary(figures: &Figures) -> StackedBars {
    let one_way = |of_class: &OfClass| of_class.signature.round_trip.mean.ns / 2.0;
    let times: Vec<String> = figures
        .classes
        .iter()
        .map(|of_class| {
            let time = fine_duration(one_way(of_class));
            format!("{} {time}", of_class.class.name)
        })
        .collect();
    let mut bars = StackedBars::new(
        format!("A small message takes: {}", times.join(", ")),
        "o_s: send overhead, L: latency, o_r: receive overhead, g: gap between messages",
    );
    for of_class in &figures.classes {
        let Some(parameters) = &of_class.parameters else {
            continue;
        };
        let name = &of_class.class.name;
        let parts = [
            ("o_s", Some(parameters.send_overhead.estimate)),
            ("L", parameters.latency),
            ("o_r", of_class.receive_overhead()),
        ];
        let part = |(name, estimate): (&str, Option<Estimate>)| BarPart::new(name, estimate?.ns);
        bars.push(
            format!("{name}, one way"),
            parts.into_iter().filter_map(part).collect(),
        );
        let gap = match parameters.regimes.limit {
            Limit::Gap => "g",
            Limit::Overhead | Limit::Capacity => "g (at most)",
        };
        let gap = BarPart::new(gap, parameters.gap.estimate.ns);
        bars.push(
            format!("{name}, between messages"),
            gap.into_iter().collect(),
        );
    }
    bars
}

fn burst_axis() -> CurveAxis {
    CurveAxis::new("M: requests in a burst", Quantity::Number).logarithmic()
}

fn cost_axis() -> CurveAxis {
    CurveAxis::new("time of a request", Quantity::Time).logarithmic()
}

fn points(curve: &Curve) -> impl Iterator<Item = (f64, f64)> + '_ {
    let points = curve.points.iter();
    points.map(|point| (point.m as f64, point.cost.mean.ns))
}

/// Figure 5 of the paper.
fn signature(figures: &Figures, of_class: &OfClass) -> Curves {
    let finding = match &of_class.parameters {
        Some(found) => {
            let sent = fine_duration(found.send_overhead.estimate.ns);
            let gap = fine_duration(found.gap.estimate.ns);
            let at_most = match found.regimes.limit {
                Limit::Gap => "",
                Limit::Overhead | Limit::Capacity => " at most",
            };
            format!("Sending takes {sent}, the gap is {gap}{at_most}")
        }
        None => "The signature shows no parameters".to_owned(),
    };
    let regimes = of_class.parameters.as_ref().map(table::regimes);
    let subtitle = format!(
        "{}; {}",
        subtitle(figures, of_class),
        regimes.unwrap_or_default()
    );
    let mut curves = Curves::new(finding, subtitle, burst_axis(), cost_axis());
    for curve in &of_class.signature.curves {
        let name = format!("D = {}", fine_duration(curve.delay.ns));
        curves.push(name, Stroke::Line, points(curve));
    }
    curves
}

/// Signatures without a delay, for some sizes from the smallest to the largest.
fn bulk_signature(figures: &Figures, of_class: &OfClass) -> Curves {
    let sizes = &of_class.sizes;
    let mut curves = Curves::new(
        "Signatures of bulk messages",
        format!("{}; no delay between messages", subtitle(figures, of_class)),
        burst_axis(),
        cost_axis(),
    );
    let step = sizes.len().saturating_sub(1).max(1);
    let n = SURFACE.min(sizes.len());
    for i in 0..n {
        let size = &sizes[i * step / n.saturating_sub(1).max(1)];
        if let Some(curve) = size.signature.curves.first() {
            curves.push(format!("{} bytes", size.bytes), Stroke::Line, points(curve));
        }
    }
    curves
}

/// The signature as a surface over the length of bursts and the size of messages: the time of a
/// request without a delay, by the gap of that size.
fn bulk_surface(figures: &Figures, of_class: &OfClass) -> RatioMap {
    let gap_ns = |size: &OfSize| Some(size.parameters.as_ref()?.gap.estimate.ns);
    let sizes: Vec<(&OfSize, f64)> = of_class
        .sizes
        .iter()
        .filter_map(|size| Some((size, gap_ns(size)?)))
        .collect();
    let points = |size: &OfSize| {
        let curve = size.signature.curves.first();
        curve.map_or(Vec::new(), |curve| curve.points.clone())
    };
    let lengths: BTreeSet<usize> = sizes
        .iter()
        .flat_map(|(size, _)| points(size))
        .map(|point| point.m)
        .filter(|m| m.is_power_of_two())
        .collect();
    let lengths: Vec<usize> = lengths.into_iter().collect();
    let axis = |title: &str, names: Vec<String>| RatioAxis {
        title: title.into(),
        names: names.into_iter().map(Into::into).collect(),
    };
    let mut map = RatioMap::new(
        "Bulk messages: below 1 the processor is faster than the network",
        subtitle(figures, of_class),
        axis(
            "M: requests in a burst",
            lengths.iter().map(ToString::to_string).collect(),
        ),
        axis(
            "n: bytes of a message",
            sizes
                .iter()
                .map(|(size, _)| size.bytes.to_string())
                .collect(),
        ),
        Palette::Lightness,
    );
    let title = "time of a request, by the gap g(n)";
    map.push(title, RatioScale::FromZero, |column, row| {
        let (size, gap_ns) = sizes[row];
        let m = lengths[column];
        let point = points(size).into_iter().find(|point| point.m == m);
        let cost_ns = point.map(|point| point.cost.mean.ns);
        let cost = cost_ns.map_or_else(|| "not measured".to_owned(), fine_duration);
        let bytes = size.bytes;
        RatioCell {
            value: cost_ns.map(|ns| ns / gap_ns),
            is_doubtful: false,
            tooltip: format!("{bytes} bytes, M = {m}: {cost}").into(),
        }
    });
    map
}

fn size_axis() -> CurveAxis {
    CurveAxis::new("n: bytes of a message", Quantity::Number).logarithmic()
}

fn over_sizes(
    of_class: &OfClass,
    time: impl Fn(&OfSize) -> Option<f64>,
) -> impl Iterator<Item = (f64, f64)> {
    let sizes = of_class.sizes.iter();
    sizes.filter_map(move |size| Some((size.bytes as f64, time(size)?)))
}

/// Figure 7a of the paper, and the gap.
fn times(figures: &Figures, of_class: &OfClass) -> Curves {
    let finding = match of_class.lines.gap_per_byte_ns {
        Some(ns) => format!("Each byte more takes {ns:.4} ns"),
        None => "Times of bulk messages".to_owned(),
    };
    let time_axis = CurveAxis::new("time", Quantity::Time).logarithmic();
    let mut curves = Curves::new(finding, subtitle(figures, of_class), size_axis(), time_axis);
    let transfer = |size: &OfSize| Some(size.signature.round_trip.mean.ns);
    curves.push(
        "T(n): a store until its reply",
        Stroke::Line,
        over_sizes(of_class, transfer),
    );
    let get = |size: &OfSize| size.get.map(|cost| cost.mean.ns);
    curves.push("a get", Stroke::Line, over_sizes(of_class, get));
    let gap = |size: &OfSize| Some(size.parameters.as_ref()?.gap.estimate.ns);
    curves.push(
        "g(n): between stores",
        Stroke::Line,
        over_sizes(of_class, gap),
    );
    let by_round_trips = |size: &OfSize| size.round_trips.map(|times| times.gap().ns);
    curves.push(
        "g(n) by parametrized round trips",
        Stroke::Line,
        over_sizes(of_class, by_round_trips),
    );
    curves
}

/// Figure 7b of the paper.
fn bandwidth(figures: &Figures, of_class: &OfClass) -> Curves {
    let of_one = |size: &OfSize| Some(size.bytes as f64 / size.signature.round_trip.mean.ns);
    let best = over_sizes(of_class, of_one)
        .map(|(_, rate)| rate)
        .fold(0.0, f64::max);
    let megabytes = CurveAxis::new("MB/s", Quantity::Number).logarithmic();
    let mut curves = Curves::new(
        format!("One store at a time reaches {}", table::bandwidth(best)),
        subtitle(figures, of_class),
        size_axis(),
        megabytes,
    );
    curves.push(
        "n / T(n): one store at a time",
        Stroke::Line,
        over_sizes(of_class, |size| Some(1e3 * of_one(size)?)),
    );
    let of_many = |size: &OfSize| {
        let parameters = size.parameters.as_ref()?;
        Some(1e3 * size.bytes as f64 / parameters.gap.estimate.ns)
    };
    curves.push(
        "n / g(n): one store after the other",
        Stroke::Line,
        over_sizes(of_class, of_many),
    );
    curves
}

/// Figure 10 of the paper.
fn overhead(figures: &Figures, of_class: &OfClass) -> Curves {
    let mut curves = Curves::new(
        "Time of the processor for a bulk message",
        subtitle(figures, of_class),
        size_axis(),
        CurveAxis::new("time", Quantity::Time).logarithmic(),
    );
    let sent = |size: &OfSize| Some(size.parameters.as_ref()?.send_overhead.estimate.ns);
    curves.push("o_s(n)", Stroke::Line, over_sizes(of_class, sent));
    let by_round_trips = |size: &OfSize| size.round_trips.map(|times| times.overhead().ns);
    curves.push(
        "o_s(n) by parametrized round trips",
        Stroke::Line,
        over_sizes(of_class, by_round_trips),
    );
    let received = |size: &OfSize| size.receipt.map(|Cost { mean, .. }| mean.ns);
    curves.push(
        "o_r(n), directly",
        Stroke::Line,
        over_sizes(of_class, received),
    );
    curves
}
