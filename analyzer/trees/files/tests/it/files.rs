//! What tree files say.

use std::path::Path;

use collbench_formats::tree::{
    Collective, Collectors, Contributor, Form, Level, LibraryCandidate, Results, Rule, Shape,
    WrapperKind,
};
use collbench_tree_files::TreeFile;

fn rules(text: &str) -> Vec<Rule> {
    TreeFile::parse(text, Path::new("")).unwrap().rules.rules
}

#[test]
fn shapes_by_level_are_in_the_order_of_levels() {
    let rules = rules(
        "[[tree]]\noperations = [\"MPI_Allreduce\", \"barrier\"]\nsize = \"4-64\"\nbytes = \"1-4KiB\"\n\
         shape = { sites = \"exchange\", hosts = \"k-nomial 4\", sockets = \"chain 2\" }\n\
         hosts = [\"b*\", \"a*\"]\ncollectors = { gred = \"before\", proxy = \"none\" }\n",
    );
    let [rule] = &rules[..] else {
        panic!("{rules:?}")
    };
    let Form::Shaped(form) = &rule.form else {
        panic!("{rule:?}")
    };
    assert_eq!(
        form.joins,
        [
            (Level::Rank, Shape::Linear),
            (Level::Socket, Shape::Chain(2)),
            (Level::Host, Shape::Knomial(4)),
            (Level::Site, Shape::Exchange),
        ]
    );
    assert_eq!(
        (&form.hosts[..], form.root),
        (&["b*".to_owned(), "a*".to_owned()][..], None)
    );
    assert_eq!(
        rule.calls.operations,
        [Collective::Allreduce, Collective::Barrier]
    );
    assert_eq!((rule.calls.ranks, rule.calls.bytes), ((4, 64), (1, 4096)));
    assert_eq!(rule.collectors.proxy, Collectors::NONE);
    assert_eq!(rule.collectors.exchange, Collectors::ALL);
    assert_eq!(
        (rule.collectors.gred.before, rule.collectors.gred.after),
        (true, false)
    );
}

#[test]
fn ranges_may_be_open_and_payloads_have_units() {
    let of = |line: &str| {
        let text = format!("[[tree]]\noperations = \"bcast\"\nshape = \"linear\"\n{line}\n");
        let calls = rules(&text).remove(0).calls;
        (calls.ranks, calls.bytes)
    };
    let (all_sizes, all_bytes) = ((1, u32::MAX), (0, u64::MAX));
    assert_eq!(of(""), (all_sizes, all_bytes));
    assert_eq!(of("size = 8"), ((8, 8), all_bytes));
    assert_eq!(of("size = \"-8\""), ((1, 8), all_bytes));
    assert_eq!(of("size = \"8-\""), ((8, u32::MAX), all_bytes));
    assert_eq!(of("bytes = \"64K-1 MiB\""), (all_sizes, (65_536, 1 << 20)));
    assert_eq!(of("bytes = \"4097-\""), (all_sizes, (4097, u64::MAX)));
}

#[test]
fn trees_may_be_for_one_host_or_several_or_several_sites() {
    let tree = "[[tree]]\noperations = \"bcast\"\nshape = \"linear\"\n";
    let text = format!(
        "{tree}across = \"ranks\"\n{tree}across = \"sites\"\n{tree}{tree}across = \"hosts\"\n"
    );
    let file = TreeFile::parse(&text, Path::new("")).unwrap();
    let across = file.rules.rules.iter().map(|rule| rule.calls.across);
    let (ranks, hosts, sites) = (Level::Rank, Level::Host, Level::Site);
    let expected = [Some(ranks), Some(sites), None, Some(hosts)];
    assert!(across.eq(expected));
    // Only the last one comes after a tree for all its calls.
    let unused: Vec<u32> = file.remarks.iter().map(|remark| remark.line).collect();
    assert_eq!(unused, [12]);
}

#[test]
fn nodes_come_before_those_that_they_contribute_to() {
    let text = "[[tree]]\noperations = \"allreduce\"\n\
        [[tree.node]]\nname = \"top\"\nkind = \"exchange\"\ncontributors = [\"left\", \"right\"]\n\
        [[tree.node]]\nname = \"right\"\nowner = 3\ncontributors = [2, 3]\nproxy-collectors = \"none\"\n\
        [[tree.node]]\nname = \"left\"\nowner = 1\ncontributors = [1, 0]\ncollectors = \"after\"\n";
    let rules = rules(text);
    let Form::Nodes(nodes) = &rules[0].form else {
        panic!("{rules:?}")
    };
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["left", "right", "top"]);
    let lines: Vec<u32> = nodes.iter().map(|node| node.line).collect();
    assert_eq!(lines, [12, 7, 3]);
    assert_eq!(
        nodes[0].contributors,
        [Contributor::Rank(1), Contributor::Rank(0)]
    );
    assert_eq!(
        nodes[2].contributors,
        [Contributor::Wrapper(0), Contributor::Wrapper(1)]
    );
    assert_eq!((nodes[2].kind, nodes[2].owner), (WrapperKind::Exchange, 1));
    assert_eq!(nodes[1].proxy_collectors, Some(Collectors::NONE));
    assert_eq!(
        nodes[0].collectors.map(|of| (of.before, of.after)),
        Some((false, true))
    );
    assert_eq!(rules[0].calls.ranks, (4, 4));
}

