//! Trees as text.

use std::fmt::Write;

use collbench_formats::tree::{
    Calls, Form, Level, LibraryCandidate, Results, Rule, Shaped, TreeRules, WrapperKind, Wrappers,
};
use collbench_text::inert;
use collbench_text::quantity::{counted, grouped, share, size, size_range};
use collbench_tree_files::{TreeFile, shape_name};

use super::ranks::Ranks;
use super::rows::{rows, words};
use super::rule_trees::{RuleTree, n_crossings};

/// Text of a file: its trees for ranks; without ranks, its rules. `name` is the path of the file.
#[must_use]
pub fn trees_to_text(name: &str, file: &TreeFile, of: Option<(&Ranks, &[RuleTree<'_>])>) -> String {
    let mut text = format!("{name}: {}", counted(file.rules.rules.len() as u64, "tree"));
    match of {
        None => {
            text.push('\n');
            for (nth, rule) in file.rules.rules.iter().enumerate() {
                let candidate = candidate(&file.rules, nth);
                let _ = write!(text, "\n{}\n{candidate}{}", heading(rule), form(rule));
            }
        }
        Some((ranks, trees)) => {
            let _ = writeln!(text, " for {}", ranks_in_words(ranks));
            for (nth, tree) in trees.iter().enumerate() {
                let candidate = candidate(&file.rules, nth);
                let shown = tree_text(tree, ranks);
                let _ = write!(text, "\n{}\n{candidate}{shown}", heading(tree.rule));
            }
        }
    }
    text
}

/// `candidate 1 of 2, and the MPI library last; trying may cost 2 % of the time; results stay the same`; nothing
/// of a rule that is no candidate.
fn candidate(rules: &TreeRules, rule: usize) -> String {
    let Some((adaptation, nth)) = rules.candidate(rule) else {
        return String::new();
    };
    let adaptation = &rules.adaptations[adaptation];
    let library = match adaptation.library {
        LibraryCandidate::No => "",
        LibraryCandidate::First => ", the MPI library before them",
        LibraryCandidate::Last => ", the MPI library after them",
    };
    let results = match adaptation.results {
        Results::Same => "results stay the same",
        Results::Any => "results may differ in their last digits",
    };
    let (number, n) = (nth + 1, adaptation.n_rules);
    let cost = share(f64::from(adaptation.cost) / 1e6);
    format!("  candidate {number} of {n}{library}; trying may cost {cost} of the time; {results}\n")
}

/// `8 ranks on 4 hosts at 2 sites`.
pub(super) fn ranks_in_words(ranks: &Ranks) -> String {
    let mut text = format!(
        "{} on {}",
        counted(u64::from(ranks.n()), "rank"),
        counted(ranks.hosts.len() as u64, "host")
    );
    let mut sites: Vec<u32> = ranks.sites().unwrap_or_default();
    sites.sort_unstable();
    sites.dedup();
    if sites.len() > 1 {
        let _ = write!(text, " at {} sites", sites.len());
    }
    text
}

/// `tree of line 5: allreduce, barrier; 4 to 64 ranks; up to 4096 bytes`.
pub(super) fn heading(rule: &Rule) -> String {
    let Calls {
        operations,
        ranks,
        bytes,
        across,
    } = &rule.calls;
    let names: Vec<&str> = operations.iter().map(|of| of.name()).collect();
    let mut text = format!("tree of line {}: {}", rule.line, names.join(", "));
    let _ = match *ranks {
        (1, u32::MAX) => Ok(()),
        (least, u32::MAX) => write!(text, "; {} ranks or more", grouped(least.into())),
        (least, most) if least == most => write!(text, "; {}", counted(least, "rank")),
        (least, most) => {
            let [least, most] = [least, most].map(|n| grouped(n.into()));
            write!(text, "; {least} to {most} ranks")
        }
    };
    let _ = match *bytes {
        (0, u64::MAX) => Ok(()),
        (least, u64::MAX) => write!(text, "; {} or more", size(least)),
        (least, most) => write!(text, "; {}", size_range(least, most)),
    };
    if let Some(level) = across {
        let _ = write!(text, "; across {}", level.plural());
    }
    text
}

/// How a rule makes its tree.
fn form(rule: &Rule) -> String {
    match &rule.form {
        Form::Nodes(nodes) => format!(
            "  spelled out: {} of {}\n",
            counted(nodes.len() as u64, "node"),
            counted(u64::from(rule.calls.ranks.0), "rank")
        ),
        Form::Shaped(Shaped { joins, root, hosts }) => {
            let mut text = String::new();
            for &(level, shape) in joins.iter().rev() {
                let _ = writeln!(text, "  {}: {}", words(level), shape_name(shape));
            }
            if let Some(root) = root {
                let _ = writeln!(text, "  root: rank {root}");
            }
            if !hosts.is_empty() {
                let names: Vec<String> = hosts.iter().map(|host| inert::line(host, 60)).collect();
                let _ = writeln!(text, "  hosts in the order {}", names.join(", "));
            }
            text
        }
    }
}

fn tree_text(of: &RuleTree<'_>, ranks: &Ranks) -> String {
    let tree = match &of.tree {
        Ok(tree) => tree,
        Err(error) => return format!("  no tree for these ranks: {error}\n"),
    };
    let mut text = format!("  {}\n", summary(of, tree));
    let named: Vec<(String, String)> = rows(tree)
        .iter()
        .map(|row| {
            let name = format!("{}{}", "  ".repeat(row.depth + 1), row.name(tree));
            let host = inert::line(&row.host(tree, ranks), 40);
            let note = row.note(tree);
            let rest = if note.is_empty() {
                host
            } else {
                format!("{host}, {note}")
            };
            (name, rest)
        })
        .collect();
    let width = named.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, rest) in named {
        let _ = writeln!(text, "{name:width$}  {rest}");
    }
    text
}

/// `with root 0, height 3, 2 proxies between hosts, combines in the order of ranks`.
pub(super) fn summary(of: &RuleTree<'_>, tree: &Wrappers) -> String {
    let mut parts = Vec::new();
    if let Some(root) = of.root {
        parts.push(format!("with root {root}"));
    }
    parts.push(format!("height {}", tree.height()));
    for level in [Level::Host, Level::Switch, Level::Site] {
        let n = n_crossings(tree, level);
        if n > 0 {
            let proxies = if n == 1 { "proxy" } else { "proxies" };
            parts.push(format!("{n} {proxies} between {}", words(level)));
        }
    }
    if tree.bottommost().kind == WrapperKind::Exchange {
        let partners = tree.bottommost().contributors.len() as u64;
        parts.push(format!("exchange of {}", counted(partners, "partner")));
    }
    parts.push(if tree.is_in_rank_order() {
        "combines in the order of ranks".to_owned()
    } else {
        "combines in another order than that of ranks".to_owned()
    });
    parts.join(", ")
}
