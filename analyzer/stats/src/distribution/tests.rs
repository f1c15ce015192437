use hdrhistogram::Histogram;
use proptest::prelude::*;

use super::*;
use crate::random::Random;

/// Summary figures by the textbook formulas, in floating point, from all samples.
fn brute_force(samples: &[i64]) -> [f64; 5] {
    let mut sorted: Vec<f64> = samples.iter().map(|&s| s as f64).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let quantile = |q: f64| {
        let h = (n - 1.0) * q;
        let (low, high) = (sorted[h.floor() as usize], sorted[h.ceil() as usize]);
        low + (high - low) * (h - h.floor())
    };
    let mean = sorted.iter().sum::<f64>() / n;
    let squares: f64 = sorted.iter().map(|s| (s - mean).powi(2)).sum();
    let sd = (squares / (n - 1.0)).sqrt();
    [quantile(0.01), quantile(0.5), quantile(0.99), mean, sd]
}

fn distribution(samples: &[i64]) -> Distribution {
    let mut distribution = Distribution::default();
    samples.iter().for_each(|&s| distribution.add(s));
    distribution
}

#[test]
fn no_sample_is_no_summary_and_one_sample_has_no_deviation() {
    assert_eq!(Distribution::default().summary(None), None);
    let one = distribution(&[-7]).summary(None).unwrap();
    assert_eq!((one.n, one.total, one.min, one.max), (1, -7, -7, -7));
    assert_eq!((one.p01, one.median, one.p99, one.mean), (-7, -7, -7, -7));
    assert_eq!(one.sd, None);
}

#[test]
fn the_largest_samples_neither_panic_nor_wrap() {
    let extreme = 1i64 << 61;
    let samples = vec![extreme; 5000]
        .into_iter()
        .chain(vec![-extreme; 5000])
        .collect::<Vec<_>>();
    let summary = distribution(&samples).summary(None).unwrap();
    assert_eq!((summary.min, summary.max), (-extreme, extreme));
    assert_eq!(summary.total, 0);
    assert_eq!(summary.p99, extreme);
}

#[test]
fn buckets_are_the_same_before_and_after_the_histogram() {
    let samples: Vec<i64> = (0..9000).map(|n: i64| n * n * n / 7 - 40).collect();
    let counts = samples.iter().map(|&sample| (sample, 1));
    assert_eq!(distribution(&samples).buckets(), buckets(counts));
}

/// Adds 97 samples at a time, every third to a first part.
fn in_parts(samples: &[i64]) -> Distribution {
    let part = |is_first: bool| {
        let mut distribution = Distribution::default();
        for run in samples.chunks(97) {
            let own = run.iter().filter(|&&s| (s % 3 == 0) == is_first);
            distribution.add_all(&own.copied().collect::<Vec<_>>());
        }
        distribution
    };
    let mut whole = part(true);
    whole.merge(&part(false));
    whole
}

#[test]
fn whether_quantiles_are_exact_is_decided_by_all_parts_together() {
    let samples: Vec<i64> = (0..5000).map(|s| 1_000_003 * s).collect();
    for n in [4095, 4096, 4097, 5000] {
        let whole = distribution(&samples[..n]).summary(None).unwrap();
        assert_eq!(in_parts(&samples[..n]).summary(None).unwrap(), whole);
    }
}

proptest! {
    #[test]
    fn parts_give_the_figures_of_the_whole(
        samples in prop::collection::vec(-3_000_000_000i64..3_000_000_000, 1..400),
        n_times in 1usize..40,
        extreme in prop::option::of(any::<i64>()),
    ) {
        let few: Vec<i64> = samples.iter().map(|s| s >> (s & 31)).collect();
        let mut all = few.repeat(n_times);
        all.extend(extreme.map(|e| e >> 4));
        prop_assert_eq!(in_parts(&all).summary(None), distribution(&all).summary(None));
    }

    #[test]
    fn few_samples_give_the_figures_of_the_textbook(
        samples in prop::collection::vec(-1_000_000i64..1_000_000_000, 2..300),
    ) {
        let summary = distribution(&samples).summary(None).unwrap();
        let [p01, median, p99, mean, sd] = brute_force(&samples);
        prop_assert_eq!(summary.total, samples.iter().sum::<i64>());
        prop_assert_eq!(summary.min, *samples.iter().min().unwrap());
        prop_assert_eq!(summary.max, *samples.iter().max().unwrap());
        for (found, expected) in [
            (summary.p01, p01),
            (summary.median, median),
            (summary.p99, p99),
            (summary.mean, mean),
            (summary.sd.unwrap(), sd),
        ] {
            prop_assert!((found as f64 - expected).abs() <= 0.51, "{} {}", found, expected);
        }
    }

    #[test]
    fn many_samples_give_quantiles_within_a_thousandth(
        seed in any::<u64>(), spread in 1u32..40,
    ) {
        let mut random = Random::of(&[seed]);
        let samples: Vec<i64> = (0..6000)
            .map(|_| {
                let bits = random.below(spread as usize);
                (random.bits() & ((1 << bits) | ((1 << bits) - 1))) as i64 - 50
            })
            .collect();
        let summary = distribution(&samples).summary(None).unwrap();
        let [p01, median, p99, mean, _] = brute_force(&samples);
        for (found, expected) in [(summary.p01, p01), (summary.median, median), (summary.p99, p99)] {
            let error = (found as f64 - expected).abs();
            prop_assert!(error <= 0.51 + expected.abs() / 1000.0, "{} {}", found, expected);
        }
        prop_assert!((summary.mean as f64 - mean).abs() <= 0.51);
    }
}

