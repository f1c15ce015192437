//! What stands in a trace directory, by name.

/// The file in a trace directory that says which world records there.
pub(super) const WORLD_FILE: &str = "world";

/// How the inner form hands the text of `run.json` to the rank that makes the directory.
pub const RUN_VARIABLE: &str = "COLLBENCH_RUN_JSON";

pub(super) const RUN_FILE: &str = "run.json";
/// What `run.json` says that it is.
pub const RUN_SCHEMA: &str = "collbench.run/1";
pub(super) const REFUSED_PREFIX: &str = "refused.";
/// What files are called while collbench-compact writes them; a trace has none of these.
pub const UNFINISHED_SUFFIX: &str = ".compacting";
pub(super) const TRUTH_FILE: &str = "truth.json";
pub(super) const REPORT_FOLDER: &str = "report";

/// The two files by which the processes of a world agree on whether to exchange stamps are called so,
/// with the number of the world behind.
pub(crate) const REGISTRY_PREFIX: &str = "roster.";
pub(crate) const DECISION_PREFIX: &str = "exchange.";

/// A file in which the processes of a world agreed on whether to exchange stamps; it stays where
/// they were killed.
pub(super) fn is_agreement(name: &str) -> bool {
    [REGISTRY_PREFIX, DECISION_PREFIX].iter().any(|prefix| {
        let world = name.strip_prefix(prefix).unwrap_or_default();
        world.len() == 16 && world.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Whether a file of this name is one of a rank.
#[must_use]
pub fn is_rank_file(name: &str) -> bool {
    name.ends_with(".trace")
}
