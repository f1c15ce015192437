//! The most frequent tree of a collective: as a picture, and for Graphviz.

use std::fmt::Write as _;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    Contributor, EdgeSummary, Join, OperationSummary, OwnContributor, OwnTreeSummary,
    TransferSummary, TreeSummary,
};
use collbench_stats::distribution::Summary;
use collbench_text::{
    inert,
    quantity::{counted, duration},
};
use collbench_viz as viz;
use collbench_viz::{Messages, TreeNode, Waits};

use super::messages::{first, heading, host, time};
use super::title;
use crate::words::inside as words;

/// What the caption says of all trees.
const CAPTION: &str = "One row per process, below its parent in the tree. Lines are \
     edges: thicker and darker where a message, once both ends are ready, takes longer than is usual \
     within a host or between hosts. Arrows point to the parent (up) and from it (down), with the \
     number and size of the messages of an instance. Hatched bars are within the clock error. The \
     fill of a node is how long the process waits there: for processes that arrive later, on the path to \
     the root; behind its siblings at the parent, in a tree that only leads from the root. If a \
     process sends towards the root to another parent than it receives from, that parent is named. \
     A .dot file beside the page has the same tree of messages, edge by edge, for Graphviz.";

/// What the caption says besides, of spanning trees of our own.
const OF_OWN: &str = " A spanning tree of our own has a row per wrapper, with the rank that acts for it, and per rank; \
                      lines are thick where a proxy takes long.";

/// The caption of the picture of an operation's tree.
pub(super) fn caption(operation: &OperationSummary) -> String {
    let is_own = operation
        .trees
        .iter()
        .flatten()
        .any(|tree| tree.own.is_some());
    let more = if is_own { OF_OWN } else { "" };
    format!("{CAPTION}{more}")
}

/// Most characters of a name in the graph.
const NAME_CHARS: usize = 60;
/// Width of the edge with the longest transfer, in Graphviz' points.
const FULL_WIDTH: f64 = 6.0;

/// A process and its parents in the tree.
struct Process<'a> {
    rank: u32,
    /// Ranks of the parents to the root and from the root.
    parents: [Option<u32>; 2],
    wait: Option<&'a Summary>,
}

/// The processes of a tree, by rank; empty for an exchange.
fn processes(points: &[Join]) -> Vec<Process<'_>> {
    let has = |list: &[Contributor], rank| list.iter().any(|other| other.rank == rank);
    let of = |rank: u32| {
        let others = || points.iter().filter(move |point| point.rank != rank);
        let mut down = others().filter(|point| has(&point.arrivals, rank));
        let mut up = others().filter(|point| has(&point.departures, rank));
        [down.next(), up.next()]
    };
    let process = |point| {
        let point: &Join = point;
        let parents = of(point.rank);
        let own = |list: &'_ [Contributor]| list.iter().position(|own| own.rank == point.rank);
        let arrival = own(&point.arrivals).map(|at| &point.arrivals[at]);
        let departure = parents[1].and_then(|parent| {
            let at = own(&parent.departures)?;
            Some(&parent.departures[at])
        });
        Process {
            rank: point.rank,
            parents: parents.map(|parent| parent.map(|parent| parent.rank)),
            wait: arrival.or(departure).and_then(|own| own.wait_ns.as_ref()),
        }
    };
    points.iter().map(process).collect()
}

fn transfer(edge: &EdgeSummary) -> Option<&Summary> {
    edge.measured.as_ref()?.transfer_ns.as_ref()
}

