//! Trees of communicators that are drawn at random, and some by hand.

use collbench_formats::tree::{
    Collectors, CollectorsOfKinds, Contributor, Cpu, HostGroup, HostTopology, Level, Shape, Shaped,
    Wrapper, WrapperKind,
};
use collbench_formats::{decode_meta, encode_meta};
use proptest::prelude::*;

use super::*;

use Contributor::{Rank, Wrapper as Below};

/// A communicator with the places of its ranks.
#[derive(Debug, Clone)]
struct World {
    hosts: Vec<String>,
    places: Vec<Place>,
}

impl World {
    /// One rank on each of these hosts, given by number.
    fn of(hosts: &[u32]) -> Self {
        let n_hosts = hosts.iter().max().map_or(0, |&most| most + 1);
        let place = |&host: &u32| Place {
            host,
            ..Place::default()
        };
        Self {
            hosts: (0..n_hosts).map(|host| format!("h{host}")).collect(),
            places: hosts.iter().map(place).collect(),
        }
    }

    fn members(&self) -> Members<'_> {
        Members {
            hosts: &self.hosts,
            places: &self.places,
        }
    }

    /// The tree of a rule for calls without a root, in any order.
    fn tree(&self, rule: &Rule) -> Result<Wrappers, Unfit> {
        self.tree_to(rule, None)
    }

    /// The tree of a rule for calls with or without a root, in any order.
    fn tree_to(&self, rule: &Rule, root: Option<u32>) -> Result<Wrappers, Unfit> {
        resolve(rule, root, Order::Any, self.members())
    }

    fn n_ranks(&self) -> u32 {
        self.places.len() as u32
    }

    fn n_different(&self, level: Level) -> usize {
        let places = self.places.iter();
        let wider = places.map(|place| Level::ALL.map(|of| place.at(of).filter(|_| of >= level)));
        wider.collect::<std::collections::BTreeSet<_>>().len()
    }
}

fn rule(form: Form) -> Rule {
    Rule {
        line: 1,
        calls: Calls {
            operations: Collective::ALL.to_vec(),
            ranks: (1, u32::MAX),
            bytes: (0, u64::MAX),
            across: None,
        },
        form,
        collectors: CollectorsOfKinds::uniform(Collectors::ALL),
    }
}

fn shaped(joins: &[(Level, Shape)]) -> Rule {
    rule(Form::Shaped(Shaped {
        joins: joins.to_vec(),
        root: None,
        hosts: Vec::new(),
    }))
}

fn of_shape(shape: Shape, n: usize) -> Wrappers {
    let rule = shaped(&[(Level::Rank, shape)]);
    World::of(&vec![0; n]).tree(&rule).unwrap()
}

/// What the wrappers are, and their owners.
fn listed(wrappers: &[Wrapper]) -> Vec<(WrapperKind, u32)> {
    wrappers.iter().map(|of| (of.kind, of.owner)).collect()
}

fn kinds(tree: &Wrappers, kind: WrapperKind) -> impl Iterator<Item = &Wrapper> {
    tree.all()
        .iter()
        .filter(move |wrapper| wrapper.kind == kind)
}

fn n_crossings(tree: &Wrappers, level: Level) -> usize {
    kinds(tree, WrapperKind::Proxy)
        .filter(|proxy| proxy.level == level)
        .count()
}

/// Largest number of times that `n` can be divided by `k`, rounded down, before it is below `k`.
fn log_floor(n: usize, k: usize) -> u32 {
    (n as u32).ilog(k as u32)
}

