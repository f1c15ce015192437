//! Trees of tree files: all shapes, by level and alone, and trees that are spelled out.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use collbench_formats::tree::{Collective, Place, WrapperKind, Wrappers};
use collbench_paths::{Combine, SimulatedCosts};
use collbench_tree_files::TreeFile;
use collbench_trees::wrappers::{Members, Order, group_hosts, resolve, tree_for};

use crate::call::Call;
use crate::random::Random;
use crate::run::on_all_ranks;

/// All shapes, as a tree file names them.
const SHAPES: [&str; 10] = [
    "linear",
    "chain 1",
    "chain 3",
    "binary",
    "3-ary",
    "binomial",
    "4-nomial",
    "3-nomial",
    "in-order binary",
    "exchange",
];

/// Hosts of ranks: alone, one after the other, in turns, and one with most of them.
const HOSTS: [&[&str]; 5] = [
    &["a1", "a1", "a1", "a1", "a1"],
    &["a1", "a1", "a2", "a2", "b1", "b1", "b2", "b2"],
    &["a1", "b1", "a2", "b2", "b1", "a1", "b2"],
    &["a1", "b1", "b1", "b1", "b1", "b1", "a2", "b1", "b1"],
    &["b1", "a1"],
];

/// A file with trees of one form for all operations. Those with a root get no exchange.
fn trees(form: &str) -> String {
    let with_root = "operations = [\"reduce\", \"bcast\", \"gather\", \"scatter\"]\n";
    let without = "operations = [\"allreduce\", \"barrier\", \"allgather\"]\n";
    let rooted = form.replace("\"exchange\"", "\"binomial\"");
    format!("[[tree]]\n{without}{form}\n[[tree]]\n{with_root}{rooted}\n")
}

const SITES: &str = "[[site]]\nname = \"a\"\nhosts = [\"a*\"]\n\
                     [[site]]\nname = \"b\"\nhosts = [\"b*\"]\n";

/// Ranks on hosts with these names.
struct Ranks {
    names: Vec<String>,
    places: Vec<Place>,
}

impl Ranks {
    fn on(hosts: &[&str], file: &TreeFile) -> Self {
        let distinct: BTreeSet<&str> = hosts.iter().copied().collect();
        let names: Vec<String> = distinct.into_iter().map(str::to_owned).collect();
        let place = |host: &&str| Place {
            host: names.iter().position(|name| name == host).unwrap() as u32,
            ..Place::default()
        };
        let mut places: Vec<Place> = hosts.iter().map(place).collect();
        group_hosts(&file.rules, &names, &mut places);
        Self { names, places }
    }

    fn members(&self) -> Members<'_> {
        Members {
            hosts: &self.names,
            places: &self.places,
        }
    }
}

/// Executes some calls over a tree, and compares them with what they are by definition.
fn check(tree: &Wrappers, calls: Vec<Call>, about: &str) {
    let calls: Arc<[Call]> = calls.into();
    let executed = Arc::clone(&calls);
    let n_ranks = tree.n_ranks();
    let got = on_all_ranks(tree, 1000, SimulatedCosts::default(), move |team, me| {
        let calls = executed.iter();
        calls
            .map(|call| call.got(team, n_ranks, me))
            .collect::<Vec<_>>()
    });
    for (me, got) in (0..).zip(got) {
        for (call, got) in calls.iter().zip(got) {
            if let Some(expected) = call.expected(tree, me) {
                assert_eq!(got, expected, "{about}: rank {me}: {call:?}\n{tree:#?}");
            }
        }
    }
}

/// Executes random operations over the trees that a file has for them. Returns how many trees were
/// used, and how many of them have an exchange.
fn check_file(text: &str, hosts: &[&str], seed: u64) -> (usize, usize) {
    let about = format!("{text}on {hosts:?}");
    let file = TreeFile::parse(text, Path::new("")).unwrap_or_else(|error| panic!("{error:?}"));
    let ranks = Ranks::on(hosts, &file);
    let mut random = Random::new(seed);
    let mut n_exchanges = 0;
    let mut n_trees = 0;
    for _ in 0..5 {
        let call = Call::random(&mut random, hosts.len());
        let order = match call.collective {
            Collective::Allreduce | Collective::Reduce if call.op.keeps_rank_order() => {
                Order::OfRanks
            }
            _ => Order::Any,
        };
        let root = call.collective.has_root().then_some(call.root);
        let operation = (call.collective, root);
        let found = tree_for(&file.rules, operation, 64, order, ranks.members());
        let (_, tree) = found.unwrap_or_else(|| panic!("no tree for {call:?}: {about}"));
        n_trees += 1;
        n_exchanges += usize::from(tree.bottommost().kind == WrapperKind::Exchange);
        // Once more, for memory and messages that were used before.
        check(&tree, vec![call, call], &about);
    }
    (n_trees, n_exchanges)
}

#[test]
fn each_shape_joins_all_ranks_whatever_their_hosts() {
    let (mut n_trees, mut n_exchanges) = (0, 0);
    for (seed, shape) in (0..).zip(SHAPES) {
        let text = trees(&format!("shape = \"{shape}\""));
        for (nth, hosts) in (0..).zip(HOSTS) {
            let found = check_file(&text, hosts, 1_000 + seed * 100 + nth);
            n_trees += found.0;
            n_exchanges += found.1;
        }
    }
    assert_eq!(n_trees, SHAPES.len() * HOSTS.len() * 5);
    // Of one shape, for the operations without a root.
    assert!((5..25).contains(&n_exchanges), "{n_exchanges}");
}

#[test]
fn shapes_by_level_join_ranks_of_hosts_then_hosts_of_sites_then_sites() {
    let mut random = Random::new(77);
    for seed in 0..60 {
        let mut shape = || SHAPES[random.below(SHAPES.len())];
        let (of_ranks, of_hosts, of_sites) = (shape(), shape(), shape());
        let by_level = format!(
            "shape = {{ ranks = \"{of_ranks}\", hosts = \"{of_hosts}\", sites = \"{of_sites}\" }}"
        );
        let text = format!("{SITES}{}", trees(&by_level));
        // All of which have both sites.
        check_file(&text, HOSTS[1 + seed as usize % 4], seed);
    }
}

#[test]
fn nodes_that_are_spelled_out_are_executed_as_they_stand() {
    // Joined on a host that has none of the contributors, and handed over to roots elsewhere.
    let text = trees(
        "[[tree.node]]\nname = \"far\"\nowner = 4\ncontributors = [0, 2]\n\
         [[tree.node]]\nname = \"near\"\nowner = 5\ncontributors = [5, \"far\", 1]\n\
         [[tree.node]]\nowner = 3\ncontributors = [\"near\", 3, 4]",
    );
    let hosts = ["a1", "a1", "a2", "b1", "b1", "b2"];
    for seed in 0..20 {
        let (n_trees, n_exchanges) = check_file(&text, &hosts, seed);
        assert_eq!((n_trees, n_exchanges), (5, 0));
    }
    let file = TreeFile::parse(&text, Path::new("")).unwrap();
    let ranks = Ranks::on(&hosts, &file);
    let tree = resolve(&file.rules.rules[0], None, Order::Any, ranks.members()).unwrap();
    assert_eq!(tree.order(), [5, 0, 2, 1, 3, 4]);
}