#[test]
fn the_example_of_the_reference_is_right() {
    let reference = include_str!("../../src/TREES.md");
    let (_, rest) = reference.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let file = TreeFile::parse(example, Path::new("")).unwrap();
    assert_eq!(file.rules.rules.len(), 5);
    assert_eq!(file.rules.adaptations.len(), 1);
    // Every key and level is named.
    for word in [
        "[[switch]]",
        "topology",
        "core-complexes",
        "switches",
        "in-order binary",
    ] {
        assert!(reference.contains(word), "{word}");
    }
    for operation in Collective::ALL {
        assert!(reference.contains(operation.name()), "{}", operation.name());
    }
}

#[test]
fn candidates_are_rules_in_a_row_for_the_calls_of_their_tree() {
    let text = "[[tree]]\noperations = 'bcast'\nshape = 'linear'\nbytes = '0-7'\n\
        [[tree]]\noperations = ['allreduce', 'barrier']\nsize = '2-'\ncollectors = 'none'\n\
        adapt = { library = 'first', cost = 0.1, results = 'any' }\n\
        [[tree.candidate]]\nshape = 'binomial'\n\
        [[tree.candidate]]\ncollectors = 'both'\n\
        [[tree.candidate.node]]\nowner = 0\ncontributors = [0, 1]\n\
        [[tree]]\noperations = 'reduce'\nadapt = {}\ncandidate = [{ shape = 'linear' }, { shape = 'binomial' }]\n";
    let mut rules = TreeFile::parse(text, Path::new("")).unwrap().rules;
    let [one, other] = &rules.adaptations[..] else {
        panic!("{:?}", rules.adaptations);
    };
    assert_eq!(
        (one.line, one.first, one.n_rules, one.cost),
        (5, 1, 2, 100_000)
    );
    assert_eq!(
        (one.library, one.results),
        (LibraryCandidate::First, Results::Any)
    );
    assert_eq!(
        (other.line, other.first, other.n_rules, other.cost),
        (17, 3, 2, 20_000)
    );
    assert_eq!(
        (other.library, other.results),
        (LibraryCandidate::No, Results::Same)
    );
    let [_, first, second, ..] = &rules.rules[..] else {
        panic!("{:?}", rules.rules);
    };
    assert_eq!(first.calls.operations, second.calls.operations);
    assert_eq!(
        (first.calls.ranks, second.calls.ranks),
        ((2, u32::MAX), (2, 2))
    );
    assert_eq!((first.line, second.line), (10, 12));
    assert_eq!(first.collectors.gred, Collectors::NONE);
    assert_eq!(second.collectors.gred, Collectors::ALL);
    assert_eq!(
        (rules.candidate(0), rules.candidate(2)),
        (None, Some((0, 1)))
    );
    assert_eq!(rules.name(0), "line 1 of the tree file");
    assert_eq!(rules.name(4), "candidate 2 of line 17 of the tree file");
    rules.retain(|calls| !calls.operations.contains(&Collective::Bcast));
    assert_eq!(
        (rules.candidate(0), rules.candidate(3)),
        (Some((0, 0)), Some((1, 1)))
    );
    rules.retain(|calls| calls.operations.contains(&Collective::Reduce));
    assert_eq!(rules.adaptations.len(), 1);
    assert_eq!(
        (rules.candidate(0), rules.candidate(2)),
        (Some((0, 0)), None)
    );
}

#[test]
fn a_candidate_that_is_there_twice_is_a_remark() {
    let text = "[[tree]]\noperations = 'reduce'\nadapt = {}\n\
        [[tree.candidate]]\nshape = 'linear'\n[[tree.candidate]]\nshape = { ranks = 'linear' }\n";
    let file = TreeFile::parse(text, Path::new("")).unwrap();
    let remarks: Vec<String> = file.remarks.iter().map(ToString::to_string).collect();
    assert_eq!(
        remarks,
        ["6:1: the same tree as that of line 4; leave one of both candidates out"]
    );
}