fn of_precision(precision: Precision, samples: &[i64]) -> Distribution {
    let mut distribution = Distribution::new(precision);
    samples.iter().for_each(|&s| distribution.add(s));
    distribution
}

#[test]
fn more_samples_than_a_short_count_can_tell_are_counted() {
    let samples = [40; 100];
    let mut part = Distribution::new(Precision::Fine);
    (0..400).for_each(|_| part.add_all(&samples));
    let mut whole = part.clone();
    whole.add_all(&[-7, 1_000_000_007]);
    whole.merge(&part);
    (0..400).for_each(|_| whole.add_all(&samples));
    let summary = whole.summary(None).unwrap();
    let found = (summary.n, summary.p01, summary.median, summary.p99);
    assert_eq!(found, (120_002, 40, 40, 40));
    assert_eq!((summary.min, summary.max), (-7, 1_000_000_007));
    let counts = whole.histogram.unwrap();
    assert_eq!(counts.buckets().map(|(_, n)| n).max(), Some(120_000));
}

#[test]
fn a_mean_between_two_times_is_the_later_one() {
    for samples in [[-460_489, -7_638], [-1, 0], [1, 2]] {
        let expected = distribution(&samples).mean();
        let rounded = (samples[0] + samples[1] + 1).div_euclid(2);
        assert_eq!(expected, Some(rounded));
        assert_eq!(of_precision(Precision::Fine, &samples).mean(), expected);
    }
}

#[test]
fn a_graph_of_more_edges_takes_less_for_each() {
    // Exponentially distributed times.
    let samples: Vec<i64> = (1..900)
        .map(|n| (-20_000.0 * (f64::from(n) / 900.0).ln()) as i64)
        .collect();
    let room = |n_edges: usize| {
        let mut found = Distribution::new(Precision::of_edges(n_edges));
        found.add_all(&samples);
        let buckets: Vec<_> = found.histogram.unwrap().buckets().collect();
        buckets[buckets.len() - 1].0 - buckets[0].0
    };
    assert!(room(512) > 4000 && room(1023) * 5 < room(512) && room(10_240) * 3 < room(1023));
}

proptest! {
    #[test]
    fn fewer_exact_samples_say_the_same(
        samples in prop::collection::vec(-2_000_000i64..50_000_000, 1..900),
        cut in 0usize..900,
    ) {
        let mut whole = Distribution::default();
        whole.add_all(&samples);
        let expected = whole.summary(None).unwrap();
        let cut = cut.min(samples.len());
        let mut found = of_precision(Precision::Fine, &samples[..cut]);
        found.merge(&of_precision(Precision::Fine, &samples[cut..]));
        prop_assert_eq!(&found, &of_precision(Precision::Fine, &samples));
        let found = found.summary(None).unwrap();
        let mut sorted = samples.clone();
        sorted.sort_unstable();
        for (percent, found, expected) in [
            (1, found.p01, expected.p01),
            (50, found.median, expected.median),
            (99, found.p99, expected.p99),
        ] {
            // Between two samples, of which one may be negative and the other positive.
            let at = (samples.len() - 1) * percent / 100;
            let next = (at + 1).min(samples.len() - 1);
            let largest = sorted[at].abs().max(sorted[next].abs());
            prop_assert!((found - expected).abs() <= 1 + largest / 990);
        }
        let exact = |s: &Summary| (s.n, s.total, s.min, s.max, s.mean, s.sd);
        prop_assert_eq!(exact(&found), exact(&expected));
    }
}

#[test]
fn few_samples_are_exact_and_none_say_nothing() {
    assert_eq!(Distribution::new(Precision::Fine).summary(None), None);
    assert_eq!(Distribution::new(Precision::Fine).quantile(10), None);
    let found = of_precision(Precision::Coarse, &[30, -10, 20]);
    assert_eq!((found.mean(), found.quantile(50)), (Some(13), Some(20)));
    assert_eq!(found.quantile(10), Some(-4));
}

const PRECISIONS: [Precision; 4] = [
    Precision::Whole,
    Precision::Fine,
    Precision::Medium,
    Precision::Coarse,
];

