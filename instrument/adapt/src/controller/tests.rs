//! Worlds of which everything is known: how long each candidate takes, who is late, and when that changes.

use proptest::prelude::*;

use super::*;
use crate::follow::{Follower, Next, Took};

/// How often a random world is made up.
fn n_worlds() -> u64 {
    match std::env::var("COLLBENCH_TESTS_LONG") {
        Ok(_) => 100_000,
        Err(_) => 1_000,
    }
}

/// A program that makes the same call again and again.
struct World {
    n_processes: usize,
    /// Time of each candidate from the last arrival on, ns, by the number of the call.
    times: Box<dyn Fn(usize, u64) -> f64>,
    /// The standard deviation of these times, as a share.
    noise: f64,
    /// How much later than the others the process with this rank calls, ns.
    lateness: Box<dyn Fn(usize, u64) -> f64>,
    /// Time of a control point, ns.
    control_ns: f64,
    random: Random,
}

/// What a program of some calls has met.
struct Run {
    /// The candidate of each call.
    used: Vec<usize>,
    /// Decisions, with the number of the call before which they were made.
    decisions: Vec<(u64, Decision)>,
    /// Time of all calls and control points, ns.
    took_ns: f64,
}

impl World {
    fn of(times: &[f64], seed: u64) -> Self {
        let times = times.to_vec();
        Self {
            n_processes: 8,
            times: Box::new(move |of, _| times[of]),
            noise: 0.03,
            lateness: Box::new(|_, _| 0.0),
            control_ns: 2.4e6,
            random: Random::of(&[seed]),
        }
    }

    /// The time in a call of each process, and until the last one has left.
    fn call(&mut self, candidate: usize, nth: u64) -> (Vec<f64>, f64) {
        let noise = self.random.normal(1_000_000, (self.noise * 1e6) as u64) as f64 / 1e6;
        let core = (self.times)(candidate, nth) * noise.max(0.1);
        let late: Vec<f64> = (0..self.n_processes)
            .map(|rank| (self.lateness)(rank, nth))
            .collect();
        let last = late.iter().copied().fold(0.0, f64::max);
        (late.iter().map(|late| last - late + core).collect(), core)
    }

    fn options(n_candidates: usize, seed: u64) -> Options {
        Options {
            n_candidates,
            learned: None,
            cost: 0.02,
            waits_for_all: true,
            is_crowded: false,
            may_switch: true,
            seed,
        }
    }

    fn run(&mut self, options: Options, n_calls: usize) -> Run {
        let mut controller = Controller::new(options);
        let first = Plan::first(options.n_candidates, options.seed, options.learned.as_ref());
        let mut follower = Follower::new(first);
        let mut run = Run {
            used: Vec::new(),
            decisions: Vec::new(),
            took_ns: 0.0,
        };
        let nothing = vec![Vec::new(); self.n_processes];
        let mut own: Vec<Vec<i64>> = nothing.clone();
        while run.used.len() < n_calls {
            let nth = run.used.len() as u64;
            match follower.next() {
                Next::Call(step) => {
                    let candidate = usize::from(step.candidate);
                    if step.is_timed {
                        let (times, core) = self.call(candidate, nth);
                        for (own, time) in own.iter_mut().zip(&times) {
                            own.push(*time as i64);
                        }
                        run.took_ns += core;
                    } else {
                        run.took_ns += (self.times)(candidate, nth);
                    }
                    run.used.push(candidate);
                    follower.made(Took::Ns(1), false);
                }
                Next::Control => {
                    let figures = Figures::of(follower.plan(), own.iter().map(|own| &own[..]));
                    let plan = follower.plan();
                    let all_ns = self.control_ns * self.n_processes as f64;
                    let control_ns = (!run.decisions.is_empty()).then_some(all_ns);
                    let decision = controller.decide(plan, &figures, control_ns);
                    run.took_ns += self.control_ns;
                    assert_eq!(decision.plan.begin, nth);
                    follower = Follower::new(decision.plan.clone());
                    run.decisions.push((nth, decision));
                    own.clone_from(&nothing);
                }
            }
        }
        run
    }
}

impl Run {
    /// How often the candidate in use has changed.
    fn switches(&self) -> Vec<(u64, usize)> {
        let changed = self
            .decisions
            .iter()
            .filter(|(_, of)| of.in_use != of.before);
        changed.map(|(at, of)| (*at, of.in_use)).collect()
    }

    fn in_use_at(&self, call: u64) -> usize {
        let before = self.decisions.iter().take_while(|(at, _)| *at <= call);
        before.last().map_or(0, |(_, of)| of.in_use)
    }
}