/// The rows of a spanning tree of our own: its wrappers, and the ranks that contribute to them.
fn own_nodes(analysis: &Analysis, own: &OwnTreeSummary, joins: &[Join]) -> Vec<TreeNode> {
    let mut nodes = Vec::new();
    let wait = |parent: Option<u32>, is_it: &dyn Fn(&Contributor) -> bool| {
        let parent = parent?;
        let join = joins.iter().find(|join| join.wrappers.contains(&parent))?;
        join.arrivals.iter().find(|of| is_it(of))?.wait_ns.as_ref()
    };
    for (idx, wrapper) in (0u32..).zip(&own.wrappers) {
        let proxy = own.proxies.iter().find(|proxy| proxy.wrapper == idx);
        let takes = |way: Option<&TransferSummary>| time(way?.transfer_ns.as_ref());
        // What comes over a proxy arrives where the proxy leads to.
        let before = proxy.map(|_| &wrapper.contributors[..]);
        let is_it = |of: &Contributor| match before {
            Some([OwnContributor::Wrapper(above)]) => of.wrappers.contains(above),
            Some([OwnContributor::Rank(rank)]) => of.wrappers.is_empty() && of.rank == *rank,
            _ => of.wrappers.contains(&idx),
        };
        nodes.push(TreeNode {
            name: format!(
                "{} {idx} ({})",
                inert::line(&wrapper.kind, NAME_CHARS),
                wrapper.owner
            )
            .into(),
            host: inert::line(&wrapper.host, NAME_CHARS).into(),
            parent: wrapper.parent.map(|parent| parent as usize),
            other_parent: None,
            down: proxy.and_then(|proxy| takes(proxy.down.as_ref())),
            up: proxy.and_then(|proxy| takes(proxy.up.as_ref())),
            sent_down: None,
            sent_up: None,
            wait: time(wait(wrapper.parent, &is_it)),
        });
    }
    for (idx, wrapper) in (0u32..).zip(&own.wrappers) {
        for of in &wrapper.contributors {
            let OwnContributor::Rank(rank) = *of else {
                continue;
            };
            let is_it = |of: &Contributor| of.wrappers.is_empty() && of.rank == rank;
            nodes.push(TreeNode {
                name: format!("rank {rank}").into(),
                host: host(analysis, rank).into(),
                parent: Some(idx as usize),
                other_parent: None,
                down: None,
                up: None,
                sent_down: None,
                sent_up: None,
                wait: time(wait(Some(idx), &is_it)),
            });
        }
    }
    nodes
}

/// The picture; `None` for an exchange.
pub(super) fn picture(analysis: &Analysis, operation: &OperationSummary) -> Option<viz::Tree> {
    let (tree, figures) = first(operation)?;
    if let Some(own) = &tree.own {
        let joins = figures.joining_points.iter().cloned().collect::<Vec<_>>();
        return Some(viz::Tree::new(
            heading(analysis, operation, figures, words::slowest_proxy(own)),
            Waits::ForOthers,
            own_nodes(analysis, own, &joins),
        ));
    }
    let processes = processes(&figures.joining_points);
    if processes.is_empty() {
        return None;
    }
    let index = |rank: u32| processes.iter().position(|process| process.rank == rank);
    let edge = |from: u32, to: u32| {
        let mut edges = tree.edges.iter();
        edges.find(|edge| (edge.from, edge.to) == (from, to))
    };
    let takes = |from: u32, to: u32| time(transfer(edge(from, to)?));
    let sent = |from: u32, to: u32| {
        edge(from, to).map(|edge| Messages {
            n: edge.messages,
            bytes: edge.bytes,
            instances: tree.instances,
        })
    };
    let nodes = processes.iter().map(|process| {
        let [down, up] = process.parents;
        let parent = up.or(down);
        TreeNode {
            name: format!("rank {}", process.rank).into(),
            host: host(analysis, process.rank).into(),
            parent: parent.and_then(index),
            other_parent: (down.filter(|_| down != parent)).map(|to| format!("rank {to}").into()),
            down: down.and_then(|to| takes(process.rank, to)),
            up: up.and_then(|from| takes(from, process.rank)),
            sent_down: down.and_then(|to| sent(process.rank, to)),
            sent_up: up.and_then(|from| sent(from, process.rank)),
            wait: time(process.wait),
        }
    });
    let nodes = nodes.collect();
    let mut points = figures.joining_points.iter();
    let waits = if points.any(|point| !point.arrivals.is_empty()) {
        Waits::ForOthers
    } else {
        Waits::ForSiblings
    };
    let finding = words::slowest_edge(analysis, tree);
    Some(viz::Tree::new(
        heading(analysis, operation, figures, finding),
        waits,
        nodes,
    ))
}

