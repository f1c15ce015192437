//! Trees that are spelled out, node by node.

use std::collections::BTreeMap;
use std::ops::Range;

use collbench_formats::tree::{Collective, Collectors, Contributor, Node, WrapperKind};
use toml::Spanned;
use toml::de::DeValue;

use crate::document::{At, Reader, kind_of, shown};
use crate::problem::suggestion;

const KEYS: [&str; 6] = [
    "name",
    "kind",
    "owner",
    "contributors",
    "collectors",
    "proxy-collectors",
];

/// A node as it is written.
struct Written {
    span: Range<usize>,
    name: Option<At<String>>,
    kind: WrapperKind,
    owner: Option<At<u64>>,
    contributors: Vec<At<Source>>,
    /// Place of the list of contributors.
    list: Range<usize>,
    collectors: Option<Collectors>,
    proxy_collectors: Option<Collectors>,
}

impl Written {
    /// What it is called in errors.
    fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("node \"{}\"", shown(&name.value)),
            None => "a node without a name".to_owned(),
        }
    }
}

/// A contributor as it is written: a rank, or the name of a node.
enum Source {
    Rank(u32),
    Node(String),
}

impl Reader<'_> {
    /// The `[[tree.node]]`s of a tree, contributors before those they contribute to; `None` where
    /// they are not one tree of all ranks from 0 on.
    pub(crate) fn nodes(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        tree: &Range<usize>,
        operations: &[At<Collective>],
        sizes: Option<(u32, u32)>,
    ) -> Option<Vec<Node>> {
        let n_problems = self.problems.len();
        let values = self.list(value, "nodes");
        let written: Vec<Written> = values
            .into_iter()
            .filter_map(|node| self.node(node))
            .collect();
        if self.problems.len() > n_problems {
            return None;
        }
        let names = self.names(&written);
        let n_ranks = self.check_ranks(&written, tree);
        let parents = self.parents(&written, &names);
        if let (Some(n_ranks), Some((least, most))) = (n_ranks, sizes)
            && !(least..=most).contains(&n_ranks)
        {
            let found = format!("nodes for {n_ranks} ranks in a tree of another size");
            self.wrong::<()>(
                tree.clone(),
                found,
                format!("write size = {n_ranks}, or leave it out"),
            );
        }
        if self.problems.len() > n_problems {
            return None;
        }
        let order = self.order(&written, &names, &parents)?;
        self.check_owners(&written, n_ranks?, &names);
        self.check_bottommost(&written, &order, operations);
        if self.problems.len() > n_problems {
            return None;
        }
        let lines: Vec<u32> = written.iter().map(|node| self.line(&node.span)).collect();
        Some(made(&written, &names, &order, &lines))
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Written> {
        let table = self.table(value, "a node", &KEYS)?;
        let name = table
            .get("name")
            .and_then(|name| self.string(name, "a name"));
        let kind = match table.get("kind") {
            None => WrapperKind::Gred,
            Some(kind) => self.node_kind(kind)?,
        };
        let owner = match (table.get("owner"), kind) {
            (Some(_), WrapperKind::Exchange) => {
                let remedy = "leave it out: each partner acts by its own owner";
                return self.wrong(table.key("owner"), "an exchange with an owner", remedy);
            }
            (Some(owner), _) => Some(self.owner(owner)?),
            (None, WrapperKind::Exchange) => None,
            (None, _) => {
                let remedy = "add owner = the rank that receives what comes from other hosts";
                return self.wrong(table.span.clone(), "a node without an owner", remedy);
            }
        };
        let Some(list) = table.get("contributors") else {
            let remedy = "add contributors = [..]: ranks, and names of nodes in quotes";
            return self.wrong(table.span.clone(), "a node without contributors", remedy);
        };
        let mut contributors = Vec::new();
        for value in self.list(list, "contributors") {
            contributors.extend(self.contributor(value));
        }
        if contributors.len() == 1 {
            let (what, remedy) = match kind {
                WrapperKind::Exchange => (
                    "an exchange with one partner",
                    "name at least two, or make it a gred of what the partner joins",
                ),
                _ => (
                    "a gred with one contributor",
                    "name at least two, or let its contributor go to the next node directly",
                ),
            };
            return self.wrong(list.span(), what, remedy);
        }
        let mut collectors = |key| match table.get(key) {
            Some(value) => self.collectors(value).map(Some),
            None => Some(None),
        };
        Some(Written {
            span: table.span.clone(),
            name,
            kind,
            owner,
            contributors,
            list: list.span(),
            collectors: collectors("collectors")?,
            proxy_collectors: collectors("proxy-collectors")?,
        })
    }

    fn node_kind(&mut self, value: &Spanned<DeValue<'_>>) -> Option<WrapperKind> {
        let name = self.string(value, "a kind")?;
        match name.value.as_str() {
            "gred" => Some(WrapperKind::Gred),
            "exchange" => Some(WrapperKind::Exchange),
            kind @ ("proxy" | "core") => {
                let found = format!("a {kind} as a node");
                let remedy = "leave it out: a proxy follows where a contributor is on another host \
                     than the owner, and the core at the root";
                self.wrong(name.span, found, remedy)
            }
            other => {
                let found = format!("\"{}\" is no kind of node", shown(other));
                let kinds = ["gred", "exchange"].into_iter();
                self.wrong(name.span, found, suggestion(other, kinds))
            }
        }
    }

    fn owner(&mut self, value: &Spanned<DeValue<'_>>) -> Option<At<u64>> {
        if let DeValue::Array(owners) = value.get_ref()
            && owners.len() > 1
        {
            let found = format!("{} owners of one node", owners.len());
            return self.wrong(value.span(), found, "name one rank: a node has one owner");
        }
        self.number(value, "the rank of an owner", (0, u64::from(u32::MAX) - 1))
    }

    fn contributor(&mut self, value: &Spanned<DeValue<'_>>) -> Option<At<Source>> {
        let span = value.span();
        match value.get_ref() {
            DeValue::String(name) => Some(At {
                value: Source::Node(name.as_ref().to_owned()),
                span,
            }),
            DeValue::Integer(_) => {
                let rank = self.number(value, "a rank", (0, u64::from(u32::MAX) - 1))?;
                let value = Source::Rank(rank.value as u32);
                Some(At { value, span })
            }
            _ => {
                let found = format!("{} instead of a contributor", kind_of(value));
                self.wrong(
                    span,
                    found,
                    "expected a rank, or the name of a node in quotes",
                )
            }
        }
    }

    /// The nodes by name.
    fn names(&mut self, written: &[Written]) -> BTreeMap<String, usize> {
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for (idx, node) in written.iter().enumerate() {
            let Some(name) = &node.name else { continue };
            if let Some(&first) = names.get(&name.value) {
                let line = self.line(&written[first].span);
                let found = format!("a second {}: the first one is in line {line}", node.label());
                let remedy = "give it another name; a node has one owner";
                self.wrong::<()>(name.span.clone(), found, remedy);
            }
            names.insert(name.value.clone(), idx);
        }
        names
    }

    /// How many ranks the nodes join; each must contribute once.
    fn check_ranks(&mut self, written: &[Written], tree: &Range<usize>) -> Option<u32> {
        let mut ranks: BTreeMap<u32, Range<usize>> = BTreeMap::new();
        for contributor in written.iter().flat_map(|node| &node.contributors) {
            let Source::Rank(rank) = contributor.value else {
                continue;
            };
            if let Some(first) = ranks.get(&rank) {
                let line = self.line(first);
                let found = format!("rank {rank} contributes a second time");
                let remedy = format!("remove it here or in line {line}");
                self.wrong::<()>(contributor.span.clone(), found, remedy);
            } else {
                ranks.insert(rank, contributor.span.clone());
            }
        }
        let n_ranks = ranks.len() as u32;
        let missing = (0..)
            .zip(ranks.keys())
            .find(|(expected, rank)| expected != *rank);
        if let Some((missing, &next)) = missing {
            let found = format!("rank {missing} contributes to no node, and rank {next} does");
            let remedy =
                "add it to the contributors of a node: ranks are numbered from 0 without gaps";
            return self.wrong(tree.clone(), found, remedy);
        }
        Some(n_ranks)
    }

    /// The node that each node contributes to.
    fn parents(
        &mut self,
        written: &[Written],
        names: &BTreeMap<String, usize>,
    ) -> Vec<Option<usize>> {
        let mut parents: Vec<Option<usize>> = vec![None; written.len()];
        for (idx, node) in written.iter().enumerate() {
            for contributor in &node.contributors {
                let Source::Node(name) = &contributor.value else {
                    continue;
                };
                let span = contributor.span.clone();
                let Some(&below) = names.get(name) else {
                    let found = format!("there is no node \"{}\"", shown(name));
                    let known = names.keys().map(String::as_str);
                    self.wrong::<()>(span, found, suggestion(name, known));
                    continue;
                };
                if let Some(first) = parents[below] {
                    let found = format!("node \"{}\" contributes a second time", shown(name));
                    let remedy = format!("remove it here or from {}", written[first].label());
                    self.wrong::<()>(span, found, remedy);
                    continue;
                }
                parents[below] = Some(idx);
            }
        }
        parents
    }

    /// All nodes, contributors before those they contribute to. There is one at the root, and no
    /// cycle.
    fn order(
        &mut self,
        written: &[Written],
        names: &BTreeMap<String, usize>,
        parents: &[Option<usize>],
    ) -> Option<Vec<usize>> {
        let mut roots = (0..written.len()).filter(|&node| parents[node].is_none());
        let root = roots.next();
        if let (Some(first), Some(second)) = (root, roots.next()) {
            let found = format!(
                "neither {} nor {} contributes to a node",
                written[first].label(),
                written[second].label()
            );
            let remedy =
                "one node is at the root: name all others among the contributors of a node";
            return self.wrong(written[second].span.clone(), found, remedy);
        }
        let mut order = Vec::with_capacity(written.len());
        let mut open: Vec<usize> = root.into_iter().collect();
        while let Some(node) = open.pop() {
            order.push(node);
            open.extend(
                written[node]
                    .contributors
                    .iter()
                    .filter_map(|of| match &of.value {
                        Source::Node(name) => names.get(name).copied(),
                        Source::Rank(_) => None,
                    }),
            );
        }
        if order.len() < written.len() {
            // Each has one parent: what does not lead to the root leads into a cycle.
            let mut is_reached = vec![false; written.len()];
            order.iter().for_each(|&node| is_reached[node] = true);
            let start = is_reached.iter().position(|&is| !is)?;
            return self.cycle(written, parents, start);
        }
        order.reverse();
        Some(order)
    }

    /// The cycle that a node leads to.
    fn cycle<T>(
        &mut self,
        written: &[Written],
        parents: &[Option<usize>],
        start: usize,
    ) -> Option<T> {
        let next = |node: usize| parents[node].unwrap_or(node);
        // After as many steps as there are nodes one is on the cycle.
        let on = written.iter().fold(start, |node, _| next(node));
        let mut names = vec![written[on].label()];
        let mut at = next(on);
        while at != on && names.len() < 8 {
            names.push(written[at].label());
            at = next(at);
        }
        let found = match &names[..] {
            [only] => format!("{only} contributes to itself"),
            _ => format!("a cycle: {} contribute to one another", names.join(", ")),
        };
        let remedy = "let one of them contribute to a node that leads to the root";
        self.wrong(written[on].list.clone(), found, remedy)
    }

    /// Owners are ranks of the tree, and partners of an exchange have different ones.
    fn check_owners(&mut self, written: &[Written], n_ranks: u32, names: &BTreeMap<String, usize>) {
        for node in written {
            if let Some(owner) = node
                .owner
                .as_ref()
                .filter(|of| of.value >= u64::from(n_ranks))
            {
                let found = format!("owner {} of {n_ranks} ranks", owner.value);
                let remedy = format!("name one of the ranks 0 to {}", n_ranks.saturating_sub(1));
                self.wrong::<()>(owner.span.clone(), found, remedy);
            }
            if node.kind != WrapperKind::Exchange {
                continue;
            }
            let mut owners: BTreeMap<u64, ()> = BTreeMap::new();
            for partner in &node.contributors {
                let owner = match &partner.value {
                    Source::Rank(rank) => Some(u64::from(*rank)),
                    Source::Node(name) => {
                        let below = names.get(name).map(|&below| &written[below]);
                        below.and_then(|below| Some(below.owner.as_ref()?.value))
                    }
                };
                if let Some(owner) = owner
                    && owners.insert(owner, ()).is_some()
                {
                    let found = format!("two partners of an exchange that rank {owner} owns");
                    let remedy = "give them different owners";
                    self.wrong::<()>(partner.span.clone(), found, remedy);
                }
            }
        }
    }

    /// An exchange is at the root, and there for operations without a root.
    fn check_bottommost(
        &mut self,
        written: &[Written],
        order: &[usize],
        operations: &[At<Collective>],
    ) {
        let Some((&bottommost, others)) = order.split_last() else {
            return;
        };
        for &node in others {
            if written[node].kind == WrapperKind::Exchange {
                let found = format!("an exchange that contributes to {}", {
                    let label = written[bottommost].label();
                    if others.len() == 1 {
                        label
                    } else {
                        "another node".to_owned()
                    }
                });
                let remedy = "make it a gred: an exchange has the result, and is at the root";
                self.wrong::<()>(written[node].span.clone(), found, remedy);
            }
        }
        if written[bottommost].kind == WrapperKind::Exchange {
            self.check_no_root(operations);
        }
    }
}

