//! Processes on simulated hosts that execute trees in turns, and find the best one.

use std::time::{Duration, Instant};

use collbench_adapt::{
    Controller, Decision, Figures, Follower, Next, Options, PLAN_WORDS, Plan, Took,
};
use collbench_formats::tree::{
    Calls, Collective, Collectors, CollectorsOfKinds, Form, Level, Place, Rule, Shape, Shaped,
    Wrappers,
};
use collbench_paths::{
    Buffers, Elements, Idle, InProcess, Kernel, Reduction, SimulatedCosts, Team, TeamOptions,
    WaitPolicy,
};
use collbench_trees::wrappers::{Members, Order, resolve};

/// Ranks on hosts of their own.
fn places(hosts: &[u32]) -> Vec<Place> {
    let place = |&host: &u32| Place {
        host,
        ..Place::default()
    };
    hosts.iter().map(place).collect()
}

fn tree(shape: Shape, root: Option<u32>, hosts: &[u32]) -> Wrappers {
    let rule = Rule {
        line: 1,
        calls: Calls {
            operations: vec![Collective::Allreduce],
            ranks: (1, u32::MAX),
            bytes: (0, u64::MAX),
            across: None,
        },
        form: Form::Shaped(Shaped {
            joins: vec![(Level::Rank, shape)],
            root,
            hosts: Vec::new(),
        }),
        collectors: CollectorsOfKinds::uniform(Collectors::NONE),
    };
    let names: Vec<String> = (0..hosts.len()).map(|host| format!("h{host}")).collect();
    let places = places(hosts);
    let members = Members {
        hosts: &names,
        places: &places,
    };
    resolve(&rule, None, Order::Any, members).unwrap()
}

fn teams(hosts: &[u32], tree: &Wrappers, costs: &SimulatedCosts) -> Vec<InProcess> {
    assert_eq!(tree.n_ranks() as usize, hosts.len());
    InProcess::processes(hosts, costs.clone())
}

/// How the next plan is made.
#[derive(Clone, Copy)]
enum Policy {
    Best(Options),
    Random(u64),
}

/// What the process that decides has seen: the decisions, and the number of the first call at the time that it
/// was asked for.
#[derive(Default)]
struct Seen {
    /// How often a call had another candidate than the one before.
    n_changes: u32,
    decisions: Vec<(u64, Decision)>,
    first_call_at: Option<u64>,
}

/// Calls until `enough` says so at a control point, on threads; each checks each result.
fn run(
    hosts: &[u32],
    costs: &SimulatedCosts,
    trees: &[Wrappers],
    policy: Policy,
    marked: Duration,
    enough: &(dyn Fn(u64, &Seen) -> bool + Sync),
) -> Seen {
    let mut of_ranks: Vec<Vec<(InProcess, &Wrappers)>> = hosts.iter().map(|_| Vec::new()).collect();
    for tree in trees.iter().chain(&trees[..1]) {
        for (process, of_rank) in teams(hosts, tree, costs).into_iter().zip(&mut of_ranks) {
            of_rank.push((process, tree));
        }
    }
    let begin = Instant::now();
    let seen = std::thread::scope(|scope| {
        let threads = of_ranks.into_iter().enumerate().map(|(rank, of_rank)| {
            scope.spawn(move || process(rank as u64, of_rank, policy, (begin, marked), enough))
        });
        let threads: Vec<_> = threads.collect();
        let mut all = threads.into_iter().map(|thread| thread.join().unwrap());
        let seen = all.next();
        all.for_each(drop);
        seen
    });
    seen.unwrap_or_default()
}

