//! The load-imbalance graph of an operation on a communicator: as a picture, and for Graphviz.

use std::fmt;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{Culprit, HostLateness, ImbalanceSummary, OperationSummary};
use collbench_text::inert;
use collbench_viz as viz;
use collbench_viz::{Blame, Heading, LateRank};
use petgraph::dot::{Config, Dot, RankDir};
use petgraph::graphmap::DiGraphMap;

use crate::words;

/// Caption of the picture.
pub(super) const CAPTION: &str = "From the communicator through its hosts to their ranks. The width \
     of an edge is how often a rank of that branch arrives last, over all roots and payloads of this \
     operation. The outlined path follows the heaviest edges. A rank or host is marked as \"waited \
     for\" only where it arrives last more often than chance explains, costs the others at least 1 % \
     of the time in collectives, and a cause of waiting arises there. A .dot file beside the page has \
     the same graph for Graphviz.";

/// Most characters of a name in the graph.
const NAME_CHARS: usize = 60;
/// Width of an edge that stands for all instances, in Graphviz' points.
const FULL_WIDTH: f64 = 12.0;

/// The lateness of ranks in an operation on its communicator; `None` if the last rank is not known
/// in any instance.
pub(super) fn of_operation<'a>(
    analysis: &'a Analysis,
    operation: &OperationSummary,
) -> Option<&'a ImbalanceSummary> {
    words::arrivals::of_operation(analysis, operation).filter(|summary| summary.resolved > 0)
}

/// The picture.
pub(super) fn picture(analysis: &Analysis, summary: &ImbalanceSummary) -> viz::Imbalance {
    let communicator = words::communicator(analysis, Some(summary.communicator), NAME_CHARS);
    let heading = Heading {
        finding: finding(analysis, summary).into(),
        operation: format!(
            "{}, {communicator}, all roots and payloads",
            summary.operation
        )
        .into(),
        n_instances: summary.instances,
    };
    let blame = match summary.culprit {
        None | Some(Culprit::Ranks(_) | Culprit::Newer) => Blame::Nobody,
        Some(Culprit::Host(_)) => Blame::Host,
        Some(Culprit::Rank(_)) => Blame::Rank,
    };
    let mut graph = viz::Imbalance::new(heading, communicator.into(), blame);
    for host in &summary.hosts {
        let ranks = host.members.iter().map(|member| LateRank {
            rank: member.rank,
            last: member.last,
            wait_caused_ns: member.wait_caused_ns,
        });
        graph.push(host.host.as_str().into(), ranks);
    }
    graph
}

fn finding(analysis: &Analysis, summary: &ImbalanceSummary) -> String {
    match words::accusation(analysis, summary) {
        Some(accusation) => words::capitalized(&accusation),
        None => words::arrivals::title(analysis, summary),
    }
}

/// A vertex of the graph for Graphviz, identified by its place, not by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Vertex<'a> {
    /// Neither: the communicator; host only: a host; both: a rank on it.
    place: (Option<usize>, Option<u32>),
    name: &'a str,
    last: u64,
    is_on_path: bool,
}

impl fmt::Display for Vertex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            (_, Some(rank)) => write!(f, "rank {rank}")?,
            _ => f.write_str(self.name)?,
        }
        write!(f, "\narrives last: {}", self.last)
    }
}

/// The whole graph with every rank, in Graphviz' language.
pub(super) fn dot(analysis: &Analysis, summary: &ImbalanceSummary) -> String {
    let communicator = words::communicator(analysis, Some(summary.communicator), NAME_CHARS);
    to_dot(&communicator, summary.resolved, &summary.hosts)
}

fn to_dot(communicator: &str, resolved: u64, hosts: &[HostLateness]) -> String {
    let name = |host: &HostLateness| inert::line(&host.host, NAME_CHARS);
    let names: Vec<String> = hosts.iter().map(name).collect();
    let root = Vertex {
        place: (None, None),
        name: communicator,
        last: resolved,
        is_on_path: true,
    };
    // Of equal ones the first is on the path, as in the verdict.
    let heaviest = first_most(hosts.iter().map(|host| host.last));
    let mut graph: DiGraphMap<Vertex<'_>, u64> = DiGraphMap::new();
    for (idx, (host, name)) in hosts.iter().zip(&names).enumerate() {
        let vertex = Vertex {
            place: (Some(idx), None),
            name,
            last: host.last,
            is_on_path: heaviest == Some(idx),
        };
        graph.add_edge(root, vertex, host.last);
        let heaviest = first_most(host.members.iter().map(|member| member.last));
        for (member_idx, member) in host.members.iter().enumerate() {
            let rank = Vertex {
                place: (Some(idx), Some(member.rank)),
                name,
                last: member.last,
                is_on_path: vertex.is_on_path && heaviest == Some(member_idx),
            };
            graph.add_edge(vertex, rank, member.last);
        }
    }
    let width = |last: u64| 0.5 + FULL_WIDTH * last as f64 / resolved.max(1) as f64;
    // The heaviest path has a line style of its own in addition to its width.
    let edges = |_, (_, to, &last): (Vertex<'_>, Vertex<'_>, &u64)| {
        let style = if to.is_on_path { "solid" } else { "dashed" };
        format!("penwidth = {:.2} style = {style}", width(last))
    };
    let nodes = |_, (vertex, _): (Vertex<'_>, &Vertex<'_>)| {
        let n_borders = if vertex.is_on_path { 2 } else { 1 };
        format!("shape = box peripheries = {n_borders}")
    };
    let config = [Config::RankDir(RankDir::LR)];
    Dot::with_attr_getters(&graph, &config, &edges, &nodes).to_string()
}

