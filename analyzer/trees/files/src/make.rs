//! Tree files to begin with.

use std::fmt::Write;

use collbench_formats::tree::{
    Collective, Collectors, Contributor, Form, Level, Rule, Shape, Shaped, WrapperKind, Wrappers,
};

use crate::file::BEST;
use crate::shapes::shape_name;

/// What a new tree file is for.
#[derive(Debug, Clone, Copy)]
pub struct Beginning<'b> {
    /// Names of the hosts, at least one.
    pub hosts: &'b [String],
    /// Number of ranks on all of them.
    pub n_ranks: u32,
    /// The site of each host, where hosts are known to form sites.
    pub sites: Option<&'b [u32]>,
    /// How the hosts were given: the options of a command.
    pub given: &'b str,
}

/// A file with one shape for all ranks.
#[must_use]
pub fn with_shape(beginning: Beginning<'_>, shape: Shape) -> String {
    let mut text = head(beginning);
    let shape_text = quoted(&shape_name(shape));
    if shape == Shape::Exchange {
        tree(&mut text, false, &shape_text);
        text.push_str("\n# An exchange has no root.\n");
        tree(&mut text, true, "\"linear\"");
    } else {
        text.push_str("[[tree]]\n");
        operations(&mut text, |_| true);
        let _ = writeln!(text, "shape = {shape_text}");
    }
    text
}

/// A file with a shape for the ranks of a host, one for the hosts of a site, and one for the sites. A level
/// with one place divides nothing.
#[must_use]
pub fn hierarchical(beginning: Beginning<'_>) -> String {
    let mut text = head(beginning);
    match beginning.sites {
        Some(sites) => name_sites(&mut text, beginning.hosts, sites),
        None => text.push_str(
            "# Sites, hosts that are near to one another and far from all others, are found by round trips when\n\
             # the program starts, unless they are named:\n\
             #   [[site]]\n\
             #   name = \"a\"\n\
             #   hosts = [\"a*\"]\n\n",
        ),
    }
    let join = |top: &str| {
        let [ranks, hosts, sites] = [Level::Rank, Level::Host, Level::Site].map(Level::plural);
        format!("{{ {ranks} = \"linear\", {hosts} = \"binomial\", {sites} = \"{top}\" }}")
    };
    text.push_str("# What joins the ranks of a host, then the hosts of a site, then the sites.\n");
    tree(&mut text, false, &join("exchange"));
    text.push_str("\n# An exchange has no root.\n");
    tree(&mut text, true, &join("linear"));
    text
}

/// The file [`BEST`], with the site of each host, where these are known.
#[must_use]
pub fn best(of_hosts: Option<(&[String], &[u32])>) -> String {
    let mut text = BEST.to_owned();
    if let Some((hosts, sites)) = of_hosts {
        text.push('\n');
        name_sites(&mut text, hosts, sites);
    }
    text
}

/// A file in which a tree is spelled out, node by node.
#[must_use]
pub fn spelled_out(beginning: Beginning<'_>, tree: &Wrappers) -> String {
    let mut text = head(beginning);
    text.push_str(
        "# Each node joins its contributors: ranks, and other nodes by name. Its owner receives what\n\
         # comes from other hosts.\n[[tree]]\n",
    );
    let has_core = tree.bottommost().kind == WrapperKind::Core;
    operations(&mut text, |operation| has_core || !operation.has_root());
    text + &nodes(tree)
}

/// The tables `[[tree.node]]` of a tree.
#[must_use]
pub fn nodes(tree: &Wrappers) -> String {
    let mut text = String::new();
    let joins = |kind: WrapperKind| matches!(kind, WrapperKind::Gred | WrapperKind::Exchange);
    // Proxies are left out: what contributes to one contributes to its parent.
    let source = |mut contributor: Contributor| {
        while let Contributor::Wrapper(idx) = contributor
            && let wrapper = &tree.all()[idx as usize]
            && !joins(wrapper.kind)
        {
            contributor = wrapper.contributors[0];
        }
        contributor
    };
    for (idx, wrapper) in tree.all().iter().enumerate() {
        if joins(wrapper.kind) {
            let contributors = wrapper.contributors.iter().map(|&of| source(of));
            text.push('\n');
            node(&mut text, idx, (wrapper.kind, wrapper.owner), contributors);
        }
    }
    text
}

/// The table of a node, which is called by its number, as are those that contribute to it.
fn node(
    text: &mut String,
    number: usize,
    (kind, owner): (WrapperKind, u32),
    contributors: impl Iterator<Item = Contributor>,
) {
    let contributors = contributors.map(|of| match of {
        Contributor::Rank(rank) => rank.to_string(),
        Contributor::Wrapper(number) => quoted(&format!("n{number}")),
    });
    let contributors: Vec<String> = contributors.collect();
    let _ = write!(text, "[[tree.node]]\nname = \"n{number}\"\n");
    if kind == WrapperKind::Exchange {
        let _ = writeln!(text, "kind = \"{}\"", kind.name());
    } else {
        let _ = writeln!(text, "owner = {owner}");
    }
    let _ = writeln!(text, "contributors = [{}]", contributors.join(", "));
}

