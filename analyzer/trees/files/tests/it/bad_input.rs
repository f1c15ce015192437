//! Everything that is wrong is named with its place and a remedy.

use std::path::Path;

use collbench_tree_files::TreeFile;
use proptest::prelude::*;

/// What is said of a file, one line for each problem.
fn said(text: &str) -> String {
    match TreeFile::parse(text, Path::new("/nowhere")) {
        Ok(file) => panic!("nothing is wrong with {file:?}"),
        Err(problems) => {
            let lines: Vec<String> = problems.0.iter().map(|of| of.to_string()).collect();
            lines.join("\n")
        }
    }
}

/// What is said of a tree of allreduce that is spelled out with these nodes, which begin in line 3.
fn of_nodes(nodes: &str) -> String {
    said(&format!("[[tree]]\noperations = \"allreduce\"\n{nodes}"))
}

/// What is said of a tree of allreduce with these keys, from line 3 on.
fn of_candidates(keys: &str) -> String {
    said(&format!("[[tree]]\noperations = \"allreduce\"\n{keys}"))
}

#[test]
fn candidates_are_two_to_eight_and_say_what_may_be_done_about_them() {
    let linear = "[[tree.candidate]]\nshape = \"linear\"\n";
    let two = format!("{linear}[[tree.candidate]]\nshape = \"binomial\"\n");
    assert_eq!(
        of_candidates(&two),
        "3:8: candidates without \"adapt\"; add adapt = {}, or leave one of them and write its keys into the tree"
    );
    assert_eq!(
        of_candidates(&format!("adapt = {{}}\n{linear}")),
        "4:8: one candidate; add another [[tree.candidate]], or library = true to adapt"
    );
    assert_eq!(
        of_candidates(&format!("adapt = {{}}\n{}", linear.repeat(9))),
        "4:8: 9 candidates; leave at most 8"
    );
    assert_eq!(
        of_candidates("adapt = { library = true }\nshape = \"linear\"\n"),
        "3:1: \"adapt\" without candidates; write each tree as [[tree.candidate]] with a shape"
    );
    assert_eq!(
        of_candidates(&format!("adapt = {{ cost = 0.6 }}\n{two}")),
        "3:18: 0.6 instead of a cost; expected a share of the time in these calls from 0 to 0.5, such as 0.02"
    );
    assert_eq!(
        of_candidates(&format!("adapt = {{ costs = 0.1 }}\n{two}")),
        "3:11: adapt has no key \"costs\"; did you mean \"cost\"?"
    );
    assert_eq!(
        of_candidates(&format!("adapt = {{ library = \"last\" }}\n{two}")),
        "3:21: an unknown value of \"library\"; expected true, false or \"first\""
    );
    assert_eq!(
        of_candidates(&format!("adapt = {{ results = \"sam\" }}\n{two}")),
        "3:21: \"sam\" for results; did you mean \"same\"?"
    );
    assert_eq!(
        of_candidates(&format!("adapt = {{}}\nroot = 1\n{two}")),
        "4:1: \"root\" for a tree with candidates; write it into each [[tree.candidate]]"
    );
}

#[test]
fn a_typo_is_named_with_the_nearest_name() {
    assert_eq!(
        said("[[tree]]\noperations = [\"allreduce\"]\nshpae = \"binomial\"\n"),
        "3:1: a tree has no key \"shpae\"; did you mean \"shape\"?"
    );
    assert_eq!(
        said("[[tree]]\noperations = [\"allreduce\"]\n"),
        "1:1: a tree without a shape; add shape = \"binomial\" or another one, or a [[tree.node]] \
         for each join"
    );
    assert_eq!(
        said("[[tree]]\noperations = [\"reduce\", \"allredcue\"]\nshape = \"binomal\"\n"),
        "2:25: \"allredcue\" is no operation of trees; did you mean \"allreduce\"?\n\
         3:9: \"binomal\" is no shape; did you mean \"binomial\"?"
    );
    assert_eq!(
        said(
            "[[tree]]\noperations = \"bcast\"\nshape = { ranks = \"linear\", host = \"linear\" }\n"
        ),
        "3:29: a shape has no key \"host\"; did you mean \"hosts\"?"
    );
    assert_eq!(
        said("[[tree]]\noperations = \"alltoall\"\nshape = \"linear\"\n"),
        "2:14: \"alltoall\" is no operation of trees; expected allreduce, reduce, bcast, barrier, \
         gather, scatter or allgather"
    );
    assert_eq!(
        said(
            "[[tree]]\noperations = \"bcast\"\nshape = \"linear\"\ncollectors = { gerd = \"none\" }\n"
        ),
        "4:16: a table of collectors has no key \"gerd\"; did you mean \"gred\"?"
    );
}

