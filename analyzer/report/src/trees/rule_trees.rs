//! What the rules of a file make of ranks.

use collbench_formats::tree::{Collective, Level, Rule, TreeRules, Wrapper, WrapperKind, Wrappers};
use collbench_trees::wrappers::{Order, Unfit, resolve};

use super::ranks::Ranks;

/// The tree that a rule makes of ranks, or why it makes none.
#[derive(Debug, Clone)]
pub struct RuleTree<'f> {
    /// The rule.
    pub rule: &'f Rule,
    /// The rank at the root, for operations that have one.
    pub root: Option<u32>,
    /// Its tree.
    pub tree: Result<Wrappers, Unfit>,
}

/// What each rule makes of ranks for an operation; without one, for all its operations together. The
/// root of operations that have one is `root`; a rule that is also for others is shown without.
#[must_use]
pub fn rule_trees<'f>(
    rules: &'f TreeRules,
    ranks: &Ranks,
    operation: Option<Collective>,
    root: u32,
) -> Vec<RuleTree<'f>> {
    let rules = rules.rules.iter();
    rules
        .map(|rule| {
            let has_root = match operation {
                Some(operation) => operation.has_root(),
                None => rule.calls.operations.iter().all(|of| of.has_root()),
            };
            let root = has_root.then_some(root);
            RuleTree {
                rule,
                root,
                tree: resolve(rule, root, Order::Any, ranks.members()),
            }
        })
        .collect()
}

impl RuleTree<'_> {
    /// Whether the rule is for other communicators: of another size, or across another level.
    #[must_use]
    pub fn is_for_others(&self) -> bool {
        matches!(self.tree, Err(Unfit::Size(_) | Unfit::Across(_)))
    }
}

/// Number of proxies that cross between places of a level.
pub(super) fn n_crossings(tree: &Wrappers, level: Level) -> u64 {
    let is_proxy = |wrapper: &&Wrapper| wrapper.kind == WrapperKind::Proxy;
    let proxies = tree.all().iter().filter(is_proxy);
    proxies.filter(|wrapper| wrapper.level == level).count() as u64
}
