//! Searches in simulated runs, for which it is known what is best.

use std::path::Path;

use collbench_analyzer::{Options, Prepared, RunFiles, analyze_then};
use collbench_formats::Operation;
use collbench_formats::tree::{
    Collective, Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers,
};
use collbench_schedules::open_mpi::{Named, Release, schedule};
use collbench_schedules::own_trees::{self, TreeCall};
use collbench_schedules::{self as schedules, Call, Link, Network, Schedule, Way, trees};
use collbench_stats::random::Random;
use collbench_tree_files::TreeFile;
use collbench_tune::Change;
use collbench_tune::predict::{
    Chosen, Class, Found, Given, Instance, Method, NamedTreeFile, OwnTree, Recorded, Results,
    Search, What, predict, search,
};
use collbench_tune::run::{Alternative, Asked, KindOfCalls, Proof, Proven, WhyNot};
use serde_json::{Value, json};

use crate::built::{TestTrace, assert_has};
use crate::predict::simulate_on;

const BYTES: u64 = 8;
/// By how much a message takes longer on average, ns: see `simulate_on`.
const DEVIATION_NS: f64 = 8000.0;

/// Who enters late.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Late {
    /// Nobody by more than a little.
    Nobody,
    /// Always this one, by 2 ms.
    Always(usize),
    /// One after the other, by 2 ms.
    InTurns,
}

/// A run with one process on each host.
#[derive(Debug, Clone, Copy)]
struct Planted {
    operation: Operation,
    n: usize,
    /// Rank r is at site r modulo so many.
    n_sites: usize,
    latency_ns: f64,
    overhead_ns: f64,
    late: Late,
    seed: u64,
}

/// Allreduces of eight processes at two sites.
const TWO_SITES: Planted = Planted {
    operation: Operation::Allreduce,
    n: 8,
    n_sites: 2,
    latency_ns: 50_000.0,
    overhead_ns: 5000.0,
    late: Late::Nobody,
    seed: 4,
};

impl Planted {
    fn network(&self) -> Network {
        self.network_in(&(0..self.n).collect::<Vec<usize>>())
    }

    /// The network of a communicator whose ranks are these processes.
    fn network_in(&self, order: &[usize]) -> Network {
        let link = |latency_ns: f64| Link {
            send_overhead_ns: self.overhead_ns,
            receive_overhead_ns: self.overhead_ns,
            latency_ns,
            gap_ns: 0.0,
            gap_per_byte_ns: 1.0,
            receive_gap_ns: 0.0,
            receive_gap_per_byte_ns: 1.0,
            eager_bytes: 65_536 - 64,
        };
        let classes = vec![link(self.latency_ns), link(40.0 * self.latency_ns)];
        let n_sites = self.n_sites;
        Network::new(self.n, classes, |from, to| Way {
            class: usize::from(order[from] % n_sites != order[to] % n_sites),
            shared: None,
        })
    }

    fn enters_ns(&self, position: u64, random: &mut Random) -> Vec<f64> {
        let enters = (0..self.n).map(|_| random.uniform_real(0.0, 5000.0));
        let mut enters: Vec<f64> = enters.collect();
        let late = match self.late {
            Late::Nobody => return enters,
            Late::Always(rank) => rank,
            Late::InTurns => position as usize % self.n,
        };
        enters[late] += 2e6;
        enters
    }

    fn simulate(&self, schedule: &Schedule, n: u64, random: &mut Random) -> Vec<Instance> {
        let enters_ns = |position, random: &mut Random| self.enters_ns(position, random);
        simulate_on(
            &self.network(),
            self.operation,
            schedule,
            n,
            random,
            enters_ns,
        )
    }

    fn algorithm(&self, name: &str) -> Schedule {
        let call = Call {
            n_processes: self.n,
            root: 0,
            elements: BYTES / 8,
            element_bytes: 8,
        };
        let named = Named {
            name,
            parameters: schedules::Parameters::default(),
        };
        schedule(Release::V4_1, &[named], &call).expect("an algorithm without parts")
    }