/// The tree in Graphviz' language, with hosts as clusters and an edge for each pair with messages;
/// `None` for an exchange.
pub(super) fn dot(analysis: &Analysis, operation: &OperationSummary) -> Option<String> {
    let (tree, figures) = first(operation)?;
    let processes = processes(&figures.joining_points);
    if processes.is_empty() || tree.own.is_some() {
        return None;
    }
    let algorithm = tree.algorithm.as_deref().unwrap_or("a tree");
    let name = format!(
        "{}, {}, {}",
        title(analysis, operation),
        inert::line(algorithm, NAME_CHARS),
        counted(figures.n, "instance")
    );
    let nodes = processes.iter().map(|process| {
        let label = match process.wait {
            Some(wait) => format!("rank {}\nwaits {}", process.rank, mean(wait)),
            None => format!("rank {}", process.rank),
        };
        (process.rank, host(analysis, process.rank), label)
    });
    Some(to_dot(&name, &nodes.collect::<Vec<_>>(), tree))
}

fn mean(summary: &Summary) -> String {
    format!("{} (n = {})", duration(summary.mean), summary.n)
}

/// `nodes`: rank, host, label.
fn to_dot(name: &str, nodes: &[(u32, &str, String)], tree: &TreeSummary) -> String {
    let mut dot = String::new();
    let is_down = |edge: &EdgeSummary| edge.direction.as_deref() == Some("down");
    // The root is at the top even if all edges lead to it.
    let only_down = tree.edges.iter().all(is_down);
    let side = if only_down { "BT" } else { "TB" };
    // Writing to a string cannot fail.
    let _ = writeln!(dot, "digraph {} {{", quoted(name));
    let _ = writeln!(dot, "    label = {}", quoted(name));
    let _ = writeln!(dot, "    rankdir = {side}\n    node [ shape = box ]");
    let mut hosts: Vec<&str> = nodes.iter().map(|(_, host, _)| *host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    for (number, host) in hosts.into_iter().enumerate() {
        let _ = writeln!(dot, "    subgraph \"cluster_{number}\" {{");
        let label = quoted(&inert::line(host, NAME_CHARS));
        let _ = writeln!(dot, "        label = {label}");
        for (rank, _, label) in nodes.iter().filter(|node| node.1 == host) {
            let _ = writeln!(dot, "        \"{rank}\" [ label = {} ]", quoted(label));
        }
        dot.push_str("    }\n");
    }
    let times = tree.edges.iter().filter_map(transfer);
    let longest = times.map(|transfer| transfer.mean).max().unwrap_or(0);
    for edge in &tree.edges {
        let (label, style) = match transfer(edge) {
            Some(transfer) => {
                let part = transfer.mean.max(0) as f64 / longest.max(1) as f64;
                let width = 0.5 + FULL_WIDTH * part;
                (mean(transfer), format!("penwidth = {width:.2}"))
            }
            None => ("not resolvable".to_owned(), "style = dashed".to_owned()),
        };
        // If both directions exist, the one from the root determines the layout.
        let weight = if is_down(edge) && !only_down {
            " constraint = false"
        } else {
            ""
        };
        let (from, to, label) = (edge.from, edge.to, quoted(&label));
        let _ = writeln!(
            dot,
            "    \"{from}\" -> \"{to}\" [ label = {label} {style}{weight} ]"
        );
    }
    dot.push_str("}\n");
    dot
}

/// A string of the language: it ends at the first quote without a backslash.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: u32, to: u32, direction: &'static str) -> EdgeSummary {
        EdgeSummary {
            from,
            to,
            messages: 3,
            bytes: 24,
            direction: Some(direction.into()),
            measured: None,
        }
    }

    fn tree(edges: Vec<EdgeSummary>) -> TreeSummary {
        TreeSummary {
            algorithm: None,
            also: Vec::new(),
            library_name: None,
            is_tree: true,
            root: Some(0),
            height: Some(1),
            fan_out: Some(2),
            instances: 3,
            bytes_min: None,
            bytes_max: None,
            edges: edges.into(),
            figures: None,
            own: None,
        }
    }

    /// The tokens of the subset of the language that trees use, strictly parsed; strings begin with
    /// a quote.
    fn tokens(dot: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        let mut chars = dot.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' => {
                    let mut word = String::from('"');
                    loop {
                        match chars.next().expect("a quote that ends") {
                            '"' => break,
                            '\\' => match chars.next().expect("what is escaped") {
                                'n' => word.push('\n'),
                                c @ ('"' | '\\') => word.push(c),
                                c => panic!("an escaped {c}"),
                            },
                            c => {
                                assert!(!c.is_control(), "{c:?} in a string");
                                word.push(c);
                            }
                        }
                    }
                    tokens.push(word);
                }
                '{' | '}' | '[' | ']' | '=' => tokens.push(c.into()),
                '-' => {
                    assert_eq!(chars.next(), Some('>'));
                    tokens.push("->".into());
                }
                c if c.is_whitespace() => {}
                c => {
                    assert!(c.is_ascii_alphanumeric(), "{c:?} outside of a string");
                    let mut word = String::from(c);
                    let goes_on = |c: &char| c.is_ascii_alphanumeric() || *c == '.';
                    while let Some(c) = chars.next_if(goes_on) {
                        word.push(c);
                    }
                    tokens.push(word);
                }
            }
        }
        tokens
    }

    #[test]
    fn a_tree_for_graphviz_has_hosts_as_clusters_and_every_edge_whatever_the_names_are() {
        let evil = "a\"b\\\" ] } x -> y [";
        let nodes = [
            (0, evil, "rank 0\nwaits".to_owned()),
            (1, "other", "rank 1".to_owned()),
            (2, evil, "rank 2".to_owned()),
        ];
        let both = vec![edge(1, 0, "down"), edge(0, 1, "up"), edge(0, 2, "up")];
        let found = tokens(&to_dot(evil, &nodes, &tree(both)));
        let depth = |tokens: &[String], open: &str, close: &str| {
            let n = |word: &str| tokens.iter().filter(|token| *token == word).count();
            assert_eq!(n(open), n(close));
            n(open)
        };
        // The graph and two hosts; the defaults of all nodes, three nodes and three edges.
        assert_eq!(depth(&found, "{", "}"), 3);
        assert_eq!(depth(&found, "[", "]"), 1 + 3 + 3);
        assert_eq!(found[..3], ["digraph", &format!("\"{evil}"), "{"]);
        let edges: Vec<[&str; 2]> = found
            .windows(3)
            .filter(|three| three[1] == "->")
            .map(|three| [&three[0][..], &three[2][..]])
            .collect();
        assert_eq!(edges, [["\"1", "\"0"], ["\"0", "\"1"], ["\"0", "\"2"]]);
        let labels = found.windows(3).filter(|three| three[0] == "label");
        let labels: Vec<&str> = labels.map(|three| &three[2][..]).collect();
        let own = format!("\"{evil}");
        assert_eq!(labels[..3], [&own, &own, "\"rank 0\nwaits"]);
        assert_eq!(found.iter().filter(|word| *word == "false").count(), 1);
        // The root is at the top even if all edges lead to it.
        let down = to_dot(
            "down",
            &nodes,
            &tree(vec![edge(1, 0, "down"), edge(2, 0, "down")]),
        );
        assert!(
            down.contains("rankdir = BT") && !down.contains("constraint"),
            "{down}"
        );
    }
}
