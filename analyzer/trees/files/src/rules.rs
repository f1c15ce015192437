//! Rules: which calls have a tree, and which.

use std::ops::Range;

use collbench_formats::tree::{
    Calls, Collective, Collectors, CollectorsOfKinds, Form, Level, Rule, Shape, Shaped, WrapperKind,
};
use toml::Spanned;
use toml::de::DeValue;

use crate::document::{At, Reader, Table, kind_of, shown};
use crate::hosts::NamedHost;
use crate::problem::{Lines, Problem, one_of, suggestion};
use crate::shapes::{LEVELS, SHAPES, shape_of};

const KEYS: [&str; 9] = [
    "operations",
    "size",
    "bytes",
    "across",
    "shape",
    "root",
    "hosts",
    "collectors",
    "node",
];

/// A rule, and the hosts that it names.
pub(crate) struct FoundRule {
    pub(crate) rule: Rule,
    pub(crate) hosts: Vec<NamedHost>,
}

impl Reader<'_> {
    /// A `[[tree]]`.
    pub(crate) fn rule(&mut self, value: &Spanned<DeValue<'_>>) -> Option<FoundRule> {
        let n_problems = self.problems.len();
        let table = self.table(value, "a tree", &KEYS)?;
        let line = self.line(&table.span);
        let operations = self.operations(&table);
        let sizes = table.get("size").and_then(|value| self.sizes(value));
        let bytes = table.get("bytes").and_then(|value| self.bytes(value));
        let across = table.get("across").and_then(|value| self.across(value));
        let collectors = table.get("collectors");
        let collectors = collectors.and_then(|value| self.collectors_of_kinds(value));
        let hosts = match table.get("hosts") {
            Some(value) => self.strings(value, "the name of a host"),
            None => Vec::new(),
        };
        let root = table.get("root");
        let root =
            root.and_then(|value| self.number(value, "a rank", (0, u64::from(u32::MAX) - 1)));
        let form = match (table.get("shape"), table.get("node")) {
            (Some(shape), None) => {
                let joins = self.joins(shape)?;
                self.check_shaped(&joins, &operations, &root, sizes);
                Form::Shaped(Shaped {
                    joins,
                    root: root.map(|root| root.value as u32),
                    hosts: hosts.iter().map(|host| host.value.clone()).collect(),
                })
            }
            (None, Some(nodes)) => {
                for key in ["root", "hosts"] {
                    if table.get(key).is_some() {
                        let found = format!("\"{key}\" for a tree that is spelled out");
                        let remedy = "leave it out: the nodes have owners, on their hosts";
                        self.wrong::<()>(table.key(key), found, remedy);
                    }
                }
                Form::Nodes(self.nodes(nodes, &table.span, &operations, sizes)?)
            }
            (Some(_), Some(_)) => {
                let found = "a shape and nodes for one tree";
                return self.wrong(table.key("shape"), found, "leave one of them out");
            }
            // Then it is a shape with a typo, perhaps.
            (None, None) if self.problems.len() > n_problems => return None,
            (None, None) => {
                let remedy =
                    "add shape = \"binomial\" or another one, or a [[tree.node]] for each join";
                return self.wrong(table.span.clone(), "a tree without a shape", remedy);
            }
        };
        let sizes = match &form {
            Form::Nodes(nodes) => {
                let n = n_ranks(nodes);
                (n, n)
            }
            Form::Shaped(_) => sizes.unwrap_or((1, u32::MAX)),
        };
        let rule = Rule {
            line,
            calls: Calls {
                operations: operations.into_iter().map(|of| of.value).collect(),
                ranks: sizes,
                bytes: bytes.unwrap_or((0, u64::MAX)),
                across,
            },
            form,
            collectors: collectors.unwrap_or(CollectorsOfKinds::uniform(Collectors::ALL)),
        };
        let named = |host: &At<String>| NamedHost::of(&self.text, host);
        let hosts = hosts.iter().map(named).collect();
        (self.problems.len() == n_problems).then_some(FoundRule { rule, hosts })
    }

    fn operations(&mut self, table: &Table<'_>) -> Vec<At<Collective>> {
        let names = Collective::ALL.iter().map(|of| of.name());
        let Some(value) = table.get("operations") else {
            let remedy = format!("add operations = [..], of {}", one_of(names));
            self.wrong::<()>(table.span.clone(), "a tree for no operation", remedy);
            return Vec::new();
        };
        let given = self.strings(value, "the name of an operation");
        let mut operations = Vec::new();
        for name in given {
            let plain = name.value.to_lowercase();
            let plain = plain.strip_prefix("mpi_").unwrap_or(&plain);
            match Collective::ALL.into_iter().find(|of| of.name() == plain) {
                Some(operation) => operations.push(At {
                    value: operation,
                    span: name.span,
                }),
                None => {
                    let found = format!("\"{}\" is no operation of trees", shown(&name.value));
                    self.wrong::<()>(name.span, found, suggestion(plain, names.clone()));
                }
            }
        }
        operations
    }

    /// What communicators extend across: ranks of one host, hosts of one site, or sites.
    fn across(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Level> {
        const LEVELS: [Level; 3] = [Level::Rank, Level::Host, Level::Site];
        let name = self.string(value, "a level")?;
        let found = LEVELS.into_iter().find(|of| of.plural() == name.value);
        found.or_else(|| {
            let found = format!("\"{}\" is no level of communicators", shown(&name.value));
            let names = LEVELS.map(Level::plural).into_iter();
            self.wrong(name.span, found, suggestion(&name.value, names))
        })
    }

    /// The shape of all ranks, or the shape of each level.
    fn joins(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Vec<(Level, Shape)>> {
        if let DeValue::String(_) = value.get_ref() {
            return Some(vec![(Level::Rank, self.shape(value)?)]);
        }
        let table = self.table(value, "a shape", &LEVELS)?;
        let mut joins = vec![(Level::Rank, Shape::Linear)];
        let mut is_right = true;
        for level in Level::ALL {
            let Some(value) = table.get(level.plural()) else {
                continue;
            };
            match self.shape(value) {
                Some(shape) if level == Level::Rank => joins[0].1 = shape,
                Some(shape) => joins.push((level, shape)),
                None => is_right = false,
            }
        }
        if is_right && table.iter().next().is_none() {
            let remedy =
                "name one for each level, such as { ranks = \"linear\", hosts = \"binomial\" }";
            return self.wrong(value.span(), "no shape for any level", remedy);
        }
        is_right.then_some(joins)
    }

    fn shape(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Shape> {
        let name = self.string(value, "the name of a shape")?;
        if name.value.trim() == "hierarchical" {
            let remedy = "write the shape of each level, such as { ranks = \"linear\", \
                 hosts = \"binomial\", sites = \"exchange\" }";
            return self.wrong(name.span, "\"hierarchical\" without levels", remedy);
        }
        shape_of(&name.value).or_else(|| {
            let found = format!("\"{}\" is no shape", shown(&name.value));
            self.wrong(
                name.span,
                found,
                suggestion(&name.value, SHAPES.into_iter()),
            )
        })
    }

    /// An exchange has no root, and a root is one of the ranks.
    fn check_shaped(
        &mut self,
        joins: &[(Level, Shape)],
        operations: &[At<Collective>],
        root: &Option<At<u64>>,
        sizes: Option<(u32, u32)>,
    ) {
        let has_exchange = joins.iter().any(|&(_, shape)| shape == Shape::Exchange);
        if has_exchange {
            self.check_no_root(operations);
            if let Some(root) = root {
                let remedy = "leave out the root, or take another shape than exchange";
                self.wrong::<()>(root.span.clone(), "an exchange has no root", remedy);
            }
        }
        if let (Some(root), Some((_, most))) = (root, sizes)
            && root.value >= u64::from(most)
        {
            let found = format!("rank {} of at most {most}", root.value);
            self.wrong::<()>(root.span.clone(), found, "ranks are numbered from 0");
        }
    }

    /// Every operation that has a root is wrong for an exchange.
    pub(crate) fn check_no_root(&mut self, operations: &[At<Collective>]) {
        for operation in operations.iter().filter(|of| of.value.has_root()) {
            let found = format!(
                "{} has a root, and an exchange has none",
                operation.value.name()
            );
            let remedy = "give it a tree of its own, with a shape that has a root";
            self.wrong::<()>(operation.span.clone(), found, remedy);
        }
    }

    /// Event collectors of all kinds of wrappers: one word for all, or a table by kind.
    fn collectors_of_kinds(&mut self, value: &Spanned<DeValue<'_>>) -> Option<CollectorsOfKinds> {
        if !matches!(value.get_ref(), DeValue::Table(_)) {
            return self.collectors(value).map(CollectorsOfKinds::uniform);
        }
        const KINDS: [&str; 4] = [
            WrapperKind::Gred.name(),
            WrapperKind::Proxy.name(),
            WrapperKind::Core.name(),
            WrapperKind::Exchange.name(),
        ];
        let table = self.table(value, "a table of collectors", &KINDS)?;
        let mut of_kind = |kind: WrapperKind| match table.get(kind.name()) {
            Some(value) => self.collectors(value),
            None => Some(Collectors::ALL),
        };
        Some(CollectorsOfKinds {
            gred: of_kind(WrapperKind::Gred)?,
            proxy: of_kind(WrapperKind::Proxy)?,
            core: of_kind(WrapperKind::Core)?,
            exchange: of_kind(WrapperKind::Exchange)?,
        })
    }

    /// `both`, `before`, `after` or `none`.
    pub(crate) fn collectors(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Collectors> {
        let (before, after) = match value.get_ref() {
            DeValue::String(text) => match text.as_ref() {
                "both" => (true, true),
                "before" => (true, false),
                "after" => (false, true),
                "none" => (false, false),
                other => {
                    let names = ["both", "before", "after", "none"].into_iter();
                    let found = format!("\"{}\" is no choice of collectors", shown(other));
                    return self.wrong(value.span(), found, suggestion(other, names));
                }
            },
            _ => {
                let found = format!("{} instead of a choice of collectors", kind_of(value));
                let remedy = "expected \"both\", \"before\", \"after\" or \"none\"";
                return self.wrong(value.span(), found, remedy);
            }
        };
        Some(Collectors { before, after })
    }
}

/// Number of ranks that checked nodes join.
fn n_ranks(nodes: &[collbench_formats::tree::Node]) -> u32 {
    use collbench_formats::tree::Contributor;
    let contributors = nodes.iter().flat_map(|node| &node.contributors);
    contributors
        .filter(|of| matches!(of, Contributor::Rank(_)))
        .count() as u32
}

/// Rules that are never used, since an earlier one is for all their calls.
pub(crate) fn unused(text: &Lines<'_>, rules: &[(Rule, Range<usize>)]) -> Vec<Problem> {
    let mut unused = Vec::new();
    for (at, (rule, span)) in rules.iter().enumerate() {
        let has_all = |earlier: &&(Rule, Range<usize>)| {
            let (calls, of) = (&earlier.0.calls, &rule.calls);
            let always_fits = match &earlier.0.form {
                Form::Shaped(form) => form.root.is_none() && form.hosts.is_empty(),
                Form::Nodes(_) => true,
            };
            always_fits
                && of.operations.iter().all(|of| calls.operations.contains(of))
                && calls.ranks.0 <= of.ranks.0
                && calls.ranks.1 >= of.ranks.1
                && calls.bytes.0 <= of.bytes.0
                && calls.bytes.1 >= of.bytes.1
                && (calls.across.is_none() || calls.across == of.across)
        };
        if let Some((earlier, _)) = rules[..at].iter().find(has_all) {
            unused.push(Problem::at(
                text,
                span.clone(),
                format!(
                    "never used: the tree of line {} is for all these calls",
                    earlier.line
                ),
                "put it before that one, or restrict one of them by size or bytes",
            ));
        }
    }
    unused
}