#[test]
fn what_is_no_toml_and_what_has_no_tree_is_said() {
    assert!(said("[[tree]\n").starts_with("1:"), "{}", said("[[tree]\n"));
    let twice = said("[[tree]]\noperations = \"bcast\"\noperations = \"reduce\"\n");
    assert!(twice.starts_with("3:1: duplicate key"), "{twice}");
    assert_eq!(
        said("version = 1\n"),
        "1:1: a file without trees; add [[tree]] with operations and a shape"
    );
    assert!(said("version = 2\n").starts_with("1:11: version 2; this collbench reads version 1"));
    assert_eq!(
        said("wait = \"yeild\"\n[[tree]]\noperations = \"bcast\"\nshape = \"linear\"\n"),
        "1:8: \"yeild\" is no way to wait; did you mean \"yield\"?"
    );
    assert_eq!(
        said("tree = 3\n"),
        "1:8: 3 instead of a list of tables; write [[tree]]"
    );
}

#[test]
fn numbers_and_ranges_outside_their_limits_are_said() {
    let with = |line: &str| {
        said(&format!(
            "[[tree]]\noperations = \"bcast\"\nshape = \"linear\"\n{line}\n"
        ))
    };
    let sizes = "expected a number such as 8, or a range such as \"4-64\" or \"4-\"";
    for wrong in ["\"8-4\"", "0", "\"many\"", "-1", "\"1-99999999999\""] {
        assert_eq!(
            with(&format!("size = {wrong}")),
            format!("4:8: {wrong} instead of numbers of processes; {sizes}")
        );
    }
    assert_eq!(
        with("bytes = \"4Kb-\""),
        "4:9: \"4Kb-\" instead of a payload; expected bytes such as 8, or a range such as \"0-4KiB\" \
         or \"4097-\""
    );
    assert_eq!(
        with("size = \"2-8\"\nroot = 8"),
        "5:8: rank 8 of at most 8; ranks are numbered from 0"
    );
    assert_eq!(
        with("across = \"site\""),
        "4:10: \"site\" is no level of communicators; did you mean \"sites\"?"
    );
    assert_eq!(
        with("hosts = []"),
        "4:9: an empty list of the name of a host; name at least one, or leave it out"
    );
}

#[test]
fn an_exchange_has_no_root() {
    assert_eq!(
        said(
            "[[tree]]\noperations = [\"barrier\", \"reduce\"]\nshape = { hosts = \"exchange\" }\nroot = 0\n"
        ),
        "2:26: reduce has a root, and an exchange has none; give it a tree of its own, with a shape \
         that has a root\n\
         4:8: an exchange has no root; leave out the root, or take another shape than exchange"
    );
}

#[test]
fn ranks_that_are_missing_or_twice_are_named() {
    assert_eq!(
        of_nodes("[[tree.node]]\nowner = 0\ncontributors = [0, 1, 3]\n"),
        "1:1: rank 2 contributes to no node, and rank 3 does; add it to the contributors of a node: \
         ranks are numbered from 0 without gaps"
    );
    assert_eq!(
        of_nodes("[[tree.node]]\nowner = 0\ncontributors = [0, 1, 0]\n"),
        "5:23: rank 0 contributes a second time; remove it here or in line 5"
    );
    assert_eq!(
        of_nodes("size = 8\n[[tree.node]]\nowner = 0\ncontributors = [0, 1]\n"),
        "1:1: nodes for 2 ranks in a tree of another size; write size = 2, or leave it out"
    );
}

#[test]
fn a_node_has_one_owner_that_is_a_rank() {
    assert_eq!(
        of_nodes("[[tree.node]]\nowner = [0, 1]\ncontributors = [0, 1]\n"),
        "4:9: 2 owners of one node; name one rank: a node has one owner"
    );
    assert_eq!(
        of_nodes("[[tree.node]]\nowner = 2\ncontributors = [0, 1]\n"),
        "4:9: owner 2 of 2 ranks; name one of the ranks 0 to 1"
    );
    assert_eq!(
        of_nodes("[[tree.node]]\ncontributors = [0, 1]\n"),
        "3:1: a node without an owner; add owner = the rank that receives what comes from other hosts"
    );
    let twice = "[[tree.node]]\nname = \"a\"\nowner = 0\ncontributors = [0, 1]\n";
    assert_eq!(
        of_nodes(&format!("{twice}{}", twice.replace("[0, 1]", "[2, \"a\"]"))),
        "8:8: a second node \"a\": the first one is in line 3; give it another name; a node has one owner"
    );
}

