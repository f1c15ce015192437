//! Files that are made say what they were made of.

use std::path::Path;

use collbench_formats::tree::{Place, Rule, Shape, WrapperKind, Wrappers};
use collbench_tree_files::TreeFile;
use collbench_tree_files::make::{Beginning, best, hierarchical, spelled_out, with_shape};
use collbench_trees::wrappers::{Members, Order, group_hosts, resolve};

const SHAPES: [Shape; 7] = [
    Shape::Linear,
    Shape::Chain(2),
    Shape::Kary(3),
    Shape::Knomial(4),
    Shape::Binomial,
    Shape::InOrderBinary,
    Shape::Exchange,
];

fn hosts() -> [(String, u32); 3] {
    [
        ("a\"1".to_owned(), 3),
        ("b".to_owned(), 2),
        ("c".to_owned(), 4),
    ]
}

fn names() -> [String; 3] {
    hosts().map(|(name, _)| name)
}

fn beginning<'b>(hosts: &'b [String], sites: Option<&'b [u32]>) -> Beginning<'b> {
    Beginning {
        hosts,
        n_ranks: 9,
        sites,
        given: "--hosts a:3,b:2,c:4",
    }
}

fn tree(file: &TreeFile, rule: &Rule) -> Wrappers {
    tree_at(file, rule, [None; 3])
}

/// The tree of a rule, where these sites of the hosts were found when the program was started.
fn tree_at(file: &TreeFile, rule: &Rule, sites: [Option<u32>; 3]) -> Wrappers {
    let names = names();
    let hosts = hosts();
    let mut places = Vec::new();
    for ((host, (_, n)), site) in (0..).zip(&hosts).zip(sites) {
        let place = Place {
            host,
            site,
            ..Place::default()
        };
        places.extend((0..*n).map(|_| place));
    }
    group_hosts(&file.rules, &names, &mut places);
    let members = Members {
        hosts: &names,
        places: &places,
    };
    let root = rule
        .calls
        .operations
        .iter()
        .all(|of| of.has_root())
        .then_some(0);
    resolve(rule, root, Order::Any, members).unwrap()
}

fn parse(text: &str) -> TreeFile {
    let file = TreeFile::parse(text, Path::new("")).unwrap();
    assert!(file.remarks.is_empty(), "{:?}", file.remarks);
    // Every operation has a tree.
    let operations = file
        .rules
        .rules
        .iter()
        .flat_map(|rule| &rule.calls.operations);
    assert_eq!(operations.count(), 7, "{text}");
    file
}

#[test]
fn a_file_with_a_shape_has_that_shape_for_what_can_have_it() {
    for shape in SHAPES {
        let hosts = names();
        let file = parse(&with_shape(beginning(&hosts, None), shape));
        for rule in &file.rules.rules {
            let bottommost = tree(&file, rule).bottommost().kind;
            let has_root = rule.calls.operations.iter().any(|of| of.has_root());
            assert_eq!(
                bottommost == WrapperKind::Exchange,
                shape == Shape::Exchange && !has_root
            );
        }
    }
}

#[test]
fn a_hierarchical_file_crosses_each_site_once() {
    let hosts = names();
    let file = parse(&hierarchical(beginning(&hosts, None)));
    let found = tree(&file, &file.rules.rules[0]);
    let proxies = |tree: &Wrappers| {
        tree.all()
            .iter()
            .filter(|of| of.kind == WrapperKind::Proxy)
            .count()
    };
    assert_eq!(proxies(&found), 2);
    let found = tree_at(&file, &file.rules.rules[0], [Some(0), Some(1), Some(0)]);
    let named = parse(&hierarchical(beginning(&hosts, Some(&[0, 1, 0]))));
    assert_eq!(tree(&named, &named.rules.rules[0]), found);
    assert_eq!(found.bottommost().kind, WrapperKind::Exchange);
    assert_eq!(
        (proxies(&found), found.bottommost().contributors.len()),
        (1, 2)
    );
}

#[test]
fn the_best_file_is_right_and_names_the_sites_that_are_known() {
    let plain = TreeFile::parse(&best(None), Path::new("")).unwrap();
    assert!(plain.remarks.is_empty(), "{:?}", plain.remarks);
    let mut read = TreeFile::read(Path::new("best")).unwrap();
    assert_eq!(read.rules.name(0), "the rule in line 6 of best");
    read.rules.is_best = false;
    assert_eq!(read, plain);
    // What is best depends on how far apart the processes are.
    let mut rules = plain.rules.rules.iter();
    assert!(rules.all(|rule| rule.calls.across.is_some()));
    let hosts = names();
    let named = TreeFile::parse(&best(Some((&hosts, &[0, 1, 0]))), Path::new("")).unwrap();
    assert_eq!(named.rules.rules, plain.rules.rules);
    assert_eq!(named.rules.groups.len(), 2);
}

#[test]
fn a_tree_that_is_spelled_out_is_the_same_tree() {
    for shape in SHAPES {
        let hosts = names();
        let file = parse(&with_shape(beginning(&hosts, None), shape));
        let shaped = tree(&file, &file.rules.rules[0]);
        let text = spelled_out(beginning(&hosts, None), &shaped);
        let spelled = TreeFile::parse(&text, Path::new("")).unwrap();
        let found = tree(&spelled, &spelled.rules.rules[0]);
        assert_eq!(found.order(), shaped.order(), "{text}");
        assert_eq!(found.height(), shaped.height());
        let mut all = [&found, &shaped].map(|tree| {
            tree.all()
                .iter()
                .map(|of| (of.kind, of.owner, of.level, of.contributors.len()))
                .collect::<Vec<_>>()
        });
        all.iter_mut().for_each(|all| all.sort_unstable());
        assert_eq!(all[0], all[1], "{text}");
    }
}
