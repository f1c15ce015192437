//! The picture of all rounds.

use std::fs;
use std::path::Path;

use anyhow::Context;
use collbench_stats::median::Median;
use collbench_text::quantity;
use collbench_viz::{CurveAxis, Curves, Picture, Quantity, Stroke};

/// Draws the share of rounds with at most some time, of each configuration, into a folder. `of`
/// names the time; `configurations` has names, and times by round, ns.
///
/// # Errors
/// Names the file.
pub(crate) fn rounds_picture<'f>(
    about: &str,
    of: &str,
    configurations: impl Iterator<Item = (&'f str, &'f [f64])>,
    folder: &Path,
) -> anyhow::Result<()> {
    let configurations: Vec<_> = configurations.collect();
    let finding = fastest(&configurations);
    let mut curves = Curves::new(
        finding,
        about,
        CurveAxis::new(of, Quantity::Time).logarithmic(),
        CurveAxis::new("rounds with at most that time, percent", Quantity::Number),
    );
    for (name, times) in configurations {
        let mut times = times.to_vec();
        times.sort_by(f64::total_cmp);
        let part = |i: usize| 100.0 * i as f64 / times.len() as f64;
        let steps = times.iter().enumerate();
        let points = steps.flat_map(|(i, &ns)| [(ns, part(i)), (ns, part(i + 1))]);
        curves.push(name, Stroke::Line, points.collect::<Vec<_>>());
    }
    let path = folder.join("rounds.svg");
    fs::write(&path, Picture::from(curves).to_svg())
        .with_context(|| format!("writing {}", path.display()))
}

/// Which configuration has the shortest median, as far as the intervals of medians tell it.
fn fastest(configurations: &[(&str, &[f64])]) -> String {
    let medians = configurations.iter().filter_map(|(name, times)| {
        let median = Median::of(times.iter().copied())?;
        Some((*name, median))
    });
    let mut medians: Vec<(&str, Median)> = medians.collect();
    medians.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let Some(((name, best), others)) = medians.split_first() else {
        return "No round counts".to_owned();
    };
    let is_slower = |other: &Median| match (best.interval, other.interval) {
        (Some((_, most)), Some((least, _))) => most < least,
        _ => false,
    };
    let alike = others.iter().filter(|(_, other)| !is_slower(other)).count();
    let time = quantity::fine_duration(best.value);
    match alike {
        _ if others.is_empty() => format!("{name}: {time}"),
        0 => format!("{name} is fastest: {time}"),
        n => format!(
            "{name} has the shortest median, {time}; {} not clearly slower",
            if n == 1 {
                "one other is".to_owned()
            } else {
                format!("{n} others are")
            }
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_is_named_only_where_intervals_tell_it() {
        let of = |from: f64| (0..9).map(|nth| from + f64::from(nth)).collect::<Vec<_>>();
        let [a, b, c] = [100.0, 104.0, 300.0].map(of);
        assert_eq!(fastest(&[("c", &c), ("a", &a)]), "a is fastest: 104 ns");
        assert_eq!(
            fastest(&[("c", &c), ("b", &b), ("a", &a)]),
            "a has the shortest median, 104 ns; one other is not clearly slower"
        );
        assert_eq!(
            fastest(&[("a", &a[..3]), ("c", &c[..3])]),
            "a has the shortest median, 101 ns; one other is not clearly slower"
        );
        assert_eq!(fastest(&[("a", &a)]), "a: 104 ns");
        assert_eq!(fastest(&[("a", &[])]), "No round counts");
    }
}