/// Nodes with one rank each, and the node that each of them joins.
fn ring(names: &[(&str, &str)]) -> String {
    let nodes = names.iter().enumerate().map(|(rank, (name, below))| {
        format!(
            "[[tree.node]]\nname = \"{name}\"\nowner = {rank}\ncontributors = [{rank}, \"{below}\"]\n"
        )
    });
    nodes.collect()
}

#[test]
fn cycles_and_nodes_that_lead_nowhere_are_named() {
    assert_eq!(
        of_nodes(&ring(&[("a", "b"), ("b", "c"), ("c", "a")])),
        "6:16: a cycle: node \"a\", node \"c\", node \"b\" contribute to one another; let one of them \
         contribute to a node that leads to the root"
    );
    assert_eq!(
        of_nodes(&ring(&[("a", "a")])),
        "6:16: node \"a\" contributes to itself; let one of them contribute to a node that leads to \
         the root"
    );
    // A cycle beside a tree.
    let beside = format!(
        "{}[[tree.node]]\nowner = 2\ncontributors = [2, 3]\n",
        ring(&[("a", "b"), ("b", "a")])
    );
    assert!(
        of_nodes(&beside).contains("a cycle: "),
        "{}",
        of_nodes(&beside)
    );
    let two = "[[tree.node]]\nname = \"a\"\nowner = 0\ncontributors = [0, 1]\n[[tree.node]]\nowner = 2\n\
               contributors = [2, 3]\n";
    assert_eq!(
        of_nodes(two),
        "7:1: neither node \"a\" nor a node without a name contributes to a node; one node is at the \
         root: name all others among the contributors of a node"
    );
    assert_eq!(
        of_nodes(
            "[[tree.node]]\nname = \"left\"\nowner = 0\ncontributors = [0, 1]\n[[tree.node]]\n\
                  owner = 2\ncontributors = [2, \"lift\"]\n"
        ),
        "9:20: there is no node \"lift\"; did you mean \"left\"?"
    );
}

#[test]
fn an_exchange_and_a_gred_join_at_least_two_with_owners_of_their_own() {
    assert_eq!(
        of_nodes("[[tree.node]]\nkind = \"exchange\"\ncontributors = [0]\n"),
        "5:16: an exchange with one partner; name at least two, or make it a gred of what the partner \
         joins"
    );
    assert_eq!(
        of_nodes("[[tree.node]]\nowner = 0\ncontributors = [0]\n"),
        "5:16: a gred with one contributor; name at least two, or let its contributor go to the next \
         node directly"
    );
    assert_eq!(
        of_nodes(
            "[[tree.node]]\nname = \"a\"\nowner = 2\ncontributors = [0, 1]\n[[tree.node]]\n\
                  kind = \"exchange\"\ncontributors = [2, \"a\"]\n"
        ),
        "9:20: two partners of an exchange that rank 2 owns; give them different owners"
    );
    assert_eq!(
        of_nodes(
            "[[tree.node]]\nname = \"a\"\nkind = \"exchange\"\ncontributors = [0, 1]\n\
                  [[tree.node]]\nowner = 2\ncontributors = [2, \"a\"]\n"
        ),
        "3:1: an exchange that contributes to a node without a name; make it a gred: an exchange has \
         the result, and is at the root"
    );
    assert_eq!(
        said(
            "[[tree]]\noperations = \"bcast\"\n[[tree.node]]\nkind = \"exchange\"\ncontributors = [0, 1]\n"
        ),
        "2:14: bcast has a root, and an exchange has none; give it a tree of its own, with a shape \
         that has a root"
    );
}

#[test]
fn proxies_and_shapes_do_not_go_with_nodes() {
    let said_of_proxy =
        of_nodes("[[tree.node]]\nkind = \"proxy\"\nowner = 0\ncontributors = [0]\n");
    assert!(
        said_of_proxy.starts_with("4:8: a proxy as a node; leave it out"),
        "{said_of_proxy}"
    );
    let both = of_nodes("shape = \"linear\"\n[[tree.node]]\nowner = 0\ncontributors = [0, 1]\n");
    assert_eq!(
        both,
        "3:1: a shape and nodes for one tree; leave one of them out"
    );
    let root = of_nodes("root = 0\n[[tree.node]]\nowner = 0\ncontributors = [0, 1]\n");
    assert!(
        root.starts_with("3:1: \"root\" for a tree that is spelled out"),
        "{root}"
    );
}