    fn over(&self, tree: &Wrappers) -> Schedule {
        let collective = match self.operation {
            Operation::Allreduce => Collective::Allreduce,
            Operation::Reduce => Collective::Reduce,
            _ => Collective::Bcast,
        };
        let call = TreeCall {
            collective,
            root: 0,
            bytes: BYTES,
            element_bytes: 1,
        };
        own_trees::schedule(tree, &call)
            .expect("a schedule")
            .schedule
    }

    /// The run: the operation by an algorithm, and exchanges between all processes, which show what links take.
    fn recorded(&self, ran: &str) -> Recorded {
        let random = &mut Random::of(&[self.seed]);
        let run = self.simulate(&self.algorithm(ran), 240, random);
        let exchanges = self.algorithm("alltoall_intra_pairwise");
        let exchanges = Self {
            operation: Operation::Alltoall,
            late: Late::Nobody,
            ..*self
        }
        .simulate(&exchanges, 40, random);
        let class = |operation, name: &str, instances: Vec<Instance>| Class {
            operation,
            communicator: "MPI_COMM_WORLD".to_owned(),
            number: None,
            ranks: (0..self.n as u32).collect(),
            root: 0,
            bytes: BYTES,
            reported: vec![name.to_owned()],
            tree: None,
            n_instances: instances.len() as u64,
            instances,
        };
        let pairs = (0..self.n).flat_map(|a| (a + 1..self.n).map(move |b| (a, b)));
        let near_ns = 2.0 * (self.latency_ns + 2.0 * self.overhead_ns + DEVIATION_NS);
        Recorded {
            command: vec!["./app".to_owned()],
            library: "Open MPI v4.1.4, package: Debian".to_owned(),
            hosts: (0..self.n).map(|host| format!("h{host}")).collect(),
            host_of_rank: (0..self.n).map(Some).collect(),
            round_trips_ns: pairs
                .map(|(a, b)| {
                    let is_near = a % self.n_sites == b % self.n_sites;
                    let ns = if is_near { near_ns } else { 40.0 * near_ns };
                    ((a, b), ns as i64)
                })
                .collect(),
            classes: vec![
                class(self.operation, ran, run),
                class(Operation::Alltoall, "alltoall_intra_pairwise", exchanges),
            ],
            calls: Vec::new(),
            has_more_calls: false,
        }
    }

    /// How long the operation really takes by a schedule on average, ns.
    fn takes_ns(&self, schedule: &Schedule) -> f64 {
        let random = &mut Random::of(&[self.seed, 77]);
        let run = self.simulate(schedule, 300, random);
        run.iter().map(|of| of.took_ns).sum::<f64>() / run.len() as f64
    }

    /// The best tree for equal links: whoever is free first sends to the next one, from a root; with an order of ranks.
    ///
    /// # Source
    /// Karp, Sahay, Santos, Schauser 1993: optimal for a broadcast under LogP.
    fn greedy(&self, ranks: &[usize]) -> trees::Tree {
        let mut children = vec![Vec::new(); self.n];
        let arrives_ns = 2.0 * self.overhead_ns + self.latency_ns + DEVIATION_NS;
        let mut free_ns: Vec<(f64, usize)> = vec![(0.0, ranks[0])];
        for &to in &ranks[1..] {
            free_ns.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (at_ns, from) = free_ns[0];
            free_ns[0].0 = at_ns + self.overhead_ns;
            free_ns.push((at_ns + arrives_ns, to));
            children[from].push(to);
        }
        trees::Tree {
            root: ranks[0],
            children,
        }
    }