/// The beginning of a tree: the names of its operations, least and greatest number of processes, and payload of one rank, bytes.
#[must_use]
pub fn calls(operations: &[&str], ranks: (u32, u32), bytes: (u64, u64)) -> String {
    let names: Vec<String> = operations.iter().map(|of| quoted(of)).collect();
    let mut text = format!("[[tree]]\noperations = [{}]\n", names.join(", "));
    let greatest = |most: u64, any: u64| (most != any).then_some(most);
    let ranks = (
        u64::from(ranks.0),
        greatest(u64::from(ranks.1), u64::from(u32::MAX)),
    );
    let bytes = (bytes.0, greatest(bytes.1, u64::MAX));
    for (key, range, least_of_all) in [("size", ranks, 1), ("bytes", bytes, 0)] {
        let _ = match range {
            (least, None) if least == least_of_all => Ok(()),
            (least, None) => writeln!(text, "{key} = \"{least}-\""),
            (least, Some(most)) if least == most => writeln!(text, "{key} = {least}"),
            (least, Some(most)) => writeln!(text, "{key} = \"{least}-{most}\""),
        };
    }
    text
}

/// The keys of a tree that say how it is made: its shape or nodes, root, hosts and collectors.
#[must_use]
pub fn form(rule: &Rule) -> String {
    let mut text = String::new();
    let of_kinds = &rule.collectors;
    let kinds = [
        WrapperKind::Gred,
        WrapperKind::Proxy,
        WrapperKind::Core,
        WrapperKind::Exchange,
    ];
    if kinds
        .iter()
        .any(|kind| of_kinds.of(*kind) != Collectors::ALL)
    {
        let words = kinds.map(|kind| format!("{} = \"{}\"", kind.name(), word(of_kinds.of(kind))));
        let _ = writeln!(text, "collectors = {{ {} }}", words.join(", "));
    }
    match &rule.form {
        Form::Shaped(Shaped { joins, root, hosts }) => {
            let _ = writeln!(text, "shape = {}", shapes(joins));
            if let Some(root) = root {
                let _ = writeln!(text, "root = {root}");
            }
            if !hosts.is_empty() {
                let names: Vec<String> = hosts.iter().map(|host| quoted(host)).collect();
                let _ = writeln!(text, "hosts = [{}]", names.join(", "));
            }
        }
        Form::Nodes(nodes) => {
            for (number, of) in nodes.iter().enumerate() {
                let contributors = of.contributors.iter().copied();
                node(&mut text, number, (of.kind, of.owner), contributors);
                let own = [
                    ("collectors", of.collectors),
                    ("proxy-collectors", of.proxy_collectors),
                ];
                for (key, collectors) in own {
                    if let Some(collectors) = collectors {
                        let _ = writeln!(text, "{key} = \"{}\"", word(collectors));
                    }
                }
            }
        }
    }
    text
}

/// The shape of each level, as in a tree file.
#[must_use]
pub fn shapes(joins: &[(Level, Shape)]) -> String {
    let of_level = |(level, shape): &(Level, _)| {
        format!("{} = {}", level.plural(), quoted(&shape_name(*shape)))
    };
    let levels: Vec<String> = joins.iter().map(of_level).collect();
    format!("{{ {} }}", levels.join(", "))
}

fn word(collectors: Collectors) -> &'static str {
    match (collectors.before, collectors.after) {
        (true, true) => "both",
        (true, false) => "before",
        (false, true) => "after",
        (false, false) => "none",
    }
}

fn head(beginning: Beginning<'_>) -> String {
    let count = |n: u64, noun: &str| collbench_text::quantity::counted(n, noun);
    format!(
        "# Trees of collective operations, begun for {} on {}.\n\
         #   collbench-tree check FILE {given}   says what is wrong with it\n\
         #   collbench-tree show FILE {given}    shows its trees\n\
         version = 1\n\n",
        count(u64::from(beginning.n_ranks), "rank"),
        count(beginning.hosts.len() as u64, "host"),
        given = beginning.given
    )
}

/// One table for each site.
fn name_sites(text: &mut String, hosts: &[String], sites: &[u32]) {
    let n_sites = sites.iter().max().map_or(0, |&most| most + 1);
    for site in 0..n_sites {
        let hosts = hosts.iter().zip(sites).filter(|&(_, &of)| of == site);
        let names: Vec<String> = hosts.map(|(name, _)| quoted(name)).collect();
        let _ = write!(
            text,
            "[[site]]\nname = \"site {site}\"\nhosts = [{}]\n\n",
            names.join(", ")
        );
    }
}

/// A tree of the operations that have a root, or of those that have none.
fn tree(text: &mut String, has_root: bool, shape: &str) {
    text.push_str("[[tree]]\n");
    operations(text, |operation| operation.has_root() == has_root);
    let _ = writeln!(text, "shape = {shape}");
}

fn operations(text: &mut String, is_in: impl Fn(Collective) -> bool) {
    let all = Collective::ALL.into_iter().filter(|&of| is_in(of));
    let names: Vec<String> = all.map(|of| quoted(of.name())).collect();
    let _ = writeln!(text, "operations = [{}]", names.join(", "));
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