#[test]
fn known_shapes_have_their_heights_and_numbers_of_contributors() {
    for n in 2..70 {
        let fan_in = |tree: &Wrappers| {
            let greds = kinds(tree, WrapperKind::Gred);
            greds.map(|gred| gred.contributors.len() - 1).max().unwrap()
        };
        assert_eq!(of_shape(Shape::Linear, n).height(), 1);
        assert_eq!(fan_in(&of_shape(Shape::Linear, n)), n - 1);
        assert_eq!(of_shape(Shape::Chain(1), n).height() as usize, n - 1);
        assert_eq!(
            of_shape(Shape::Chain(3), n).height() as usize,
            (n - 1).div_ceil(3)
        );
        let binomial = of_shape(Shape::Binomial, n);
        assert_eq!(binomial.height(), log_floor(n, 2), "{n}");
        // One message from each subtree, in as many rounds.
        assert_eq!(fan_in(&binomial) as u32, (n - 1).ilog2() + 1);
        assert_eq!(of_shape(Shape::Knomial(2), n), binomial);
        for k in 2..6 {
            let k_nomial = of_shape(Shape::Knomial(k), n).height();
            let least = log_floor(n, k as usize);
            assert!((least..=least + 1).contains(&k_nomial), "{n} {k}");
            // The last place is the deepest.
            let mut depth = 0;
            let mut place = n as u32 - 1;
            while place > 0 {
                place = (place - 1) / k;
                depth += 1;
            }
            let k_ary = of_shape(Shape::Kary(k), n);
            assert_eq!(k_ary.height(), depth, "{n} {k}");
            assert!(fan_in(&k_ary) <= k as usize);
        }
        let in_order = of_shape(Shape::InOrderBinary, n);
        assert_eq!(in_order.height(), log_floor(n, 2), "{n}");
        assert!(in_order.is_in_rank_order() && fan_in(&in_order) <= 2);
        assert_eq!(in_order.bottommost().owner as usize, n - 1);
        let exchange = of_shape(Shape::Exchange, n);
        assert_eq!(exchange.all().len(), 1);
        assert_eq!(exchange.bottommost().contributors.len(), n);
    }
}

#[test]
fn a_binomial_tree_joins_each_rank_with_its_lowest_bit_cleared() {
    let tree = of_shape(Shape::Binomial, 8);
    for wrapper in kinds(&tree, WrapperKind::Gred) {
        let owners = wrapper.contributors.iter().map(|&of| tree.owner_of(of));
        for rank in owners.filter(|&rank| rank != wrapper.owner) {
            assert_eq!(rank & (rank - 1), wrapper.owner);
        }
    }
    assert!(tree.is_in_rank_order());
}

#[test]
fn the_tree_of_the_paper_crosses_to_one_root() {
    // Three hosts, the ranks of each joined by a gred of its own, and these on the first one.
    let world = World::of(&[0, 0, 1, 1, 1, 2, 2, 2]);
    let rule = shaped(&[(Level::Rank, Shape::Linear), (Level::Host, Shape::Linear)]);
    let tree = world.tree(&rule).unwrap();
    use WrapperKind::{Core, Gred, Proxy};
    assert_eq!(
        listed(tree.all()),
        [
            (Gred, 0),
            (Gred, 2),
            (Gred, 5),
            (Proxy, 2),
            (Proxy, 5),
            (Gred, 0),
            (Core, 0)
        ]
    );
    assert_eq!(tree.all()[5].contributors, [Below(0), Below(3), Below(4)]);
    let levels: Vec<Level> = tree.all().iter().map(|of| of.level).collect();
    use Level::{Host, Rank as OfRank};
    assert_eq!(levels, [OfRank, OfRank, OfRank, Host, Host, Host, OfRank]);
}

#[test]
fn an_exchange_is_at_the_bottom_and_linear_elsewhere() {
    let mut world = World::of(&[0, 0, 1, 1, 2, 3]);
    for place in &mut world.places {
        place.site = Some(place.host / 2);
    }
    let everywhere = [Level::Rank, Level::Host, Level::Site].map(|level| (level, Shape::Exchange));
    let rule = shaped(&everywhere);
    let tree = resolve(&rule, None, Order::OfRanks, world.members()).unwrap();
    let bottommost = tree.bottommost();
    assert_eq!(bottommost.kind, WrapperKind::Exchange);
    assert_eq!(bottommost.level, Level::Site);
    assert_eq!(bottommost.contributors.len(), 2);
    assert_eq!(kinds(&tree, WrapperKind::Proxy).count(), 2);
    assert_eq!(n_crossings(&tree, Level::Host), 2);
    // On one site its hosts exchange, and on one host its ranks.
    for (ranks, level) in [(0..4, Level::Host), (0..2, Level::Rank)] {
        let part = Members {
            places: &world.places[ranks.clone()],
            ..world.members()
        };
        let tree = resolve(&rule, None, Order::Any, part).unwrap();
        assert_eq!(tree.bottommost().level, level);
        assert_eq!(kinds(&tree, WrapperKind::Exchange).count(), 1);
    }
    let refused = world.tree_to(&rule, Some(1));
    assert_eq!(refused, Err(Unfit::Exchange));
}