fn process(
    rank: u64,
    processes: Vec<(InProcess, &Wrappers)>,
    policy: Policy,
    (begin, marked): (Instant, Duration),
    enough: &(dyn Fn(u64, &Seen) -> bool + Sync),
) -> Seen {
    let n = processes[0].1.n_ranks() as u64;
    let options = TeamOptions::new(WaitPolicy::new(Idle::Yield));
    let team = |(process, tree): (InProcess, &Wrappers)| Team::new(process, tree, options).unwrap();
    let mut teams: Vec<_> = processes.into_iter().map(team).collect();
    let mut control = teams.pop().unwrap();
    let n_candidates = teams.len();
    let mut sum = Kernel::new(Reduction::Sum, Elements::Int64).unwrap();
    let mut controller = match policy {
        Policy::Best(options) => Some(Controller::new(options)),
        Policy::Random(_) => None,
    };
    let mut follower = Follower::new(Plan::first(n_candidates, 7, None));
    let (mut seen, mut call) = (Seen::default(), 0u64);
    let mut before = 0;
    loop {
        let step = match follower.next() {
            Next::Call(step) => step,
            Next::Control => {
                let own = follower.own();
                let bytes: Vec<u8> = own.iter().flat_map(|word| word.to_le_bytes()).collect();
                let n_all = if rank == 0 {
                    bytes.len() * n as usize
                } else {
                    0
                };
                let mut all = vec![0; n_all];
                control.gather(Some(&bytes), &mut all, 0).unwrap();
                let all = numbers(&all);
                let mut words = [0; PLAN_WORDS + 1];
                if rank == 0 {
                    words[PLAN_WORDS] = i64::from(enough(call, &seen));
                    let plan = follower.plan();
                    let figures = Figures::of(plan, all.chunks_exact(own.len()));
                    let next = match (&mut controller, policy) {
                        (Some(controller), _) => {
                            let decision = controller.decide(plan, &figures, Some(1e5 * n as f64));
                            seen.decisions.push((call, decision.clone()));
                            decision.plan
                        }
                        (None, Policy::Random(seed)) => plan.random_next(seed, n_candidates),
                        (None, Policy::Best(_)) => unreachable!("it has a controller"),
                    };
                    words[..PLAN_WORDS].copy_from_slice(&next.encoded());
                }
                let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                control.bcast(&mut bytes, 0).unwrap();
                let words = numbers(&bytes);
                if words[PLAN_WORDS] != 0 {
                    return seen;
                }
                let plan: [i64; PLAN_WORDS] = words[..PLAN_WORDS].try_into().unwrap();
                follower = Follower::new(Plan::decoded(&plan, n_candidates).unwrap());
                continue;
            }
        };
        if seen.first_call_at.is_none() && begin.elapsed() >= marked {
            seen.first_call_at = Some(call);
        }
        seen.n_changes += u32::from(step.candidate != before);
        before = step.candidate;
        let mut value = (rank * 1_000 + call).to_le_bytes();
        let start = Instant::now();
        let team = &mut teams[usize::from(step.candidate)];
        team.allreduce(Buffers::InPlace(&mut value), &mut sum)
            .unwrap();
        let expected = n * (n - 1) / 2 * 1_000 + n * call;
        assert_eq!(
            u64::from_le_bytes(value),
            expected,
            "rank {rank}, call {call}"
        );
        let time = start.elapsed().as_nanos() as i64;
        follower.made(Took::Ns(time), false);
        call += 1;
    }
}

fn numbers(bytes: &[u8]) -> Vec<i64> {
    let words = bytes.chunks_exact(8);
    words
        .map(|word| i64::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

fn options(n_candidates: usize) -> Options {
    Options {
        n_candidates,
        learned: None,
        cost: 0.02,
        waits_for_all: true,
        is_crowded: false,
        may_switch: true,
        seed: 7,
    }
}

#[test]
fn other_trees_at_random_give_right_values_on_hosts_of_several_ranks_and_of_one() {
    for (seed, hosts) in [vec![0, 0, 1, 1], vec![0, 1, 2], vec![0, 0, 0, 0, 0]]
        .iter()
        .enumerate()
    {
        let shapes = [
            Shape::Binomial,
            Shape::Exchange,
            Shape::Linear,
            Shape::Chain(1),
        ];
        let trees: Vec<Wrappers> = shapes
            .iter()
            .map(|shape| tree(*shape, None, hosts))
            .collect();
        // A million in all, if there is time.
        let is_long = std::env::var_os("COLLBENCH_TESTS_LONG").is_some();
        let n_changes = if is_long { 340_000 } else { 600 };
        let enough = |_, seen: &Seen| seen.n_changes > n_changes;
        let policy = Policy::Random(seed as u64);
        run(
            hosts,
            &SimulatedCosts::default(),
            &trees,
            policy,
            Duration::ZERO,
            &enough,
        );
    }
}

#[test]
fn when_links_become_slow_another_tree_is_used() {
    let hosts = [0, 1, 2, 3];
    let trees: Vec<Wrappers> = [0, 3]
        .map(|root| tree(Shape::Linear, Some(root), &hosts))
        .into();
    // The links of one of the two roots to the hosts that are no root are slow.
    let slow_at = |slow: usize| -> Vec<Vec<Duration>> {
        let is_slow = |one: usize, other: usize| one == slow && (1..=2).contains(&other);
        let latency = |from, to| match is_slow(from, to) || is_slow(to, from) {
            true => Duration::from_millis(8),
            false => Duration::from_millis(1),
        };
        let row = |from| (0..4).map(move |to| latency(from, to)).collect();
        (0..4).map(row).collect()
    };
    let change = Duration::from_millis(1_500);
    let costs = SimulatedCosts {
        latencies: slow_at(3),
        later: Some((change, slow_at(0))),
        ..SimulatedCosts::default()
    };
    // Until it is found, or far too long has passed.
    let enough = |call: u64, seen: &Seen| {
        let is_found = seen.decisions.last().is_some_and(|(_, of)| of.in_use == 1);
        is_found || seen.first_call_at.is_some_and(|at| call > at + 10_000)
    };
    let seen = run(
        &hosts,
        &costs,
        &trees,
        Policy::Best(options(2)),
        change,
        &enough,
    );
    let (_, last) = seen.decisions.last().unwrap();
    assert_eq!(last.in_use, 1, "{:?}", seen.decisions);
    assert!(seen.first_call_at.is_some(), "links have become slow");
}
