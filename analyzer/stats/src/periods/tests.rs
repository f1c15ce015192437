//! Periods that are there are found, and none where there is none.

use super::*;
use crate::random::Random;

/// Pseudorandom numbers in 0..1, the same in every run.
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut random = Random::of(&[seed]);
    move || random.unit()
}

const SECOND: f64 = 1e9;

/// Instances about every 10 ms for a minute.
fn instances(random: &mut impl FnMut() -> f64) -> Vec<i64> {
    let mut now = 0.0;
    let mut times = Vec::new();
    while now < 60.0 * SECOND {
        now += 0.01 * SECOND * (0.9 + 0.2 * random());
        times.push(now as i64);
    }
    times
}

fn search(events: &[i64], instances: &[i64]) -> Option<Period> {
    search_among(events, instances, 23)
}

/// With every n-th instance as a sample.
fn search_among(events: &[i64], instances: &[i64], n: usize) -> Option<Period> {
    let events: Vec<(i64, usize)> = events.iter().map(|&time| (time, 0)).collect();
    let background = instances.iter().step_by(n).copied().collect();
    find_period(&EventTimes {
        events: &events,
        background: &[background],
        range_ns: (instances[0], instances[instances.len() - 1]),
        interval_ns: 0.01 * SECOND,
    })
}

/// The first instance after each time.
fn next_after(times: impl Iterator<Item = f64>, instances: &[i64]) -> Vec<i64> {
    times
        .filter_map(|time| instances.iter().find(|&&i| i as f64 > time).copied())
        .collect()
}

#[test]
fn events_every_second_among_others_have_that_period() {
    for seed in 0..10 {
        let mut random = random(seed);
        let instances = instances(&mut random);
        let beats = (0..59).map(|n| (0.3 + f64::from(n)) * SECOND);
        let mut events = next_after(beats, &instances);
        for _ in 0..60 {
            events.push(instances[(random() * instances.len() as f64) as usize]);
        }
        let found = search(&events, &instances).expect("there is a rhythm");
        let error = (found.period_ns / SECOND - 1.0).abs();
        assert!(error < 1e-3, "seed {seed}: {found:?}");
        assert!(
            error * SECOND < 5.0 * found.period_error_ns,
            "seed {seed}: {found:?}"
        );
        // Once in each cycle, and few of those that are there by chance.
        let n_own = found.events.iter().filter(|e| e.index < 59).count();
        let n = found.events.len() + found.further.len();
        assert!(n_own >= 57 && found.events.len() <= 60, "{n_own} {found:?}");
        assert!(n < 70, "{n}");
    }
}

#[test]
fn random_events_have_no_period_even_if_the_program_has_one() {
    for seed in 0..16 {
        let mut random = random(1000 + seed);
        let mut instances = instances(&mut random);
        if seed % 2 == 1 {
            // A program that calls in bursts, in half of every second.
            instances.retain(|&time| time % 1_000_000_000 < 500_000_000);
        }
        // Late in one part of the run only, as when lateness moves from rank to rank.
        let from = (seed % 4) as f64 * 0.1;
        let events: Vec<i64> = (0..200)
            .map(|_| {
                let place = from + (1.0 - 2.0 * from) * random();
                instances[(place * instances.len() as f64) as usize]
            })
            .collect();
        assert_eq!(search(&events, &instances), None, "seed {seed}");
    }
}

#[test]
fn of_several_events_in_a_cycle_one_counts() {
    for seed in 0..20 {
        let mut random = random(2000 + seed);
        let instances = instances(&mut random);
        // Of an interruption up to four late arrivals are seen, and the run begins and ends in one.
        let beats = (0..61).map(|n| f64::from(n) * SECOND);
        let mut times: Vec<f64> = Vec::new();
        for beat in beats {
            let n = 1 + (random() * 4.0) as u32;
            times.extend((0..n).map(|n| beat + 0.025 * f64::from(n) * SECOND));
        }
        let events = next_after(times.into_iter(), &instances);
        let found = search(&events, &instances).expect("there is a rhythm");
        let length = (instances[instances.len() - 1] - instances[0]) as f64;
        let most = length / found.period_ns + 1.0;
        assert!(found.events.len() as f64 <= most, "seed {seed}: {found:?}");
        let mut cycles: Vec<i64> = found.events.iter().map(|event| event.cycle).collect();
        cycles.sort_unstable();
        cycles.dedup();
        assert_eq!(cycles.len(), found.events.len(), "seed {seed}");
        assert!(cycles.len() >= 50 && found.further.len() > 20, "{found:?}");
    }
}

#[test]
fn a_dozen_exact_events_among_small_ones_have_a_period() {
    let mut n_found = 0;
    for seed in 0..20 {
        let mut random = random(3000 + seed);
        let instances = instances(&mut random);
        let beats = (0..12).map(|n| (0.7 + 5.0 * f64::from(n)) * SECOND);
        let mut events = next_after(beats, &instances);
        // One that is larger, and many that are smaller.
        events.insert(0, instances[(random() * instances.len() as f64) as usize]);
        for _ in 0..200 {
            events.push(instances[(random() * instances.len() as f64) as usize]);
        }
        // Others by chance at the opposite phase hide it now and then.
        let Some(found) = search(&events, &instances) else {
            continue;
        };
        n_found += 1;
        let error = (found.period_ns / SECOND - 5.0).abs();
        assert!(error < 5e-3, "seed {seed}: {found:?}");
    }
    assert!(n_found >= 18, "{n_found} of 20");
}

#[test]
fn five_events_throughout_the_run_have_a_period() {
    for seed in 0..20 {
        let mut random = random(5000 + seed);
        let instances = instances(&mut random);
        let beats = (0..5).map(|n| (1.0 + 14.0 * f64::from(n)) * SECOND);
        let events = next_after(beats, &instances);
        let found = search_among(&events, &instances, 2);
        let found = found.unwrap_or_else(|| panic!("seed {seed}: {events:?}"));
        let error = (found.period_ns / SECOND - 14.0).abs();
        assert!(error < 5e-3, "seed {seed}: {found:?}");
        assert_eq!(found.events.len(), 5, "seed {seed}");
        // Four are too few.
        assert_eq!(
            search_among(&events[..4], &instances, 2),
            None,
            "seed {seed}"
        );
    }
}

#[test]
fn few_random_events_have_no_period() {
    // Up to a thousandth of them may, by chance.
    let mut n_found = 0;
    for seed in 0..800 {
        let mut random = random(4000 + seed);
        let instances: Vec<i64> = instances(&mut random).into_iter().step_by(5).collect();
        let n = 5 + seed as usize % 27;
        let events: Vec<i64> = (0..n)
            .map(|_| instances[(random() * instances.len() as f64) as usize])
            .collect();
        n_found += usize::from(search(&events, &instances).is_some());
    }
    assert!(n_found <= 3, "{n_found} of 800");
}

#[test]
fn a_few_events_or_none_have_no_period() {
    let mut random = random(9);
    let instances = instances(&mut random);
    assert_eq!(search(&[], &instances), None);
    let beats = (0..7).map(|n| (0.3 + f64::from(n)) * SECOND);
    assert_eq!(search(&next_after(beats, &instances), &instances), None);
}