/// A gred of two ranks that another rank owns, joined with the other ranks.
fn spelled() -> Vec<Node> {
    let node = |owner, contributors: &[Contributor]| Node {
        name: "node".into(),
        line: 1,
        kind: WrapperKind::Gred,
        owner,
        contributors: contributors.to_vec(),
        collectors: None,
        proxy_collectors: None,
    };
    vec![
        node(2, &[Rank(0), Rank(1)]),
        node(3, &[Below(0), Rank(2), Rank(3)]),
    ]
}

#[test]
fn nodes_that_are_spelled_out_get_proxies_and_a_core() {
    let world = World::of(&[0, 0, 1, 1]);
    let rule = rule(Form::Nodes(spelled()));
    let tree = world.tree(&rule).unwrap();
    use WrapperKind::{Core, Gred, Proxy};
    let expected = [(Proxy, 0), (Proxy, 1), (Gred, 2), (Gred, 3), (Core, 3)];
    assert_eq!(listed(tree.all()), expected);
    // The result is handed over to a root elsewhere.
    let tree = world.tree_to(&rule, Some(1)).unwrap();
    assert_eq!(listed(&tree.all()[4..]), [(Proxy, 3), (Core, 1)]);
    let refused = World::of(&[0, 0, 1]).tree(&rule);
    assert_eq!(refused, Err(Unfit::Ranks { nodes: 4, ranks: 3 }));
}

#[test]
fn collectors_of_a_node_and_of_its_proxy_are_its_own() {
    let mut nodes = spelled();
    nodes[0].collectors = Some(Collectors::NONE);
    nodes[0].proxy_collectors = Some(Collectors {
        before: true,
        after: false,
    });
    let world = World::of(&[0, 0, 0, 1]);
    let tree = world.tree(&rule(Form::Nodes(nodes))).unwrap();
    let gred = kinds(&tree, WrapperKind::Gred).next().unwrap();
    assert_eq!(gred.collectors, Collectors::NONE);
    let proxies: Vec<bool> = kinds(&tree, WrapperKind::Proxy)
        .map(|of| of.collectors.after)
        .collect();
    assert_eq!(proxies, [false, true]);
}

#[test]
fn nodes_in_a_wrong_order_or_of_ranks_that_are_not_there_are_an_error() {
    let world = World::of(&[0; 4]);
    let refused = |change: fn(&mut Vec<Node>)| {
        let mut nodes = spelled();
        change(&mut nodes);
        world.tree(&rule(Form::Nodes(nodes))).unwrap_err()
    };
    let wrong = [
        refused(|nodes| nodes[1].owner = 9),
        refused(|nodes| nodes[0].contributors[0] = Below(0)),
        refused(|nodes| nodes[1].contributors[0] = Rank(1)),
    ];
    for error in wrong {
        assert!(matches!(error, Unfit::Tree(_)), "{error}");
    }
}

#[test]
fn hosts_are_in_the_order_in_which_they_are_named() {
    let world = World::of(&[0, 1, 2, 0]);
    let form = |hosts: &[&str]| {
        rule(Form::Shaped(Shaped {
            joins: vec![(Level::Rank, Shape::Linear), (Level::Host, Shape::Chain(1))],
            root: None,
            hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        }))
    };
    let tree = world.tree(&form(&["h2", "h*"])).unwrap();
    assert_eq!(tree.order(), [2, 0, 3, 1]);
    let refused = world.tree(&form(&["h2", "h1"]));
    assert_eq!(refused, Err(Unfit::Host("h0".into())));
}

#[test]
fn the_first_rule_that_fits_is_used() {
    let mut first = shaped(&[(Level::Rank, Shape::Linear)]);
    first.calls.bytes.1 = 100;
    let second = rule(Form::Nodes(spelled()));
    let third = shaped(&[(Level::Rank, Shape::Binomial)]);
    let rules = TreeRules {
        rules: vec![first, second, third],
        ..TreeRules::default()
    };
    let used = |n: usize, bytes| {
        let world = World::of(&vec![0; n]);
        let call = (Collective::Allreduce, None);
        tree_for(&rules, call, bytes, Order::Any, world.members())
            .unwrap()
            .0
    };
    assert_eq!((used(4, 100), used(4, 101), used(5, 101)), (0, 1, 2));
    let (bytes, crc32) = encode_meta(&rules).unwrap();
    assert_eq!(decode_meta::<TreeRules>(&bytes, crc32), Ok(rules));
}