#[test]
fn the_best_of_three_in_the_worst_order_is_in_use_within_60_calls_and_all_costs_five_percent() {
    for seed in 0..100 {
        let mut world = World::of(&[6.2e6, 4.4e6, 2.4e6], seed);
        // A control point goes to another site and back, a call one way.
        world.control_ns = 6e6;
        let mut options = World::options(3, seed);
        options.is_crowded = seed % 2 == 0;
        let run = world.run(options, 2_000);
        assert_eq!(run.in_use_at(60), 2, "seed {seed}: {:?}", run.switches());
        assert_eq!(run.in_use_at(2_000), 2);
        let share = run.took_ns / (2_000.0 * 2.4e6);
        assert!(
            share < 1.05,
            "seed {seed}: {share}, {} control points",
            run.decisions.len()
        );
    }
}

#[test]
fn the_best_of_six_is_in_use_within_150_calls() {
    for seed in 0..100 {
        let mut world = World::of(&[1.0e6, 0.9e6, 0.7e6, 1.3e6, 0.8e6, 0.5e6], seed);
        let run = world.run(World::options(6, seed), 400);
        assert_eq!(run.in_use_at(150), 5, "seed {seed}: {:?}", run.switches());
    }
}

#[test]
fn equal_candidates_are_not_switched_to_and_cost_no_more_than_they_may() {
    let mut n_switches = 0;
    for seed in 0..200 {
        let mut world = World::of(&[1e6, 1e6], seed);
        world.noise = 0.1;
        world.control_ns = 1e6;
        let run = world.run(World::options(2, seed), 20_000);
        n_switches += run.switches().len();
        let (_, last) = run.decisions.last().unwrap();
        assert!(
            last.spent_ns <= last.allowed_ns * 1.1,
            "{} of {}",
            last.spent_ns,
            last.allowed_ns
        );
        assert!(
            run.decisions.len() < 80,
            "{} control points",
            run.decisions.len()
        );
    }
    assert!(n_switches <= 10, "{n_switches} switches in 200 runs");
}

#[test]
fn control_points_take_a_thousandth_of_the_time_in_the_long_run() {
    let mut world = World::of(&[1e6, 2e6], 1);
    world.control_ns = 1e6;
    let run = world.run(World::options(2, 1), 300_000);
    let late = run.decisions.iter().filter(|(at, _)| *at > 150_000).count();
    assert!((50..=150).contains(&late), "{late}");
}

#[test]
fn a_change_is_noticed_within_200_calls_and_a_late_process_is_none() {
    for seed in 0..100 {
        let mut world = World::of(&[], seed);
        world.times = Box::new(|of, nth| match (of, nth < 600) {
            (0, true) | (1, false) => 2.4e6,
            (2, _) => 5e6,
            _ => 4e6,
        });
        let run = world.run(World::options(3, seed), 2_000);
        assert_eq!(run.in_use_at(599), 0);
        assert_eq!(run.in_use_at(800), 1, "seed {seed}: {:?}", run.switches());
        assert!(run.switches().len() <= 2, "{:?}", run.switches());

        let mut world = World::of(&[2.4e6, 2.6e6, 4e6], seed);
        world.lateness = Box::new(|rank, nth| if rank == 3 && nth >= 1_000 { 3e6 } else { 0.0 });
        let run = world.run(World::options(3, seed), 4_000);
        assert!(
            run.switches().is_empty(),
            "seed {seed}: {:?}",
            run.switches()
        );
    }
}

#[test]
fn a_change_among_times_of_a_busy_machine_is_found_when_what_the_other_took_is_less() {
    let mut n_found = 0;
    for seed in 0..200 {
        let mut world = World::of(&[], seed);
        // At first all takes up to seven times as long, for a while at a time; then all is quiet; then links change.
        let busy = move |nth: u64| match nth < 300 {
            true => 1.0 + 6.0 * Random::of(&[seed, nth / 20]).unit(),
            false => 1.0,
        };
        world.times = Box::new(move |of, nth| match (of, nth < 320) {
            (0, true) | (1, false) => 2e6 * busy(nth),
            _ => 16e6 * busy(nth),
        });
        let run = world.run(World::options(2, seed), 2_000);
        n_found += usize::from(run.in_use_at(2_000) == 1);
    }
    // Where times have changed just before, nothing is known yet of what is usual.
    assert!(n_found >= 194, "found in {n_found} of 200");
}

