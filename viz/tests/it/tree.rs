//! Content of pictures of trees and message matrices.

use crate::examples::svg;
use collbench_viz::{Heading, MessageMatrix, Messages, StageTime, Traffic, Tree, TreeNode, Waits};

fn heading() -> Heading {
    Heading {
        finding: "The slowest hop is from rank 0 to rank 4".into(),
        operation: "MPI_Bcast, MPI_COMM_WORLD, 8 bytes".into(),
        n_instances: 500,
    }
}

/// A binomial tree over hosts of two processes; the edge of rank 4 is slow.
fn tree(n: u32) -> Tree {
    let nodes = (0..n).map(|rank| TreeNode {
        up: StageTime::new(if rank == 4 { 1_000_000 } else { 5_000 }, 500).filter(|_| rank > 0),
        sent_up: (rank > 0).then_some(Messages {
            n: 128_000,
            bytes: 128_000 * 256,
            instances: 500,
        }),
        wait: StageTime::new(i64::from(rank) * 100, 500),
        ..TreeNode::unmeasured(
            format!("rank {rank}"),
            format!("node{}", rank / 2),
            (rank > 0).then(|| (rank & (rank - 1)) as usize),
        )
    });
    Tree::new(heading(), Waits::ForSiblings, nodes.collect())
}

#[test]
fn a_tree_of_eight_is_as_it_was() {
    insta::assert_binary_snapshot!("eight.svg", svg(tree(8)).into());
}

#[test]
fn the_slowest_edge_is_highlighted_and_the_others_are_not() {
    for n in [8, 128] {
        let svg = svg(tree(n));
        // One for the edge, one for the legend.
        assert_eq!(svg.matches("class=\"hop3\"").count(), 2, "{n}");
        // And the legend's.
        assert_eq!(svg.matches("class=\"hop0\"").count(), n as usize - 1, "{n}");
        assert!(svg.contains(">more than 10 times that<"));
        // No hop has a colour in between.
        assert!(!svg.contains("class=\"hop1\"") && !svg.contains("class=\"hop2\""));
        assert!(svg.contains("transfer from the parent: 1.00 ms (n = 500)"));
        assert!(svg.contains("128,000 messages, 31.2 MiB (256 × 256 B in an instance)"));
        assert!(svg.contains(">↓ 256 × 256 B</text>"));
        for rank in 0..n {
            assert!(
                svg.contains(&format!(">rank {rank}</text>")),
                "rank {rank} of {n}"
            );
        }
        assert_eq!(svg.matches("data-node=").count(), n as usize);
    }
}

#[test]
fn every_row_of_a_large_tree_has_room_for_its_text() {
    let svg = svg(tree(128));
    let ys = svg.split("data-node=").skip(1).map(|process| {
        let (_, y) = process.split_once(" y=\"").unwrap();
        y.split_once('"').unwrap().0.parse::<f64>().unwrap()
    });
    let mut ys: Vec<f64> = ys.collect();
    ys.sort_by(f64::total_cmp);
    assert!(ys.windows(2).all(|pair| pair[1] - pair[0] >= 12.9));
}

#[test]
fn what_is_not_known_is_no_length() {
    let mut node = TreeNode::unmeasured("rank 0", "<b>", None);
    let root = node.clone();
    node.parent = Some(0);
    let empty = svg(Tree::new(heading(), Waits::ForSiblings, Vec::new()));
    assert!(empty.contains("no tree"));
    let svg = svg(Tree::new(heading(), Waits::ForSiblings, vec![root, node]));
    assert!(svg.contains("hop-unknown") && svg.contains("node unknown"));
    assert!(!svg.contains("0 ns</text>\n<rect class=\"bar\""), "{svg}");
    assert!(svg.contains("&lt;b&gt;") && !svg.contains("<b>"));
}

