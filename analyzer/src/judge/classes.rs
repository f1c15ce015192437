//! Classes of processes that arrive, wait and leave alike, with a representative of each.
//!
//! A process is described by its mean lag, wait and departure wait. All processes begin as one
//! class. The class with the widest spread of any of the three is split in two where the two parts
//! are most alike within themselves, as long as the spread is significant: wider than the clocks
//! resolve, than chance explains (from the scatter of the processes' own calls, and the number of
//! processes), and than a tenth of the mean time that a process spends. So processes that do not
//! differ are in one class, and processes that differ gradually are divided into bands.
//!
//! Classes of equal activity over time were not chosen: means suffice to decide which processes to
//! look at, and sections of the run show changes over time.

use std::cmp::Ordering;

/// Most classes.
pub(crate) const MAX_CLASSES: usize = 8;

/// Mean lag, wait and departure wait of one process, ns; `None` where it is not known.
pub(crate) type Features = [Option<i64>; 3];

/// Processes that behave alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Class {
    /// Indexes of its processes, ascending; at least one.
    pub(crate) members: Vec<usize>,
    /// The one that is nearest to the mean of all (the first of several).
    pub(crate) representative: usize,
}

/// Sorts processes into classes, ordered by their first members. `tolerance_ns` is for each feature
/// the spread that is not significant.
pub(crate) fn classes(features: &[Features], tolerance_ns: [f64; 3]) -> Vec<Class> {
    // Processes of which different things are known are not compared with one another.
    let known = |process: usize| features[process].map(|feature| feature.is_some());
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for process in 0..features.len() {
        let alike = |part: &&mut Vec<usize>| known(part[0]) == known(process);
        match parts.iter_mut().find(alike) {
            Some(part) => part.push(process),
            None => parts.push(vec![process]),
        }
    }
    while parts.len() < MAX_CLASSES {
        let widest = parts
            .iter()
            .enumerate()
            .filter_map(|(index, part)| {
                let (excess, feature) = widest_spread(features, part, tolerance_ns)?;
                Some((excess, feature, index))
            })
            // Of equal ones the first.
            .reduce(|best, next| match next.0.total_cmp(&best.0) {
                Ordering::Greater => next,
                _ => best,
            });
        let Some((_, feature, index)) = widest else {
            break;
        };
        let (low, high) = cut(features, &parts[index], feature);
        parts[index] = low;
        parts.push(high);
    }
    for part in &mut parts {
        part.sort_unstable();
    }
    parts.sort_unstable();
    parts
        .into_iter()
        .map(|members| Class {
            representative: representative(features, &members),
            members,
        })
        .collect()
}

/// The feature whose spread exceeds its tolerance by the largest factor, if one does.
fn widest_spread(
    features: &[Features],
    part: &[usize],
    tolerance_ns: [f64; 3],
) -> Option<(f64, usize)> {
    (0..3)
        .filter_map(|feature| {
            let values = part.iter().filter_map(|&p| features[p][feature]);
            let (least, most) = (values.clone().min()?, values.max()?);
            let spread = most as f64 - least as f64;
            let factor = spread / tolerance_ns[feature].max(1.0);
            (factor > 1.0).then_some((factor, feature))
        })
        .reduce(|best, next| match next.0.total_cmp(&best.0) {
            Ordering::Greater => next,
            _ => best,
        })
}

/// Cuts a part in two along a feature, where the squares of the distances from the two means are
/// least in sum (the first of several places).
fn cut(features: &[Features], part: &[usize], feature: usize) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<(i64, usize)> = part
        .iter()
        .map(|&process| (features[process][feature].unwrap_or(0), process))
        .collect();
    order.sort_unstable();
    let n = order.len() as f64;
    // Against the least, so that squares of large times do not lose small differences.
    let base = order[0].0;
    let above = |value: i64| (value - base) as f64;
    let total: f64 = order.iter().map(|&(value, _)| above(value)).sum();
    let (mut best, mut best_at) = (f64::MIN, 1);
    let mut sum = 0.0;
    for at in 1..order.len() {
        sum += above(order[at - 1].0);
        if order[at].0 == order[at - 1].0 {
            continue;
        }
        // Least squares within the parts are largest squares between their means.
        let (below, rest) = (at as f64, n - at as f64);
        let between = sum * sum / below + (total - sum) * (total - sum) / rest;
        if between > best {
            (best, best_at) = (between, at);
        }
    }
    let (low, high) = order.split_at(best_at);
    let processes = |part: &[(i64, usize)]| part.iter().map(|&(_, process)| process).collect();
    (processes(low), processes(high))
}