    /// The least of what is known to be good, ns: the greedy tree, with the late one at the root, or in each site and then
    /// across sites; and of operations without a root an exchange between all.
    fn best_ns(&self) -> f64 {
        let root = match self.late {
            Late::Always(rank) if self.operation == Operation::Allreduce => rank,
            _ => 0,
        };
        let mut by_site: Vec<Vec<usize>> = (0..self.n_sites)
            .map(|site| (site..self.n).step_by(self.n_sites).collect())
            .collect();
        by_site.sort_by_key(|ranks| !ranks.contains(&root));
        for ranks in &mut by_site {
            ranks.sort_by_key(|rank| *rank != root);
        }
        let mut whole = self.greedy(&by_site[0]);
        for ranks in &by_site[1..] {
            let tree = self.greedy(ranks);
            for (all, own) in whole.children.iter_mut().zip(tree.children) {
                all.extend(own);
            }
            whole.children[root].insert(0, ranks[0]);
        }
        let schedule = match self.operation {
            Operation::Allreduce => whole.allreduce(BYTES + own_trees::HEADER_BYTES),
            Operation::Reduce => whole.reduce(BYTES + own_trees::HEADER_BYTES),
            _ => whole.bcast(BYTES + own_trees::HEADER_BYTES),
        };
        let tree_ns = self.takes_ns(&schedule);
        if self.operation != Operation::Allreduce {
            return tree_ns;
        }
        let exchange = Wrapper {
            kind: WrapperKind::Exchange,
            owner: 0,
            contributors: (0..self.n as u32).map(Contributor::Rank).collect(),
            parent: None,
            level: Level::Host,
            collectors: Collectors::NONE,
        };
        let hosts = (0..self.n as u32).collect();
        let exchange = Wrappers::new(hosts, vec![exchange]).expect("a tree");
        tree_ns.min(self.takes_ns(&self.over(&exchange)))
    }

    fn found<'r>(&self, recorded: &'r Recorded, evaluations: u32) -> Found<'r> {
        let options = Search {
            seed: self.seed,
            evaluations,
            ..Search::default()
        };
        search(recorded, &Given::default(), options).expect("a search")
    }
}

/// The tree that was found for the first calls of the operation, whether it is proposed or not.
fn tree<'f>(found: &'f Found<'_>, planted: &Planted) -> &'f Chosen {
    let mut calls = found.calls.iter();
    let of = calls.find(|of| of.operation == planted.operation);
    let tried = of.expect("the calls").found.as_ref().expect("a prediction");
    tried.tree.as_ref().expect("a tree")
}

fn wrappers(chosen: &Chosen) -> &Wrappers {
    match &chosen.what {
        What::Tree(tree) => &tree.wrappers,
        What::Algorithm { .. } => panic!("{chosen:?}"),
    }
}

/// Asserts that each change that is proposed is found again in what was considered, as one that is proposed.
fn assert_all_changes_were_considered(found: &Found<'_>) {
    let considered = found.considered();
    let proposals = found.proposals();
    let changes: Vec<&Change> = proposals.iter().flat_map(|of| &of.changes).collect();
    assert!(!changes.is_empty());
    for change in changes {
        let mut kinds = considered.kinds.iter();
        let is_kind = |of: &&KindOfCalls| {
            of.operation == change.operation
                && of.n_processes == change.n_processes
                && of.bytes == change.bytes
        };
        let kind = kinds.find(is_kind).expect("its calls");
        assert_eq!(kind.why_nothing(), None);
        let mut ran = kind.ran.iter();
        let class = ran.position(|ran| {
            ran.communicator == change.communicator
                && ran.root == change.root
                && ran.what == change.ran
                && ran.measured == change.measured
        });
        let class = class.expect("what ran");
        let alternatives = kind.alternatives.as_ref().expect("a prediction");
        let is_it = |of: &Alternative| {
            of.methods[class] == change.method
                && of.predicted[class] == change.predicted
                && of.why_not.is_none()
        };
        assert!(alternatives.iter().any(is_it), "{change:?}");
    }
}

/// Links short and long, with fast and slow processors, one site and several, and late processes.
fn planted() -> Vec<Planted> {
    use Late::{Always, InTurns, Nobody};
    use Operation::{Allreduce, Bcast, Reduce};
    let mut all = Vec::new();
    for (operation, n, n_sites, latency_ns, overhead_ns, late) in [
        (Bcast, 8, 1, 100_000.0, 3000.0, Nobody),
        (Bcast, 16, 1, 20_000.0, 20_000.0, Nobody),
        (Bcast, 32, 1, 50_000.0, 5000.0, Nobody),
        (Bcast, 64, 1, 20_000.0, 20_000.0, Nobody),
        (Bcast, 12, 2, 50_000.0, 5000.0, Nobody),
        (Bcast, 24, 3, 50_000.0, 5000.0, Nobody),
        (Reduce, 8, 1, 100_000.0, 3000.0, Nobody),
        (Reduce, 16, 1, 20_000.0, 20_000.0, Nobody),
        (Reduce, 12, 2, 50_000.0, 5000.0, Nobody),
        (Allreduce, 8, 1, 100_000.0, 3000.0, Nobody),
        (Allreduce, 16, 1, 20_000.0, 20_000.0, Nobody),
        (Allreduce, 32, 1, 50_000.0, 10_000.0, Nobody),
        (Allreduce, 64, 1, 50_000.0, 5000.0, Nobody),
        (Allreduce, 8, 2, 50_000.0, 5000.0, Nobody),
        (Allreduce, 16, 2, 50_000.0, 5000.0, Nobody),
        (Allreduce, 24, 3, 30_000.0, 5000.0, Nobody),
        (Allreduce, 8, 1, 100_000.0, 3000.0, Always(5)),
        (Allreduce, 16, 1, 50_000.0, 5000.0, Always(9)),
        (Allreduce, 32, 1, 50_000.0, 5000.0, Always(31)),
        (Allreduce, 16, 1, 50_000.0, 5000.0, InTurns),
    ] {
        all.push(Planted {
            operation,
            n,
            n_sites,
            latency_ns,
            overhead_ns,
            late,
            seed: 100 + all.len() as u64,
        });
    }
    all
}