#[test]
fn a_planned_tree_has_no_times_and_says_of_none_that_it_is_not_known() {
    let planned = |n: usize| {
        let nodes = (0..n).map(|rank| {
            TreeNode::unmeasured(
                format!("gred {rank}"),
                format!("h{}", rank / 4),
                rank.checked_sub(1).map(|before| before / 2),
            )
        });
        let nodes = nodes.map(|node| (node, "joins two".into()));
        let (finding, operation) = ("A binary tree".into(), "line 5: bcast".into());
        svg(Tree::planned(finding, operation, nodes.collect()))
    };
    let svg = planned(8);
    assert_eq!(svg.matches("class=\"hop0\"").count(), 7);
    assert!(svg.contains(">line 5: bcast, 8 nodes</text>"), "{svg}");
    assert_eq!(svg.matches(">joins two</text>").count(), 8);
    for word in ["unknown", "not known", "mean", "instance", "hop,"] {
        assert!(!svg.contains(&format!(" {word}")), "{word}");
    }
    let svg = planned(1_000);
    assert!(svg.contains("; shown are those near the root") && svg.contains(" more\""));
    assert!(!svg.contains("stand"), "{svg}");
}

#[test]
fn another_parent_to_the_root_is_named_and_has_no_edge() {
    let mut nodes = vec![
        TreeNode {
            wait: StageTime::new(0, 3),
            ..TreeNode::unmeasured("rank 0", "a", None)
        };
        3
    ];
    for (rank, node) in nodes.iter_mut().enumerate().skip(1) {
        node.name = format!("rank {rank}").into();
        node.parent = Some(0);
        node.down = StageTime::new(9_000, 3);
        node.up = StageTime::new(1_000, 3);
    }
    nodes[2].other_parent = Some("rank 1".into());
    let svg = svg(Tree::new(heading(), Waits::ForSiblings, nodes));
    assert!(svg.contains(">9.00 us to rank 1</text>"), "{svg}");
    assert!(svg.contains("transfer to rank 1: 9.00 us"));
    assert_eq!(svg.matches("9.00 us to rank").count(), 1);
    // One edge takes far longer in one direction; the other one is drawn like the way back.
    assert_eq!(svg.matches("class=\"hop2\"").count(), 2);
    assert_eq!(svg.matches("class=\"hop0\"").count(), 2);
    // No process waits: no column, no legend.
    assert!(!svg.contains(">wait for") && !svg.contains("node: mean wait"));
}

#[test]
fn a_matrix_has_a_field_for_each_pair_and_lines_between_hosts() {
    let processes = (0..6).map(|rank| {
        (
            format!("rank {rank}").into(),
            format!("n{}", rank / 3).into(),
        )
    });
    let traffic = |from, to, ns| Traffic {
        from,
        to,
        messages: 10,
        bytes: 80,
        transfer: StageTime::new(ns, 10),
    };
    let unknown = Traffic {
        transfer: None,
        ..traffic(1, 2, 0)
    };
    let all = [
        traffic(0, 3, 900),
        traffic(3, 0, 100),
        unknown,
        traffic(0, 6, 5),
    ];
    let matrix = MessageMatrix::new(heading(), processes.collect(), all);
    let nobody = MessageMatrix::new(heading(), Vec::new(), []);
    assert!(svg(nobody).contains("</svg>"));
    let svg = svg(matrix);
    assert_eq!(svg.matches("class=\"cell\"").count(), 3);
    assert_eq!(svg.matches("class=\"border\"").count(), 2);
    assert!(svg.contains("rank 0 (n0) to rank 3 (n1): 10 messages, 80 bytes"));
    assert!(svg.contains("transfer not resolvable"));
}

#[test]
fn a_matrix_has_the_processes_of_a_host_together_wherever_their_ranks_are() {
    let processes = (0..6).map(|rank| {
        (
            format!("rank {rank}").into(),
            format!("n{}", rank % 2).into(),
        )
    });
    let traffic = |to, ns| Traffic {
        from: 1,
        to,
        messages: 10,
        bytes: 80,
        transfer: StageTime::new(ns, 10),
    };
    let svg = svg(MessageMatrix::new(
        heading(),
        processes.collect(),
        [traffic(0, 10), traffic(2, 12), traffic(4, 900)],
    ));
    assert_eq!(svg.matches("class=\"border\"").count(), 2);
    let texts = svg
        .split(">rank ")
        .filter(|text| text[1..].starts_with("</text>"));
    let rows: Vec<&str> = texts.map(|text| &text[..1]).collect();
    assert_eq!(rows, ["0", "2", "4", "1", "3", "5"]);
    assert!(svg.contains("rank 1 (n1) to rank 4 (n0): 10 messages, 80 bytes"));
    // Its cell is at the fourth sender and the third receiver, in the colour of the slow ones.
    let number = |class: &str, name: &str| -> f64 {
        let rectangle = svg.split(&format!("<rect class=\"{class}\"")).nth(1);
        let value = rectangle.and_then(|found| found.split(&format!(" {name}=\"")).nth(1));
        value.unwrap().split('"').next().unwrap().parse().unwrap()
    };
    let places = ["x", "y"].map(|name| {
        (number("field3", name) - number("bar-room", name)) / number("field3", "width")
    });
    assert_eq!(places.map(f64::round), [2.0, 3.0]);
}