/// Index of the first maximum, unless all are 0.
fn first_most(weights: impl DoubleEndedIterator<Item = u64> + ExactSizeIterator) -> Option<usize> {
    let heaviest = weights
        .enumerate()
        .rev()
        .max_by_key(|&(_, weight)| weight)?;
    (heaviest.1 > 0).then_some(heaviest.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use collbench_analyzer::results::RankLateness;

    fn host(name: &str, last: &[u64], first_rank: u32) -> HostLateness {
        let members = last
            .iter()
            .zip(first_rank..)
            .map(|(&last, rank)| RankLateness {
                rank,
                last,
                wait_caused_ns: 0,
            });
        HostLateness {
            host: name.to_owned(),
            ranks: last.len() as u64,
            last: last.iter().sum(),
            wait_caused_ns: 0,
            members: members.collect(),
        }
    }

    /// A statement of the language: the names that it connects, and its attributes.
    type Statement = (Vec<String>, Vec<(String, String)>);

    /// A strict parser of the subset of the language that graphs use: quoted strings end at the
    /// first quote without a backslash, as in Graphviz.
    fn statements(dot: &str) -> Vec<Statement> {
        let mut words: Vec<String> = Vec::new();
        let mut chars = dot.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' => {
                    let mut word = String::new();
                    loop {
                        match chars.next().expect("a quote that ends") {
                            '"' => break,
                            '\\' => match chars.next().unwrap() {
                                'l' => word.push('\n'),
                                escaped => word.push(escaped),
                            },
                            c => word.push(c),
                        }
                    }
                    words.push(format!("\"{word}"));
                }
                '{' | '}' | '[' | ']' | '=' => words.push(c.into()),
                '-' if chars.next_if_eq(&'>').is_some() => words.push("->".into()),
                c if c.is_whitespace() => {}
                c => {
                    let mut word = String::from(c);
                    while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '.') {
                        word.push(c);
                    }
                    words.push(word);
                }
            }
        }
        let mut words = words.into_iter().peekable();
        assert_eq!(words.next().as_deref(), Some("digraph"));
        assert_eq!(words.next().as_deref(), Some("{"));
        let mut statements: Vec<Statement> = Vec::new();
        while let Some(word) = words.next().filter(|word| word != "}") {
            let mut names = vec![word];
            while words.next_if(|word| word == "->").is_some() {
                names.push(words.next().unwrap());
            }
            let mut attributes = Vec::new();
            if words.next_if(|word| word == "=").is_some() {
                attributes.push(("=".to_owned(), words.next().unwrap()));
            } else {
                assert_eq!(words.next().as_deref(), Some("["), "{names:?}");
                while let Some(name) = words.next_if(|word| word != "]") {
                    assert_eq!(words.next().as_deref(), Some("="), "{name}");
                    attributes.push((name, words.next().unwrap()));
                }
                words.next();
            }
            statements.push((names, attributes));
        }
        assert_eq!(words.next(), None, "nothing after the graph");
        statements
    }

    fn attribute<'a>(statement: &'a Statement, name: &str) -> &'a str {
        let attributes = &statement.1;
        &attributes
            .iter()
            .find(|(known, _)| known == name)
            .unwrap()
            .1
    }

    #[test]
    fn the_graph_reads_back_with_its_weights_and_the_heaviest_path() {
        let hosts = [host("n01", &[1, 2], 0), host("n02", &[0, 7], 2)];
        let statements = statements(&to_dot("world", 10, &hosts));
        let vertices: Vec<&str> = statements[1..]
            .iter()
            .filter(|(names, _)| names.len() == 1)
            .map(|vertex| attribute(vertex, "label"))
            .collect();
        let expected = [
            "\"world\narrives last: 10",
            "\"n01\narrives last: 3",
            "\"rank 0\narrives last: 1",
            "\"rank 1\narrives last: 2",
            "\"n02\narrives last: 7",
            "\"rank 2\narrives last: 0",
            "\"rank 3\narrives last: 7",
        ];
        assert_eq!(vertices, expected);
        let edges = statements.iter().filter(|(names, _)| names.len() == 2);
        let edges: Vec<(String, &str, &str)> = edges
            .map(|edge| {
                (
                    edge.0.join(">"),
                    attribute(edge, "label"),
                    attribute(edge, "style"),
                )
            })
            .collect();
        let expected = [
            ("0>1", "\"3", "dashed"),
            ("1>2", "\"1", "dashed"),
            ("1>3", "\"2", "dashed"),
            ("0>4", "\"7", "solid"),
            ("4>5", "\"0", "dashed"),
            ("4>6", "\"7", "solid"),
        ];
        let expected = expected.map(|(names, label, style)| (names.to_owned(), label, style));
        assert_eq!(edges, expected);
    }

    #[test]
    fn hostile_names_stay_inside_their_quotes() {
        let names = [
            "\"] evil [label=\"",
            "back\\",
            "two\nlines",
            "</script><script>alert(1)</script>",
            "\u{1b}[2J\u{202e}",
        ];
        for name in names {
            let dot = to_dot(name, 1, &[host(name, &[1], 0)]);
            let statements = statements(&dot);
            assert_eq!(statements.len(), 1 + 3 + 2, "{dot}");
            let label = attribute(&statements[2], "label");
            let expected = format!("\"{}\narrives last: 1", inert::line(name, NAME_CHARS));
            assert_eq!(label, expected);
            let root = attribute(&statements[1], "label");
            assert_eq!(root, format!("\"{name}\narrives last: 1"));
        }
    }
}