/// What runs unless somebody chooses.
fn baseline(operation: Operation) -> &'static str {
    match operation {
        Operation::Allreduce => "allreduce_intra_recursivedoubling",
        Operation::Reduce => "reduce_intra_pipeline",
        _ => "bcast_intra_pipeline",
    }
}

/// All cases, or some that are small, and how many trees to evaluate on a walk.
fn cases() -> (Vec<Planted>, u32) {
    if std::env::var_os("COLLBENCH_TESTS_LONG").is_some() {
        return (planted(), 2000);
    }
    let small = planted().into_iter().filter(|of| of.n <= 8);
    (small.collect(), 400)
}

#[test]
fn trees_that_are_found_are_as_good_as_the_best_that_are_known() {
    let (cases, evaluations) = cases();
    for planted in cases {
        let recorded = planted.recorded(baseline(planted.operation));
        let found = planted.found(&recorded, evaluations);
        let chosen = tree(&found, &planted);
        let found_ns = planted.takes_ns(&planted.over(wrappers(chosen)));
        let best_ns = planted.best_ns();
        let regret = found_ns / best_ns - 1.0;
        println!("{planted:?}: regret {:.1} %", 100.0 * regret);
        assert!(
            regret < 0.05,
            "{planted:?}: {found_ns} ns, {best_ns} ns {chosen:?}"
        );
    }
}

#[test]
fn what_already_runs_on_the_best_tree_is_left_as_it_is() {
    let (cases, evaluations) = cases();
    for planted in cases {
        let before = planted.recorded(baseline(planted.operation));
        let found = planted.found(&before, evaluations);
        let best = wrappers(tree(&found, &planted)).clone();
        let mut recorded = before.clone();
        let random = &mut Random::of(&[planted.seed, 3]);
        let mut run = planted.simulate(&planted.over(&best), 240, random);
        run.iter_mut().for_each(|of| of.messages.clear());
        recorded.classes[0].instances = run;
        recorded.classes[0].reported.clear();
        recorded.classes[0].tree = Some(OwnTree {
            name: "the best tree".to_owned(),
            wrappers: best.clone(),
        });
        let again = Planted {
            seed: planted.seed + 1000,
            ..planted
        };
        let found = again.found(&recorded, evaluations);
        for of in found
            .calls
            .iter()
            .filter(|of| of.operation == planted.operation)
        {
            assert!(of.found.is_ok(), "{of:?}");
            // What is proposed all the same must be better than what was found at first.
            for chosen in [of.algorithm(), of.tree()].into_iter().flatten() {
                let schedule = match &chosen.what {
                    What::Algorithm { function, .. } => planted.algorithm(function),
                    What::Tree(tree) => planted.over(&tree.wrappers),
                };
                let chosen_ns = planted.takes_ns(&schedule);
                let ran_ns = planted.takes_ns(&planted.over(&best));
                assert!(
                    chosen_ns < 0.98 * ran_ns,
                    "{planted:?} {chosen_ns} {ran_ns}"
                );
            }
        }
    }
}