/// The description of nodes that are in order.
fn made(
    written: &[Written],
    names: &BTreeMap<String, usize>,
    order: &[usize],
    lines: &[u32],
) -> Vec<Node> {
    let mut number = vec![0; written.len()];
    for (idx, &node) in (0..).zip(order) {
        number[node] = idx;
    }
    let mut nodes: Vec<Node> = Vec::with_capacity(order.len());
    for &node in order {
        let line = lines[node];
        let written = &written[node];
        let contributors: Vec<Contributor> = written
            .contributors
            .iter()
            .filter_map(|of| match &of.value {
                Source::Rank(rank) => Some(Contributor::Rank(*rank)),
                Source::Node(name) => Some(Contributor::Wrapper(number[*names.get(name)?])),
            })
            .collect();
        let of_first = || match contributors.first() {
            Some(&Contributor::Rank(rank)) => rank,
            Some(&Contributor::Wrapper(below)) => nodes[below as usize].owner,
            None => 0,
        };
        let owner = match &written.owner {
            Some(owner) => owner.value as u32,
            None => of_first(),
        };
        nodes.push(Node {
            name: written
                .name
                .as_ref()
                .map_or(String::new(), |name| name.value.clone()),
            line,
            kind: written.kind,
            owner,
            contributors,
            collectors: written.collectors,
            proxy_collectors: written.proxy_collectors,
        });
    }
    nodes
}
