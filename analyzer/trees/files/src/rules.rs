//! Rules: which calls have a tree, and which.

use std::ops::Range;

use collbench_formats::tree::{
    Adaptation, Calls, Collective, Collectors, CollectorsOfKinds, Form, Level, LibraryCandidate,
    Results, Rule, Shape, Shaped, WrapperKind,
};
use toml::Spanned;
use toml::de::DeValue;

use crate::document::{At, Reader, Table, kind_of, shown};
use crate::hosts::NamedHost;
use crate::problem::{Lines, Problem, one_of, suggestion};
use crate::shapes::{LEVELS, SHAPES, shape_of};

const KEYS: [&str; 11] = [
    "operations",
    "size",
    "bytes",
    "across",
    "shape",
    "root",
    "hosts",
    "collectors",
    "node",
    "adapt",
    "candidate",
];
/// Keys of a candidate: what may differ between trees for the same calls.
const CANDIDATE_KEYS: [&str; 5] = ["shape", "root", "hosts", "collectors", "node"];
/// Most candidates of a tree.
const MAX_CANDIDATES: usize = 8;

/// The rules of a `[[tree]]`, the hosts that they name, and what is said of its candidates.
pub(crate) struct FoundTree {
    pub(crate) rules: Vec<(Rule, Range<usize>)>,
    pub(crate) hosts: Vec<NamedHost>,
    /// Its `first` is not known here.
    pub(crate) adaptation: Option<Adaptation>,
}

/// What calls a tree is for, as it is written.
struct WrittenCalls {
    operations: Vec<At<Collective>>,
    sizes: Option<(u32, u32)>,
    bytes: Option<(u64, u64)>,
    across: Option<Level>,
}