#[test]
fn a_program_with_a_period_of_7_calls_finds_what_any_other_finds() {
    for seed in 0..100 {
        let mut world = World::of(&[3e6, 2.4e6], seed);
        world.lateness = Box::new(|rank, nth| if rank == 1 && nth % 7 == 0 { 20e6 } else { 0.0 });
        let run = world.run(World::options(2, seed), 3_000);
        assert!(
            run.switches().len() <= 1,
            "seed {seed}: {:?}",
            run.switches()
        );
        let lengths: std::collections::BTreeSet<u32> = run
            .decisions
            .iter()
            .flat_map(|(_, of)| of.plan.blocks.iter().map(|block| block.calls % 7))
            .collect();
        assert!(lengths.len() >= 4, "lengths modulo 7: {lengths:?}");
    }
}

#[test]
fn in_random_worlds_trying_costs_no_more_than_it_may_and_decisions_follow_from_figures() {
    for seed in 0..n_worlds() {
        let mut random = Random::of(&[seed, 1]);
        let n = 2 + random.below(7);
        let best = random.uniform_real(1e4, 1e7);
        let mut times: Vec<f64> = (0..n)
            .map(|_| best * random.uniform_real(1.0, 3.0))
            .collect();
        let slow = random.below(n);
        times[slow] = best * 100.0;
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let options = Options {
            cost: random.uniform_real(0.0, 0.1),
            waits_for_all: random.below(2) == 0,
            ..World::options(n, seed)
        };
        let noise = random.uniform_real(0.0, 0.05);
        let world = || World {
            noise,
            control_ns: best,
            n_processes: 4,
            ..World::of(&times, seed)
        };
        let run = world().run(options, 2_000);
        assert_eq!(
            run.decisions,
            world().run(options, 2_000).decisions,
            "seed {seed}"
        );
        // One that is 100 times slower has its first calls, and no more than it may cost.
        let n_slow = run.used.iter().filter(|of| **of == slow).count() as f64;
        let allowed = options.cost * 2_000.0 / (times[slow] / least - 1.0) * 1.5 + 4.0;
        assert!(
            n_slow <= allowed,
            "seed {seed}: {n_slow} calls of the slow one, {allowed} allowed"
        );
        let (_, last) = run.decisions.last().unwrap();
        assert!(
            last.spent_ns <= last.allowed_ns * 1.5 + 4.0 * best,
            "seed {seed}"
        );
        let found = times[run.in_use_at(2_000)] / least;
        assert!(
            found < 1.35,
            "seed {seed}: {found} times the best, {:?} of {times:?}",
            run.switches()
        );
        hysteresis(&run, seed);
    }
}

/// What an earlier run has found in a world with these times of candidates.
fn learned_of(times: &[f64]) -> Learned {
    let (in_use, least) = (0..times.len())
        .map(|nth| (nth, times[nth]))
        .min_by(|one, other| one.1.total_cmp(&other.1))
        .unwrap();
    let mut relative = [None; crate::MAX_CANDIDATES];
    for (relative, time) in relative.iter_mut().zip(times) {
        *relative = Some(time / least);
    }
    Learned {
        in_use,
        in_use_ns: least * 8.0,
        relative,
    }
}

#[test]
fn what_was_learned_is_used_from_the_first_call_on_and_others_are_seldom_tried() {
    let times = [6.2e6, 4.4e6, 2.4e6];
    for seed in 0..100 {
        let options = World::options(3, seed);
        let learned = Some(learned_of(&times));
        let run = World::of(&times, seed).run(Options { learned, ..options }, 2_000);
        assert!(run.used[..100].iter().all(|of| *of == 2), "seed {seed}");
        assert!(
            run.switches().is_empty(),
            "seed {seed}: {:?}",
            run.switches()
        );
        assert!(run.decisions.iter().all(|(_, of)| of.in_use == 2));
        let calls_of_others = |run: &Run| run.used.iter().filter(|of| **of != 2).count();
        let without = World::of(&times, seed).run(options, 2_000);
        assert!(4 * calls_of_others(&run) < 3 * calls_of_others(&without));
        let (_, last) = run.decisions.last().unwrap();
        let standing = |nth: usize| last.candidates[nth].standing;
        assert_eq!([standing(0), standing(1)], [Standing::Worse; 2]);
    }
}