#[test]
fn of_equal_hops_none_stands_out() {
    let nodes = (0..9).map(|rank| TreeNode {
        up: StageTime::new(6_400 + 50 * rank, 256).filter(|_| rank > 0),
        ..TreeNode::unmeasured(format!("rank {rank}"), "a", (rank > 0).then_some(0))
    });
    let svg = svg(Tree::new(heading(), Waits::ForSiblings, nodes.collect()));
    assert_eq!(svg.matches("class=\"hop0\"").count(), 8 + 1);
    assert!(!svg.contains("class=\"hop3\"") && !svg.contains("class=\"field"));
    assert!(svg.contains("median within a host 6.60 us"), "{svg}");
}

#[test]
fn a_hop_within_the_clock_error_is_no_number() {
    let node = |host: &str, parent: Option<usize>| TreeNode {
        up: parent
            .and(StageTime::new(4_000, 9))
            .map(|time| time.with_error(Some(5_130_000))),
        ..TreeNode::unmeasured("rank", host, parent)
    };
    let nodes = vec![node("a", None), node("b", Some(0))];
    let svg = svg(Tree::new(heading(), Waits::ForSiblings, nodes));
    assert!(
        svg.contains(">±5.13 ms</text>") && !svg.contains(">4.00 us<"),
        "{svg}"
    );
    assert!(svg.contains("4.00 us ±5.13 ms (n = 9), within the clock error"));
    // The edge and its entry in the legend.
    assert_eq!(svg.matches("class=\"hop-unknown\"").count(), 2);
}

#[test]
fn a_tree_of_a_thousand_shows_what_stands_out_and_counts_the_rest() {
    let svg = svg(tree(1_024));
    let names = || {
        let processes = svg.split("data-node=\"").skip(1);
        processes.map(|rest| rest.split('"').next().unwrap())
    };
    assert!(names().any(|name| name == "rank 4") && names().any(|name| name == "rank 0"));
    assert_eq!(svg.matches("class=\"hop3\"").count(), 2);
    let shown = names().filter(|name| name.starts_with("rank ")).count();
    let more = names().filter_map(|name| name.strip_suffix(" more"));
    let more: Vec<usize> = more.map(|n| n.parse().unwrap()).collect();
    assert_eq!(shown + more.iter().sum::<usize>(), 1_024);
    assert!(
        shown <= 64 && more.len() <= shown,
        "{shown} and {}",
        more.len()
    );
    assert!(svg.contains("1,024 nodes; mean times; shown are those whose hops stand out the most"));
    // The median is that of all hops, also of those that are not shown.
    assert!(svg.contains("median within a host 5.00 us, between hosts 5.00 us"));
}

#[test]
fn a_long_chain_is_shown_from_its_root_on() {
    let nodes = (0..1_000).map(|rank: usize| TreeNode {
        up: StageTime::new(if rank == 990 { 90_000 } else { 5_000 }, 5),
        ..TreeNode::unmeasured(format!("rank {rank}"), "a", rank.checked_sub(1))
    });
    let svg = svg(Tree::new(heading(), Waits::ForSiblings, nodes.collect()));
    assert_eq!(svg.matches("data-node=").count(), 65);
    assert!(svg.contains("data-node=\"936 more\""), "{svg}");
    // A slow hop among those that are not shown is not hidden.
    assert!(svg.contains("936 more: some of their hops stand out"));
    assert_eq!(svg.matches("class=\"hop3\"").count(), 2);
}