impl Reader<'_> {
    /// A `[[tree]]`.
    pub(crate) fn tree(&mut self, value: &Spanned<DeValue<'_>>) -> Option<FoundTree> {
        let n_problems = self.problems.len();
        let table = self.table(value, "a tree", &KEYS)?;
        let calls = WrittenCalls {
            operations: self.operations(&table),
            sizes: table.get("size").and_then(|value| self.sizes(value)),
            bytes: table.get("bytes").and_then(|value| self.bytes(value)),
            across: table.get("across").and_then(|value| self.across(value)),
        };
        let collectors = table.get("collectors");
        let collectors = collectors.and_then(|value| self.collectors_of_kinds(value));
        let collectors = collectors.unwrap_or(CollectorsOfKinds::uniform(Collectors::ALL));
        let mut found = FoundTree {
            rules: Vec::new(),
            hosts: Vec::new(),
            adaptation: self.adaptation(&table),
        };
        match table.get("candidate") {
            None if table.get("adapt").is_some() => {
                let remedy = "write each tree as [[tree.candidate]] with a shape";
                return self.wrong(table.key("adapt"), "\"adapt\" without candidates", remedy);
            }
            None => self.rule((&table, n_problems), &calls, collectors, &mut found)?,
            Some(candidates) => {
                self.candidates(candidates, &table, &calls, collectors, &mut found);
            }
        }
        (self.problems.len() == n_problems).then_some(found)
    }

    /// The `[[tree.candidate]]`s of a tree.
    fn candidates(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        tree: &Table<'_>,
        calls: &WrittenCalls,
        collectors: CollectorsOfKinds,
        found: &mut FoundTree,
    ) {
        for key in ["shape", "root", "hosts", "node"] {
            if tree.get(key).is_some() {
                let what = format!("\"{key}\" for a tree with candidates");
                let remedy = "write it into each [[tree.candidate]]";
                self.wrong::<()>(tree.key(key), what, remedy);
            }
        }
        for candidate in self.list(value, "candidates") {
            let n_problems = self.problems.len();
            let Some(table) = self.table(candidate, "a candidate", &CANDIDATE_KEYS) else {
                continue;
            };
            let own = table.get("collectors");
            let own = own.and_then(|value| self.collectors_of_kinds(value));
            self.rule(
                (&table, n_problems),
                calls,
                own.unwrap_or(collectors),
                found,
            );
        }
        let key = tree.key("candidate");
        let Some(adaptation) = &mut found.adaptation else {
            if tree.get("adapt").is_none() {
                let remedy =
                    "add adapt = {}, or leave one of them and write its keys into the tree";
                self.wrong::<()>(key, "candidates without \"adapt\"", remedy);
            }
            return;
        };
        adaptation.n_rules = found.rules.len() as u32;
        let has_library = adaptation.library != LibraryCandidate::No;
        match found.rules.len() {
            1 if !has_library => {
                let remedy = "add another [[tree.candidate]], or library = true to adapt";
                self.wrong::<()>(key, "one candidate", remedy);
            }
            n if n > MAX_CANDIDATES => {
                let what = format!("{n} candidates");
                self.wrong::<()>(key, what, format!("leave at most {MAX_CANDIDATES}"));
            }
            _ => {}
        }
    }

    /// The value of `adapt`: what may be done about several candidates.
    fn adaptation(&mut self, tree: &Table<'_>) -> Option<Adaptation> {
        /// In millionths.
        const DEFAULT_COST: u32 = 20_000;
        const MOST_COST: f64 = 0.5;
        let value = tree.get("adapt")?;
        let table = self.table(value, "adapt", &["library", "cost", "results"])?;
        let library = match table.get("library").map(Spanned::get_ref) {
            None | Some(DeValue::Boolean(false)) => LibraryCandidate::No,
            Some(DeValue::Boolean(true)) => LibraryCandidate::Last,
            Some(DeValue::String(text)) if text.as_ref() == "first" => LibraryCandidate::First,
            Some(_) => {
                let place = table.get("library").map_or(0..0, Spanned::span);
                let remedy = "expected true, false or \"first\"";
                return self.wrong(place, "an unknown value of \"library\"", remedy);
            }
        };
        let cost = match table.get("cost") {
            None => DEFAULT_COST,
            Some(value) => {
                let number = match value.get_ref() {
                    DeValue::Float(number) => number.as_str().parse().ok(),
                    DeValue::Integer(number) => number.as_str().parse().ok(),
                    _ => None,
                };
                match number.filter(|cost: &f64| (0.0..=MOST_COST).contains(cost)) {
                    Some(cost) => (cost * 1e6).round() as u32,
                    None => {
                        let found = format!("{} instead of a cost", kind_of(value));
                        let remedy = "expected a share of the time in these calls from 0 to 0.5, such as 0.02";
                        return self.wrong(value.span(), found, remedy);
                    }
                }
            }
        };
        let results = match table.get("results") {
            None => Results::Same,
            Some(value) => {
                let given = self.string(value, "\"same\" or \"any\"")?;
                match given.value.as_str() {
                    "same" => Results::Same,
                    "any" => Results::Any,
                    other => {
                        let found = format!("\"{}\" for results", shown(other));
                        let names = ["same", "any"].into_iter();
                        return self.wrong(given.span, found, suggestion(other, names));
                    }
                }
            }
        };
        Some(Adaptation {
            line: self.line(&tree.span),
            first: 0,
            n_rules: 0,
            library,
            cost,
            results,
        })
    }

    /// The rule of a tree or of one of its candidates, by its shape or nodes in `table`, before which so many things were
    /// wrong.
    fn rule(
        &mut self,
        (table, n_problems): (&Table<'_>, usize),
        calls: &WrittenCalls,
        collectors: CollectorsOfKinds,
        found: &mut FoundTree,
    ) -> Option<()> {
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
                self.check_shaped(&joins, &calls.operations, &root, calls.sizes);
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
                Form::Nodes(self.nodes(nodes, &table.span, &calls.operations, calls.sizes)?)
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
            Form::Shaped(_) => calls.sizes.unwrap_or((1, u32::MAX)),
        };
        let rule = Rule {
            line: self.line(&table.span),
            calls: Calls {
                operations: calls.operations.iter().map(|of| of.value).collect(),
                ranks: sizes,
                bytes: calls.bytes.unwrap_or((0, u64::MAX)),
                across: calls.across,
            },
            form,
            collectors,
        };
        found
            .hosts
            .extend(hosts.iter().map(|host| NamedHost::of(&self.text, host)));
        found.rules.push((rule, table.span.clone()));
        Some(())
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

/// A tree of the file: its rules, more than one if it has candidates, with their places.
pub(crate) type RulesOfTree = Vec<(Rule, Range<usize>)>;

/// Trees that are never used, since an earlier one is for all their calls, and candidates that another one repeats.
pub(crate) fn unused(text: &Lines<'_>, trees: &[RulesOfTree]) -> Vec<Problem> {
    let mut unused = Vec::new();
    for (at, tree) in trees.iter().enumerate() {
        let earlier: Vec<&Rule> = trees[..at].iter().flatten().map(|(rule, _)| rule).collect();
        for (nth, (rule, span)) in tree.iter().enumerate() {
            let mut before = tree[..nth].iter();
            let is_same =
                |other: &Rule| other.form == rule.form && other.collectors == rule.collectors;
            if let Some((same, _)) = before.find(|(other, _)| is_same(other)) {
                let found = format!("the same tree as that of line {}", same.line);
                let remedy = "leave one of both candidates out";
                unused.push(Problem::at(text, span.clone(), found, remedy));
            }
            if let Some(earlier) = earlier.iter().find(|earlier| covers(earlier, rule)) {
                let found = format!(
                    "never used: the tree of line {} is for all these calls",
                    earlier.line
                );
                let remedy = "put it before that one, or restrict one of them by size or bytes";
                unused.push(Problem::at(text, span.clone(), found, remedy));
            }
        }
    }
    unused
}

/// Whether a rule always fits the calls of another one.
fn covers(rule: &Rule, other: &Rule) -> bool {
    let (calls, of) = (&rule.calls, &other.calls);
    let always_fits = match &rule.form {
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
}