#[test]
fn a_star_in_the_name_of_a_host_stands_for_any_characters() {
    for (pattern, host, fits) in [
        ("node1", "node1", true),
        ("node1", "node10", false),
        ("node*", "node", true),
        ("*", "", true),
        ("n*e*1", "node-01", true),
        ("n*e*1", "node-02", false),
        ("a*a", "a", false),
        ("a*b*b", "ab", false),
        ("", "x", false),
    ] {
        assert_eq!(host_fits(pattern, host), fits, "{pattern} {host}");
    }
}

#[test]
fn groups_of_the_file_are_sites_and_switches() {
    let mut world = World::of(&[0, 1, 2]);
    world.places[0].site = Some(9);
    let group = |level, name: &str| HostGroup {
        level,
        name: name.into(),
        hosts: vec![name.into()],
    };
    let mut rules = TreeRules {
        groups: vec![group(Level::Switch, "h1"), group(Level::Switch, "h0")],
        ..TreeRules::default()
    };
    group_hosts(&rules, &world.hosts, &mut world.places);
    let of = |world: &World, level| {
        world
            .places
            .iter()
            .map(|at| at.at(level))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&world, Level::Switch), [Some(1), Some(0), None]);
    assert_eq!(of(&world, Level::Site), [Some(9), None, None]);
    rules.groups.push(group(Level::Site, "h2"));
    group_hosts(&rules, &world.hosts, &mut world.places);
    assert_eq!(of(&world, Level::Site), [None, None, Some(0)]);
}

#[test]
fn a_process_is_at_the_places_that_all_its_processors_have_in_common() {
    let cpus = (0..8).map(|number| Cpu {
        number,
        core: number % 4,
        core_complex: number % 4 / 2,
        socket: 0,
    });
    let topology = HostTopology {
        cpus: cpus.collect(),
    };
    assert_eq!(place_on(&topology, &[1, 5]), (Some(0), Some(0)));
    assert_eq!(place_on(&topology, &[1, 2]), (None, Some(0)));
    assert_eq!(place_on(&topology, &[1, 9]), (None, None));
    assert_eq!(place_on(&topology, &[]), (None, None));
}

fn any_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Linear),
        (1..5u32).prop_map(Shape::Chain),
        (1..5u32).prop_map(Shape::Kary),
        (2..6u32).prop_map(Shape::Knomial),
        Just(Shape::Binomial),
        Just(Shape::InOrderBinary),
        Just(Shape::Exchange),
    ]
}

/// Ranks on up to 6 hosts of up to 2 sockets, at up to 3 sites.
fn any_world() -> impl Strategy<Value = World> {
    let ranks = proptest::collection::vec((0..6u32, 0..2u32), 1..40);
    (ranks, 1..4u32, any::<bool>()).prop_map(|(mut ranks, n_sites, is_sorted)| {
        if is_sorted {
            ranks.sort_unstable_by_key(|&(host, socket)| (host % n_sites, host, socket));
        }
        let mut world = World::of(&ranks.iter().map(|&(host, _)| host).collect::<Vec<_>>());
        for (place, (host, socket)) in world.places.iter_mut().zip(ranks) {
            place.socket = Some(socket);
            place.site = Some(host % n_sites);
        }
        world
    })
}

/// A form of some levels, the ranks always among them.
fn any_form() -> impl Strategy<Value = Shaped> {
    let joins = proptest::collection::vec(proptest::option::of(any_shape()), 3);
    (any_shape(), joins).prop_map(|(of_ranks, shapes)| {
        let levels = [Level::Socket, Level::Host, Level::Site];
        let wider = levels.into_iter().zip(shapes);
        let wider = wider.filter_map(|(level, shape)| Some((level, shape?)));
        Shaped {
            joins: std::iter::once((Level::Rank, of_ranks))
                .chain(wider)
                .collect(),
            root: None,
            hosts: Vec::new(),
        }
    })
}

