//! Trees as pictures: SVG, and the language of Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write;

use collbench_formats::tree::{Contributor, WrapperKind, Wrappers};
use collbench_text::inert;
use collbench_viz::{Picture, Tree, TreeNode};

use super::ranks::Ranks;
use super::rows::{rows, work};
use super::rule_trees::RuleTree;
use super::text::{heading, ranks_in_words, summary};
use crate::words;

/// A picture of the tree of a rule; `None` if it has none for these ranks.
#[must_use]
pub fn tree_to_svg(of: &RuleTree<'_>, ranks: &Ranks) -> Option<String> {
    let tree = of.tree.as_ref().ok()?;
    let nodes = rows(tree).into_iter().map(|row| {
        let node = TreeNode::unmeasured(row.name(tree), row.host(tree, ranks), row.parent);
        (node, row.note(tree).into())
    });
    let summary = words::capitalized(&summary(of, tree));
    let about = format!("{}, for {}", heading(of.rule), ranks_in_words(ranks));
    let tree = Tree::planned(summary.into(), about.into(), nodes.collect());
    Some(Picture::from(tree).to_svg())
}

/// The tree of a rule as a graph of Graphviz, with the wrappers and ranks of each host together;
/// `None` if it has none for these ranks.
#[must_use]
pub fn tree_to_dot(of: &RuleTree<'_>, ranks: &Ranks) -> Option<String> {
    let tree = of.tree.as_ref().ok()?;
    let mut text = String::from("digraph tree {\n  rankdir = BT;\n  node [shape = box];\n");
    let _ = writeln!(text, "  label = {};", quoted(&heading(of.rule)));
    for (host, lines) in nodes_by_host(tree) {
        let name = ranks.places.iter().find(|place| place.host == host);
        let name = name.map_or("", |place| ranks.hosts[place.host as usize].as_str());
        let _ = writeln!(
            text,
            "  subgraph cluster_{host} {{\n    label = {};",
            quoted(name)
        );
        for line in lines {
            let _ = writeln!(text, "    {line}");
        }
        text.push_str("  }\n");
    }
    for (idx, wrapper) in tree.all().iter().enumerate() {
        if wrapper.kind == WrapperKind::Exchange {
            let label = quoted(&format!("exchange: {}", work(wrapper)));
            let _ = writeln!(text, "  w{idx} [label = {label}, shape = hexagon];");
        }
        for contributor in &wrapper.contributors {
            let source = match contributor {
                Contributor::Rank(rank) => format!("r{rank}"),
                Contributor::Wrapper(below) => format!("w{below}"),
            };
            let both = wrapper.kind == WrapperKind::Exchange;
            let _ = writeln!(
                text,
                "  {source} -> w{idx}{};",
                if both { " [dir = both]" } else { "" }
            );
        }
    }
    text.push_str("}\n");
    Some(text)
}

/// The nodes of each host: its ranks, and the wrappers that they own, except an exchange, which no
/// host has alone.
fn nodes_by_host(tree: &Wrappers) -> BTreeMap<u32, Vec<String>> {
    let mut lines: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (rank, host) in tree.hosts().iter().enumerate() {
        let line = format!("r{rank} [label = \"rank {rank}\", shape = ellipse];");
        lines.entry(*host).or_default().push(line);
    }
    for (idx, wrapper) in tree.all().iter().enumerate() {
        if wrapper.kind != WrapperKind::Exchange {
            let label = format!(
                "{} {}: {}",
                wrapper.kind.name(),
                wrapper.owner,
                work(wrapper)
            );
            let host = tree.hosts()[wrapper.owner as usize];
            let line = format!("w{idx} [label = {}];", quoted(&label));
            lines.entry(host).or_default().push(line);
        }
    }
    lines
}

/// A string of the language.
fn quoted(text: &str) -> String {
    let inert = inert::line(text, 200);
    format!("\"{}\"", inert.replace('\\', "\\\\").replace('"', "\\\""))
}