#[test]
fn a_host_is_in_one_site_and_its_topology_is_there() {
    let tree = "[[tree]]\noperations = \"bcast\"\nshape = \"linear\"\n";
    assert_eq!(
        said(&format!(
            "[[site]]\nname = \"x\"\nhosts = [\"a\"]\n[[site]]\nname = \"y\"\nhosts = [\"b\", \"a\"]\n{tree}"
        )),
        "6:15: \"a\" is of a site \"x\" already; name it once"
    );
    let missing = said(&format!(
        "[[host]]\nhosts = \"a\"\ntopology = \"a.xml\"\n{tree}"
    ));
    assert!(missing.starts_with("3:12: /nowhere/a.xml: "), "{missing}");
    assert!(
        said(&format!("[[site]]\nname = \"x\"\n{tree}")).starts_with("1:1: a site without hosts")
    );
}

#[test]
fn hosts_that_are_not_there_are_named_with_their_place() {
    let text = "[[site]]\nname = \"x\"\nhosts = [\"node*\", \"m1\"]\n[[tree]]\noperations = \"bcast\"\n\
                shape = \"linear\"\nhosts = [\"noed1\", \"node2\"]\n";
    let file = TreeFile::parse(text, Path::new("")).unwrap();
    let hosts = ["node1".to_owned(), "node2".to_owned()];
    let unknown: Vec<String> = file
        .unknown_hosts(&hosts)
        .iter()
        .map(|of| of.to_string())
        .collect();
    assert_eq!(
        unknown,
        [
            "3:19: no host is called \"m1\"; correct the name, or remove it",
            "7:10: no host is called \"noed1\"; did you mean \"node1\"?",
        ]
    );
}

#[test]
fn a_tree_that_an_earlier_one_hides_is_remarked_on() {
    let text = "[[tree]]\noperations = [\"bcast\", \"reduce\"]\nshape = \"linear\"\n\
                [[tree]]\noperations = \"bcast\"\nbytes = \"0-100\"\nshape = \"binomial\"\n";
    let file = TreeFile::parse(text, Path::new("")).unwrap();
    let remarks: Vec<String> = file.remarks.iter().map(|of| of.to_string()).collect();
    assert_eq!(
        remarks,
        [
            "4:1: never used: the tree of line 1 is for all these calls; put it before that one, or \
          restrict one of them by size or bytes"
        ]
    );
    let restricted = text.replacen("shape", "size = \"4-\"\nshape", 1);
    let file = TreeFile::parse(&restricted, Path::new("")).unwrap();
    assert!(file.remarks.is_empty());
}

#[test]
fn names_are_shown_without_what_a_terminal_would_obey() {
    let said = said("[[tree]]\noperations = \"\\u001b[31m\"\nshape = \"linear\"\n");
    assert!(
        !said.contains('\u{1b}') && said.contains("\\u{1b}"),
        "{said}"
    );
}

/// A file that is right, for damage.
const RIGHT: &str = "version = 1\nwait = \"sleep\"\n[[site]]\nname = \"x\"\nhosts = [\"a*\"]\n[[tree]]\n\
    operations = [\"allreduce\", \"barrier\"]\nsize = \"2-64\"\nbytes = \"0-4KiB\"\n\
    shape = { ranks = \"linear\", hosts = \"4-nomial\", sites = \"exchange\" }\n\
    collectors = { gred = \"before\" }\n[[tree]]\noperations = \"bcast\"\n[[tree.node]]\nname = \"a\"\n\
    owner = 1\ncontributors = [0, 1]\n[[tree.node]]\nowner = 2\ncontributors = [\"a\", 2, 3]\n";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_damaged_file_is_an_error_with_a_place_or_is_right(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), "\\PC{0,3}", 0..4usize), 1..4),
    ) {
        let mut chars: Vec<char> = RIGHT.chars().collect();
        for (at, inserted, n_removed) in damage {
            let at = at.index(chars.len());
            let end = (at + n_removed).min(chars.len());
            chars.splice(at..end, inserted.chars());
        }
        let text: String = chars.into_iter().collect();
        if let Err(problems) = TreeFile::parse(&text, Path::new("/nowhere")) {
            prop_assert!(!problems.0.is_empty());
            for problem in problems.0 {
                prop_assert!(problem.line as usize <= text.lines().count() + 1);
                prop_assert!(!problem.found.is_empty() && !problem.remedy.is_empty());
            }
        }
    }
}