#[test]
fn a_process_that_is_always_late_is_at_the_root_and_moving_lateness_changes_nothing() {
    let planted = Planted {
        n_sites: 1,
        latency_ns: 100_000.0,
        overhead_ns: 3000.0,
        late: Late::Always(5),
        seed: 1,
        ..TWO_SITES
    };
    let recorded = planted.recorded(baseline(planted.operation));
    let found = planted.found(&recorded, 400);
    let chosen = tree(&found, &planted);
    assert_eq!(chosen.why_not, None, "{chosen:?}");
    // At the root, or a partner of the exchange there.
    let tree = wrappers(chosen);
    let bottommost = tree.bottommost();
    let mut owners = bottommost.contributors.iter().map(|&of| tree.owner_of(of));
    assert!(owners.any(|owner| owner == 5), "{chosen:?}");
    assert!(
        found.to_text("t").contains("rank 5 most"),
        "{}",
        found.to_text("t")
    );
    let moving = Planted {
        late: Late::InTurns,
        ..planted
    };
    let recorded = moving.recorded(baseline(planted.operation));
    let found = moving.found(&recorded, 400);
    assert!(!found.to_text("t").contains("late again and again"));
}

#[test]
fn what_is_found_is_written_as_files_that_say_the_same_and_is_found_again() {
    let planted = TWO_SITES;
    let recorded = planted.recorded(baseline(planted.operation));
    let found = planted.found(&recorded, 200);
    let text = found
        .to_tree_file(&["use it".to_owned()])
        .expect("a tree is proposed");
    let file = TreeFile::parse(&text, Path::new("")).unwrap_or_else(|of| panic!("{of:?}\n{text}"));
    let rule = &file.rules.rules[0];
    assert_eq!(
        (rule.calls.ranks, rule.calls.bytes),
        ((8, 8), (8, 8)),
        "{text}"
    );
    let again = planted.found(&recorded, 200);
    assert_eq!(again.to_tree_file(&["use it".to_owned()]), Some(text));
    let options = Search::default();
    assert_eq!(
        found.to_json(("t", 1), options),
        again.to_json(("t", 1), options)
    );
    // The tree of the file is the one that was found.
    let named = NamedTreeFile {
        name: "found.toml".to_owned(),
        crc32: 0,
        file,
    };
    let given = Given {
        tree_files: vec![named],
        ..Given::default()
    };
    let predictions = predict(&recorded, given).expect("a prediction");
    let candidates = &predictions.predictions[0].candidates;
    let What::Tree(tree) = &tree(&found, &planted).what else {
        panic!("no tree");
    };
    let is_it =
        |method: &Method| matches!(method, Method::Tree { crc32, .. } if *crc32 == tree.crc32);
    assert!(
        candidates.iter().any(|of| is_it(&of.method)),
        "{candidates:?}"
    );
}

#[test]
fn what_gives_other_bits_is_said_and_left_out_if_the_same_are_asked_for() {
    let planted = TWO_SITES;
    let recorded = planted.recorded(baseline(planted.operation));
    let found = planted.found(&recorded, 100);
    let bits = tree(&found, &planted).bits.expect("a reduction");
    assert_eq!(bits.same_as_ran, Some(false));
    assert_eq!(bits.numerics.same_on_all_ranks, Some(true));
    assert_eq!(bits.numerics.same_from_run_to_run, Some(true));
    let text = found.to_text("t");
    assert_has(&text, "not the same as in the recorded run");
    let options = Search {
        evaluations: 100,
        results: Results::Same,
        ..Search::default()
    };
    let found = search(&recorded, &Given::default(), options).expect("a search");
    let mut kinds = found.considered().kinds.into_iter();
    let kind = kinds.find(|of| of.operation == planted.operation);
    let alternatives = kind.and_then(|of| of.alternatives.ok());
    let mut alternatives = alternatives.expect("a prediction").into_iter();
    assert!(alternatives.any(|of| of.is_tree && of.why_not == Some(WhyNot::OtherBits)));
    let calls = found
        .calls
        .iter()
        .find(|of| of.operation == planted.operation);
    let tried = calls
        .and_then(|of| of.found.as_ref().ok())
        .expect("a prediction");
    let is_same = |of: &Chosen| of.bits.is_some_and(|of| of.same_as_ran == Some(true));
    assert!(
        tried.algorithm.iter().chain(&tried.tree).all(is_same),
        "{tried:?}"
    );
    assert!(!tried.other_bits.is_empty() && !tried.other_bits.iter().any(is_same));
    let text = found.to_text("t");
    assert_has(
        &text,
        "left out, since --results does not allow that its results differ in the last digits: tree",
    );
}