fn representative(features: &[Features], members: &[usize]) -> usize {
    let mean = |feature: usize| {
        let values = members.iter().filter_map(|&p| features[p][feature]);
        values.map(|value| value as f64).sum::<f64>() / members.len() as f64
    };
    let means = [mean(0), mean(1), mean(2)];
    let distance = |process: usize| -> f64 {
        let of = |feature: usize| {
            features[process][feature].map_or(0.0, |value| value as f64 - means[feature])
        };
        (0..3).map(|feature| of(feature).powi(2)).sum()
    };
    let nearest = members
        .iter()
        .map(|&process| (distance(process), process))
        .reduce(|best, next| if next.0 < best.0 { next } else { best });
    nearest.map_or(0, |(_, process)| process)
}

#[cfg(test)]
mod tests {
    use super::*;
    use collbench_stats::random::Random;

    const TOLERANCE: [f64; 3] = [10.0; 3];

    fn members(features: &[Features]) -> Vec<Vec<usize>> {
        let classes = classes(features, TOLERANCE);
        classes.into_iter().map(|class| class.members).collect()
    }

    #[test]
    fn nobody_is_told_apart_who_does_not_differ() {
        let alike: Vec<Features> = (0..64)
            .map(|p| [Some(100 + p % 10), Some(50), None])
            .collect();
        let found = classes(&alike, TOLERANCE);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].members.len(), 64);
        assert_eq!(classes(&[], TOLERANCE), []);
    }

    #[test]
    fn one_that_is_late_and_two_that_leave_late_are_classes_of_their_own() {
        let mut features: Vec<Features> =
            (0..12).map(|_| [Some(500), Some(500), Some(5)]).collect();
        features[7] = [Some(0), Some(0), Some(5)];
        features[3][2] = Some(80);
        features[9][2] = Some(82);
        assert_eq!(
            members(&features),
            [vec![0, 1, 2, 4, 5, 6, 8, 10, 11], vec![3, 9], vec![7]]
        );
    }

    #[test]
    fn of_what_nothing_is_known_is_a_class_of_its_own() {
        let features = [[Some(1); 3], [None; 3], [Some(2); 3]];
        assert_eq!(members(&features), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn gradual_differences_make_bands_and_the_middle_one_stands_for_each() {
        let ramp: Vec<Features> = (0..80).map(|p| [Some(p * 7), None, None]).collect();
        let found = classes(&ramp, TOLERANCE);
        assert_eq!(found.len(), MAX_CLASSES);
        for class in &found {
            let (first, last) = (class.members[0], class.members[class.members.len() - 1]);
            assert_eq!(class.members, (first..=last).collect::<Vec<_>>());
            assert_eq!(class.representative, (first + last) / 2);
        }
    }

    #[test]
    fn the_cut_is_the_one_that_trying_all_finds() {
        let mut random = Random::of(&[3]);
        for _ in 0..200 {
            let features: Vec<Features> = (0..9)
                .map(|_| [Some(random.below(512) as i64), None, None])
                .collect();
            let part: Vec<usize> = (0..9).collect();
            let squares = |part: &[i64]| {
                let mean = part.iter().sum::<i64>() as f64 / part.len() as f64;
                part.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>()
            };
            let mut values: Vec<i64> = features.iter().map(|f| f[0].unwrap()).collect();
            values.sort_unstable();
            let at = |at: usize| squares(&values[..at]) + squares(&values[at..]);
            let least = (1..9).map(at).fold(f64::MAX, f64::min);
            let (low, _) = cut(&features, &part, 0);
            assert!((at(low.len()) - least).abs() < 1e-6);
        }
    }

    #[test]
    fn thousands_of_processes_make_no_more_than_eight_classes() {
        let features: Vec<Features> = (0..4096i64)
            .map(|p| [Some(p * 7919 % 4096 * 100), Some(p * 31 % 977), Some(p)])
            .collect();
        assert_eq!(classes(&features, TOLERANCE).len(), MAX_CLASSES);
    }
}