#[test]
fn what_was_learned_in_another_world_is_corrected() {
    // The first one was best, and is not any more; times of the one in use are the same, or others.
    for (learned, times, until) in [
        ([2.4e6, 3.0e6, 6.0e6], [2.4e6, 1.9e6, 6.0e6], 200),
        ([2.4e6, 4.8e6, 6.0e6], [2.4e6, 1.0e6, 6.0e6], 400),
        ([2.4e6, 2.4e6, 6.0e6], [2.4e6, 1.9e6, 6.0e6], 200),
        ([2.4e6, 48.0e6, 6.0e6], [6.0e6, 1.9e6, 6.0e6], 60),
        ([2.4e6, 48.0e6, 6.0e6], [1.0e6, 0.3e6, 6.0e6], 60),
    ] {
        for seed in 0..100 {
            let learned = Some(learned_of(&learned));
            let options = Options {
                learned,
                ..World::options(3, seed)
            };
            let run = World::of(&times, seed).run(options, 2_000);
            assert_eq!(run.used[0], 0);
            assert_eq!(
                run.in_use_at(until),
                1,
                "seed {seed}, {times:?}: {:?}",
                run.switches()
            );
            assert_eq!(run.in_use_at(2_000), 1);
            assert!(run.switches().len() == 1, "{:?}", run.switches());
        }
    }
}

#[test]
fn in_random_worlds_what_was_learned_elsewhere_costs_no_more_than_it_may() {
    for seed in 0..n_worlds() {
        let mut random = Random::of(&[seed, 2]);
        let n = 2 + random.below(7);
        let mut times = || -> Vec<f64> {
            let slow = random.below(n);
            let time = |nth| random.uniform_real(1e6, 3e6) * if nth == slow { 100.0 } else { 1.0 };
            (0..n).map(time).collect()
        };
        let (before, now) = (times(), times());
        let mut learned = learned_of(&before);
        for relative in &mut learned.relative {
            *relative = relative.filter(|_| random.below(4) > 0);
        }
        let options = Options {
            cost: random.uniform_real(0.0, 0.1),
            waits_for_all: random.below(2) == 0,
            learned: Some(learned),
            ..World::options(n, seed)
        };
        let run = |n_calls| World::of(&now, seed).run(options, n_calls);
        let run_of = run(2_000);
        assert_eq!(run_of.decisions, run(2_000).decisions, "seed {seed}");
        let best = now.iter().copied().fold(f64::INFINITY, f64::min);
        let (_, last) = run_of.decisions.last().unwrap();
        // Times vary, so a little more: that of four calls, over eight processes.
        assert!(
            last.spent_ns <= last.allowed_ns * 1.5 + 4.0 * 8.0 * best,
            "seed {seed}: {} of {}",
            last.spent_ns,
            last.allowed_ns
        );
        let found = now[run_of.in_use_at(2_000)] / best;
        assert!(
            found <= 3.0,
            "seed {seed}: {found}, {:?}",
            run_of.switches()
        );
        hysteresis(&run_of, seed);
    }
}

/// No switch follows another one too early, and none goes back to what was left just now.
fn hysteresis(run: &Run, seed: u64) {
    let mut since = 0;
    let mut left: std::collections::HashMap<usize, u64> = std::collections::HashMap::new();
    let mut last = None;
    for (at, decision) in &run.decisions {
        if decision.reason == Reason::Changed || decision.plan.begin == 0 {
            since = *at;
            left.clear();
            last = None;
        }
        if decision.in_use == decision.before {
            continue;
        }
        if let Some(last) = last {
            assert!(at - last >= 8, "seed {seed}: switches {last} and {at}");
        }
        if let Some(left) = left.get(&decision.in_use) {
            assert!(
                at - since >= 2 * (left - since),
                "seed {seed}: back at {at}, left at {left}"
            );
        }
        left.insert(decision.before, *at);
        last = Some(*at);
    }
}

proptest! {
    #[test]
    fn no_figures_break_it(seed: u64, n in 1..=crate::MAX_CANDIDATES, times in prop::collection::vec(prop_oneof![
        Just(-2i64), Just(-1i64), Just(0), Just(i64::MAX / 4), 1..1_000_000_000i64], 64)) {
        let options = Options { n_candidates: n, ..World::options(n, seed) };
        let mut controller = Controller::new(options);
        let mut plan = Plan::first(n, seed, None);
        for round in 0..40 {
            let samples = |offset: usize| -> Vec<i64> {
                (0..plan.n_samples() + plan.blocks.len()).map(|nth| times[(nth + round + offset) % times.len()]).collect()
            };
            let [one, other] = [samples(0), samples(7)];
            let figures = Figures::of(&plan, [&one[..], &other]);
            let decision = controller.decide(&plan, &figures, Some(times[round] as f64));
            prop_assert_eq!(decision.plan.begin, plan.end());
            prop_assert_eq!(Plan::decoded(&decision.plan.encoded(), n), Some(decision.plan.clone()));
            plan = decision.plan;
        }
    }
}
