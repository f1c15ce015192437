//! Trees as a JSON document.

use collbench_formats::tree::{
    Calls, Contributor, Level, LibraryCandidate, Results, TreeRules, Wrapper, Wrappers,
};
use collbench_text::json;
use collbench_tree_files::{Problem, TreeFile};
use serde::Serialize;

use super::ranks::Ranks;
use super::rule_trees::{RuleTree, n_crossings};

/// The document: `collbench.tree/1`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TreesDocument {
    schema: &'static str,
    /// Path of the tree file.
    file: String,
    /// The ranks that trees are made for, by rank; null without ranks.
    ranks: Option<Vec<RankDocument>>,
    /// Its trees, in the order of the file.
    trees: Vec<TreeDocument>,
    /// What is valid, but probably not intended.
    remarks: Vec<RemarkDocument>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RankDocument {
    /// Its number.
    rank: u32,
    /// Its host.
    host: String,
    /// Number of its site; null where it is not known.
    site: Option<u32>,
    /// Number of its switch.
    switch: Option<u32>,
    /// Number of its socket.
    socket: Option<u32>,
    /// Number of its core complex.
    core_complex: Option<u32>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TreeDocument {
    /// Line of the file.
    line: u32,
    /// Names in the MPI standard.
    operations: Vec<&'static str>,
    /// Least number of ranks that it is for.
    ranks_min: u32,
    /// Greatest number of ranks; null if there is none.
    ranks_max: Option<u32>,
    /// Least payload that it is for, bytes.
    bytes_min: u64,
    /// Greatest payload, bytes; null if there is none.
    bytes_max: Option<u64>,
    /// What a communicator must be spread over; null if the tree is for any.
    across: Option<&'static str>,
    /// What is said of several candidates for the same calls; left out if it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<CandidateDocument>,
    /// Why there is no tree for the ranks; null if there is one, or without ranks.
    unfit: Option<String>,
    /// The rank that the calls name; null if the tree is also for operations without a root.
    root: Option<u32>,
    /// Greatest number of joins on the path of a rank.
    height: Option<u32>,
    /// Proxies between hosts, switches and sites.
    crossings: Option<Crossings>,
    /// Whether values are combined in the order of ranks.
    in_rank_order: Option<bool>,
    /// Its wrappers, contributors before their parents; null without a tree.
    wrappers: Option<Vec<WrapperDocument>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CandidateDocument {
    /// Its number, from 1, and how many there are without the MPI library.
    number: usize,
    of: u32,
    /// `no`, `first` or `last`.
    library: &'static str,
    /// The share of the time that trying may cost.
    cost: f64,
    /// `same` or `any`.
    results: &'static str,
}

impl CandidateDocument {
    fn of(rules: &TreeRules, rule: usize) -> Option<Self> {
        let (adaptation, nth) = rules.candidate(rule)?;
        let adaptation = &rules.adaptations[adaptation];
        Some(Self {
            number: nth + 1,
            of: adaptation.n_rules,
            library: match adaptation.library {
                LibraryCandidate::No => "no",
                LibraryCandidate::First => "first",
                LibraryCandidate::Last => "last",
            },
            cost: f64::from(adaptation.cost) / 1e6,
            results: match adaptation.results {
                Results::Same => "same",
                Results::Any => "any",
            },
        })
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Crossings {
    /// Between hosts.
    hosts: u64,
    /// Between switches.
    switches: u64,
    /// Between sites.
    sites: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WrapperDocument {
    /// Its index.
    index: u32,
    /// `gred`, `proxy`, `core` or `exchange`.
    kind: &'static str,
    /// Rank that acts for it.
    owner: u32,
    /// Host of that.
    host: String,
    /// What it joins, in the order in which values are combined.
    contributors: Vec<ContributorDocument>,
    /// Index of the next wrapper on the path to the root; null for the bottommost one.
    parent: Option<u32>,
    /// The level at which it joins.
    level: &'static str,
    /// Its event collectors.
    collectors: CollectorsDocument,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum ContributorDocument {
    Rank(u32),
    Wrapper(u32),
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CollectorsDocument {
    /// Whether there is one before it.
    before: bool,
    /// Whether there is one after it.
    after: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RemarkDocument {
    /// Line of the file.
    line: u32,
    /// A sentence.
    text: String,
}

/// A document of all trees of a file, with a line feed at its end; without ranks, of its rules.
#[must_use]
pub fn trees_to_json(name: &str, file: &TreeFile, of: Option<(&Ranks, &[RuleTree<'_>])>) -> String {
    let mut trees: Vec<TreeDocument> = match of {
        Some((ranks, trees)) => trees
            .iter()
            .map(|tree| tree_document(tree, ranks))
            .collect(),
        None => file
            .rules
            .rules
            .iter()
            .map(|rule| TreeDocument::of(rule.line, &rule.calls))
            .collect(),
    };
    for (rule, tree) in trees.iter_mut().enumerate() {
        tree.candidate = CandidateDocument::of(&file.rules, rule);
    }
    let remark = |problem: &Problem| RemarkDocument {
        line: problem.line,
        text: format!("{}; {}", problem.found, problem.remedy),
    };
    json::document(&TreesDocument {
        schema: "collbench.tree/1",
        file: name.to_owned(),
        ranks: of.map(|(ranks, _)| rank_documents(ranks)),
        trees,
        remarks: file.remarks.iter().map(remark).collect(),
    })
}

fn rank_documents(ranks: &Ranks) -> Vec<RankDocument> {
    let places = (0..).zip(&ranks.places);
    places
        .map(|(rank, place)| RankDocument {
            rank,
            host: ranks.hosts[place.host as usize].clone(),
            site: place.site,
            switch: place.switch,
            socket: place.socket,
            core_complex: place.core_complex,
        })
        .collect()
}

impl TreeDocument {
    /// Of a rule, without a tree.
    fn of(line: u32, calls: &Calls) -> Self {
        Self {
            line,
            operations: calls
                .operations
                .iter()
                .map(|of| of.operation().name())
                .collect(),
            ranks_min: calls.ranks.0,
            ranks_max: (calls.ranks.1 != u32::MAX).then_some(calls.ranks.1),
            bytes_min: calls.bytes.0,
            bytes_max: (calls.bytes.1 != u64::MAX).then_some(calls.bytes.1),
            across: calls.across.map(Level::plural),
            candidate: None,
            unfit: None,
            root: None,
            height: None,
            crossings: None,
            in_rank_order: None,
            wrappers: None,
        }
    }
}

fn tree_document(of: &RuleTree<'_>, ranks: &Ranks) -> TreeDocument {
    let mut document = TreeDocument::of(of.rule.line, &of.rule.calls);
    document.root = of.root;
    match &of.tree {
        Err(error) => document.unfit = Some(error.to_string()),
        Ok(tree) => {
            document.height = Some(tree.height());
            document.crossings = Some(Crossings {
                hosts: n_crossings(tree, Level::Host),
                switches: n_crossings(tree, Level::Switch),
                sites: n_crossings(tree, Level::Site),
            });
            document.in_rank_order = Some(tree.is_in_rank_order());
            document.wrappers = Some(wrapper_documents(tree, ranks));
        }
    }
    document
}

fn wrapper_documents(tree: &Wrappers, ranks: &Ranks) -> Vec<WrapperDocument> {
    let document = |(index, wrapper): (u32, &Wrapper)| {
        let place = &ranks.places[wrapper.owner as usize];
        WrapperDocument {
            index,
            kind: wrapper.kind.name(),
            owner: wrapper.owner,
            host: ranks.hosts[place.host as usize].clone(),
            contributors: wrapper
                .contributors
                .iter()
                .map(|of| match *of {
                    Contributor::Rank(rank) => ContributorDocument::Rank(rank),
                    Contributor::Wrapper(below) => ContributorDocument::Wrapper(below),
                })
                .collect(),
            parent: wrapper.parent,
            level: wrapper.level.plural(),
            collectors: CollectorsDocument {
                before: wrapper.collectors.before,
                after: wrapper.collectors.after,
            },
        }
    };
    (0..).zip(tree.all()).map(document).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::TreesDocument>("collbench.tree/1");
    }
}