#[test]
fn a_tree_for_several_communicators_is_known_again_on_each_of_them() {
    let planted = TWO_SITES;
    let mut recorded = planted.recorded(baseline(planted.operation));
    let order = [0, 2, 1, 4, 6, 3, 5, 7];
    let random = &mut Random::of(&[planted.seed]);
    let instances = simulate_on(
        &planted.network_in(&order),
        planted.operation,
        &planted.algorithm(baseline(planted.operation)),
        240,
        random,
        |position, random| planted.enters_ns(position, random),
    );
    recorded.classes.push(Class {
        communicator: "the same in another order".to_owned(),
        number: Some(3),
        ranks: order.map(|of| of as u32).to_vec(),
        instances,
        ..recorded.classes[0].clone()
    });
    let found = planted.found(&recorded, 50);
    assert_all_changes_were_considered(&found);
    let screen = found.to_text("t");
    let named = "\n  on the same in another order #3 ran ";
    assert!(screen.contains(named), "{screen}");
    let text = found.to_tree_file(&[]).expect("a tree is proposed");
    let given = Given {
        tree_files: vec![NamedTreeFile {
            name: "found.toml".to_owned(),
            crc32: 0,
            file: TreeFile::parse(&text, Path::new("")).expect("a tree file"),
        }],
        ..Given::default()
    };
    let predictions = predict(&recorded, given).expect("a prediction");
    let proposals = found.proposals();
    let trees = proposals.iter().find(|of| of.name == "trees");
    let changes = &trees.expect("trees are proposed").changes;
    let crc32 = |of: &Method| match of {
        Method::Tree { crc32, .. } => Some(*crc32),
        Method::Algorithm(_) => None,
    };
    let mut numbers = Vec::new();
    for communicator in ["MPI_COMM_WORLD", "the same in another order"] {
        let change = changes.iter().find(|of| of.communicator == communicator);
        let method = &change.expect("a change of each").method;
        let mut all = predictions.predictions.iter();
        let is_it = |class: &Class| {
            class.communicator == communicator && class.operation == planted.operation
        };
        let prediction = all
            .find(|of| is_it(of.class))
            .expect("a prediction of each");
        let mut candidates = prediction.candidates.iter();
        assert!(
            candidates.any(|of| crc32(&of.method) == crc32(method)),
            "{communicator}: {method:?} {text}"
        );
        numbers.push(crc32(method));
    }
    assert_ne!(numbers[0], numbers[1], "{text}");
}

/// Results of the benchmark: the library's own choice takes as long as in the run, and trees such a part of that.
fn benchmarked(recorded: &Recorded, trees: &str, part: f64) -> String {
    let class = &recorded.classes[0];
    let n = class.ranks.len();
    let point = |algorithm: Option<String>, part: f64| {
        let samples = class.instances.iter().map(|of| {
            let last_ns = of.enters_ns.iter().copied().fold(0.0, f64::max);
            json!({
                "enter_ns": of.enters_ns,
                "leave_ns": vec![last_ns + part * of.took_ns; n],
                "is_valid": true,
            })
        });
        json!({
            "operation": class.operation.name(),
            "bytes": class.bytes,
            "processes": n,
            "root": null,
            "algorithm": algorithm,
            "loop_length": null,
            "samples": samples.collect::<Vec<_>>(),
        })
    };
    let points = [(None, 1.0), (Some(format!("trees of {trees}")), part)];
    json!({
        "schema": "collbench.bench.collective/1",
        "run": { "mpi_library": format!("{}\nand more", recorded.library) },
        "points": points.map(|(algorithm, part)| point(algorithm, part)),
    })
    .to_string()
}