fn has(form: &Shaped, level: Level) -> bool {
    form.joins.iter().any(|&(of, _)| of == level)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_rank_contributes_once_and_the_root_holds_the_result(
        world in any_world(), form in any_form(), root in any::<prop::sample::Index>(),
    ) {
        let n_ranks = world.n_ranks();
        let root = root.index(n_ranks as usize) as u32;
        let rule = rule(Form::Shaped(form.clone()));
        for call_root in [None, Some(root)] {
            // A tree that is not whole is an error here.
            let tree = match world.tree_to(&rule, call_root) {
                Err(Unfit::Exchange) if call_root.is_some() => continue,
                found => found.unwrap(),
            };
            let mut order = tree.order();
            order.sort_unstable();
            prop_assert!(order.into_iter().eq(0..n_ranks));
            let bottommost = tree.bottommost();
            match bottommost.kind {
                WrapperKind::Exchange => {
                    prop_assert!(form.joins.iter().any(|&(_, shape)| shape == Shape::Exchange));
                }
                _ => {
                    // The shape has it at its root: nothing is handed over.
                    let below = tree.owner_of(bottommost.contributors[0]);
                    prop_assert_eq!(bottommost.owner, below);
                    prop_assert!(call_root.is_none_or(|root| bottommost.owner == root));
                }
            }
            // Rank by rank a path to the bottom, as long as the height at most.
            for first in tree.first_wrappers() {
                let joins = tree.path(first).filter(|(_, of)| {
                    matches!(of.kind, WrapperKind::Gred | WrapperKind::Exchange)
                });
                prop_assert!(joins.count() as u32 <= tree.height());
            }
        }
    }

    #[test]
    fn levels_are_crossed_no_more_often_than_there_are_places(
        world in any_world(), form in any_form(),
    ) {
        let rule = rule(Form::Shaped(form.clone()));
        let tree = world.tree(&rule).unwrap();
        let exchange = match tree.bottommost().kind {
            WrapperKind::Exchange => Some(tree.bottommost().level),
            _ => None,
        };
        let (hosts, sites) = (world.n_different(Level::Host), world.n_different(Level::Site));
        let by_proxy = kinds(&tree, WrapperKind::Proxy).count();
        if has(&form, Level::Host) && exchange.is_none() {
            prop_assert_eq!(by_proxy, hosts - 1);
        }
        if has(&form, Level::Site) && exchange.is_none() {
            prop_assert_eq!(n_crossings(&tree, Level::Site), sites - 1);
        }
        if has(&form, Level::Site) && exchange == Some(Level::Site) {
            prop_assert_eq!(n_crossings(&tree, Level::Site), 0);
            prop_assert_eq!(tree.bottommost().contributors.len(), sites);
        }
    }

    #[test]
    fn ranks_that_are_together_on_their_hosts_are_combined_in_their_order(
        world in any_world(), form in any_form(), root in any::<prop::sample::Index>(),
    ) {
        let root = root.index(world.places.len()) as u32;
        let rule = rule(Form::Shaped(form.clone()));
        for call_root in [None, Some(root)] {
            let tree = match resolve(&rule, call_root, Order::OfRanks, world.members()) {
                Err(Unfit::Exchange) if call_root.is_some() => continue,
                found => found.unwrap(),
            };
            if tree.bottommost().kind == WrapperKind::Core {
                prop_assert!(call_root.is_none_or(|root| tree.bottommost().owner == root));
            }
            // Whether a place of a level that is joined has ranks of two ranges.
            let is_cut = |level: Level| {
                let places = world.places.iter();
                let wider = |at: &Place| Level::ALL.map(|of| at.at(of).filter(|_| of >= level));
                let mut runs: Vec<_> = places.map(wider).collect();
                runs.dedup();
                runs.len() > world.n_different(level)
            };
            let mut levels = form.joins.iter().map(|&(level, _)| level);
            if !levels.any(|level| level > Level::Rank && is_cut(level)) {
                prop_assert!(tree.is_in_rank_order());
            }
        }
    }

    #[test]
    fn damaged_rules_are_an_error_or_make_whole_trees(
        world in any_world(), form in any_form(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let rules = TreeRules {
            rules: vec![rule(Form::Shaped(form)), rule(Form::Nodes(spelled()))],
            ..TreeRules::default()
        };
        let (mut bytes, _) = encode_meta(&rules).unwrap();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let Ok(rules) = decode_meta::<TreeRules>(&bytes, crc32fast::hash(&bytes)) else {
            return Ok(());
        };
        for rule in &rules.rules {
            for order in [Order::Any, Order::OfRanks] {
                if let Ok(tree) = resolve(rule, None, order, world.members()) {
                    prop_assert_eq!(tree.n_ranks(), world.n_ranks());
                }
            }
        }
    }

    #[test]
    fn the_numbers_of_hosts_do_not_matter(world in any_world(), form in any_form()) {
        let mut other = world.clone();
        other.hosts = (0..32).map(|host| format!("h{}", 31 - host)).collect();
        for place in &mut other.places {
            place.host = 31 - place.host;
        }
        let rule = rule(Form::Shaped(form));
        let [one, other] = [&world, &other].map(|world| world.tree(&rule).unwrap());
        prop_assert_eq!(one.all(), other.all());
    }
}