/// The serialized form.
fn bytes(distribution: &Distribution) -> String {
    serde_json::to_string(distribution).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_partition_merged_in_any_order_gives_the_same_bytes(
        samples in prop::collection::vec(-3_000_000_000i64..3_000_000_000, 1..300),
        n_times in 1usize..60,
        extreme in prop::option::of(any::<i64>()),
        n_parts in 1usize..7,
        at_a_time in prop::collection::vec(1usize..200, 1..20),
        seed in any::<u64>(),
    ) {
        let mut all: Vec<i64> = samples.iter().map(|s| s >> (s & 31)).collect::<Vec<_>>().repeat(n_times);
        all.extend(extreme);
        let mut random = Random::of(&[seed]);
        let part_of: Vec<usize> = all.iter().map(|_| random.below(n_parts)).collect();
        for precision in PRECISIONS {
            let whole = of_precision(precision, &all);
            let mut parts: Vec<Distribution> = (0..n_parts)
                .map(|part| {
                    let own = all.iter().zip(&part_of).filter(|&(_, of)| *of == part);
                    let own: Vec<i64> = own.map(|(&sample, _)| sample).collect();
                    let mut distribution = Distribution::new(precision);
                    let (mut rest, mut lengths) = (&own[..], at_a_time.iter().cycle());
                    while !rest.is_empty() {
                        let length = *lengths.next().unwrap();
                        let (next, others) = rest.split_at(length.min(rest.len()));
                        let sum: i128 = next.iter().copied().map(i128::from).sum();
                        assert_eq!(distribution.add_and_sum(next), saturate(sum));
                        rest = others;
                    }
                    distribution
                })
                .collect();
            // Merges any two of them until one is left.
            while parts.len() > 1 {
                let one = parts.swap_remove(random.below(parts.len()));
                let at = random.below(parts.len());
                parts[at].merge(&one);
            }
            prop_assert_eq!(bytes(&parts[0]), bytes(&whole));
            prop_assert_eq!(&parts[0], &whole);
            let mut read: Distribution = serde_json::from_str(&bytes(&whole)).unwrap();
            prop_assert_eq!(read.summary(None), whole.summary(None));
            prop_assert_eq!(read.buckets(), whole.buckets());
            let mut twice = whole.clone();
            twice.merge(&whole);
            read.merge(&whole);
            prop_assert_eq!(bytes(&read), bytes(&twice));
        }
    }

    #[test]
    fn many_samples_give_the_quantiles_of_a_histogram_of_three_digits(
        seed in any::<u64>(), spread in 1u32..50, n in 4097usize..9000,
    ) {
        let mut random = Random::of(&[seed]);
        let samples: Vec<i64> = (0..n).map(|_| random.below(1 << spread) as i64).collect();
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        samples.iter().for_each(|&sample| histogram.record(sample as u64).unwrap());
        let counts: Vec<(i64, u64)> = histogram
            .iter_recorded()
            .map(|bucket| {
                let middle = histogram.median_equivalent(bucket.value_iterated_to());
                (middle as i64, bucket.count_at_value())
            })
            .collect();
        let (min, max) = (*samples.iter().min().unwrap(), *samples.iter().max().unwrap());
        let at = |position: usize| {
            let mut behind = 0;
            let found = counts.iter().find(|(_, n)| {
                behind += *n as usize;
                behind > position
            });
            found.unwrap().0.clamp(min, max)
        };
        let all = distribution(&samples);
        for percent in [0, 1, 10, 50, 99, 100] {
            let scaled = (n - 1) * percent;
            let (low, high) = (at(scaled / 100), at((scaled / 100 + 1).min(n - 1)));
            let step = rounded_div(i128::from(high - low) * (scaled % 100) as i128, 100);
            prop_assert_eq!(all.quantile(percent as u64), Some(low + step as i64));
        }
    }
}

#[test]
fn what_cannot_be_the_written_form_of_samples_is_refused() {
    let written = bytes(&of_precision(Precision::Coarse, &[5; 40]));
    assert!(serde_json::from_str::<Distribution>(&written).is_ok());
    for (is, damaged) in [
        ("[[5,40]]", "[[5,39]]"),
        ("[[5,40]]", "[[5,41]]"),
        ("[[5,40]]", "[[6,40]]"),
        ("[[5,40]]", "[[5,20],[5,20]]"),
        ("[[5,40]]", "[]"),
        ("[5,5]", "[5,6]"),
        ("\"n\":40", "\"n\":31"),
    ] {
        assert!(written.contains(is), "{written}");
        let damaged = written.replace(is, damaged);
        assert!(
            serde_json::from_str::<Distribution>(&damaged).is_err(),
            "{damaged}"
        );
    }
    let listed = bytes(&of_precision(Precision::Whole, &[5; 40]));
    assert!(serde_json::from_str::<Distribution>(&listed.replace("Whole", "Coarse")).is_err());
}