#[test]
fn what_is_slower_when_it_is_measured_alone_is_not_proposed() {
    let planted = TWO_SITES;
    let recorded = planted.recorded(baseline(planted.operation));
    let mut found = planted.found(&recorded, 50);
    let asked = Asked::of(&found).expect("a tree is found");
    assert!(asked.has_trees());
    let plan: toml::Table = asked.plan(Path::new("a.json")).parse().expect("a plan");
    assert_eq!(plan["element"].as_str(), Some("double"));
    let part = &plan["measure"][0];
    assert_eq!(part["operations"][0].as_str(), Some("MPI_Allreduce"));
    assert_eq!(part["lengths"][0].as_integer(), Some(BYTES as i64));
    assert_eq!(part["arrivals"].as_str(), Some("a.json"));
    let arrivals: Value = collbench_schemas::read(asked.arrivals());
    let of_ranks = &arrivals["operations"][0]["arrivals_ns"][0];
    assert_eq!(of_ranks.as_array().map(Vec::len), Some(8));
    let trees = Path::new("/tmp/trees.toml");
    let proven = |part: f64, recorded: &Recorded| {
        let results = benchmarked(recorded, "/tmp/trees.toml", part);
        asked.read(
            results.as_bytes(),
            trees,
            &planted.recorded(baseline(planted.operation)),
        )
    };
    let proof = |proven: Vec<Proven>| Proof {
        proven,
        why_not: None,
    };
    let given = Given::default();
    let faster = proof(proven(0.5, &recorded).expect("results"));
    assert!((faster.proven[0].ratio() - 0.5).abs() < 0.01, "{faster:?}");
    found
        .refuse(&given, |call, what| faster.why_not(call, what))
        .expect("a model");
    assert!(found.to_tree_file(&[]).is_some());
    // Slower, but where the library's own choice takes twice as long as in the program: this says nothing.
    let mut other = recorded.clone();
    other.classes[0]
        .instances
        .iter_mut()
        .for_each(|of| of.took_ns *= 2.0);
    let other = proof(proven(1.5, &other).expect("results"));
    assert!(other.proven[0].says_nothing().is_some() && !other.proven[0].is_slower());
    let slower = proof(proven(1.5, &recorded).expect("results"));
    assert!(slower.proven[0].is_slower());
    found
        .refuse(&given, |call, what| slower.why_not(call, what))
        .expect("a model");
    assert!(found.to_tree_file(&[]).is_none());
    let of_trees = found.proposals().into_iter().find(|of| of.name == "trees");
    assert!(of_trees.is_none(), "{of_trees:?}");
    let why = tree(&found, &planted).why_not.clone().unwrap_or_default();
    assert!(why.starts_with("slower when measured alone, "), "{why}");
    let replaced = benchmarked(&recorded, "/tmp/trees.toml", 0.5).replace(
        "\"loop_length\":null",
        "\"loop_length\":null,\"start_asked\":\"window\"",
    );
    let said = asked
        .read(replaced.as_bytes(), trees, &recorded)
        .unwrap_err();
    assert_has(&said, "could not start as was asked for");
    let mut library = recorded.clone();
    library.library = "MPICH Version: 4.0".to_owned();
    let said = proven(0.5, &library).unwrap_err();
    assert_has(&said, "another MPI library (MPICH Version: 4.0)");
}

#[test]
fn the_first_instances_are_the_same_with_any_number_of_threads() {
    let mut trace = TestTrace::new(2);
    for call in 0..5000 {
        let enter = 1_000_000 + 100_000 * call;
        let stamps = [(enter, enter + 50_000), (enter + 100, enter + 50_000)];
        trace.world(Operation::Allreduce, -1, 8, &stamps);
    }
    let directory = trace.in_directory();
    let files = RunFiles::open(directory.path()).expect("a trace");
    let first = |n_threads| {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(n_threads);
        let read = || {
            let mut first = None;
            let mut then = |prepared: Prepared<'_, '_>, _: &mut _| {
                first = Some(Recorded::of(prepared, Some(100), &mut |_| {}));
            };
            analyze_then(&files, &Options::default(), &mut |_| {}, &mut then).expect("an analysis");
            first.expect("a look")
        };
        threads.build().expect("threads").install(read)
    };
    let (one, three) = (first(1), first(3));
    let n = one.classes[0].n_instances;
    assert!((100..2000).contains(&n), "{n}");
    assert_eq!(one.classes[0].instances, three.classes[0].instances);
    assert_eq!(n, three.classes[0].n_instances);
    assert_eq!(one.calls, three.calls);
}
