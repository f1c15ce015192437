//! Names of the files in a trace directory.

/// The file that says which world records in the directory.
pub(super) const WORLD_FILE: &str = "world";

/// The environment variable by which the inner form passes the text of `run.json` to the rank that
/// creates the directory.
pub const RUN_VARIABLE: &str = "COLLBENCH_RUN_JSON";

pub(super) const RUN_FILE: &str = "run.json";
/// The schema that `run.json` states.
pub const RUN_SCHEMA: &str = "collbench.run/1";
pub(super) const REFUSED_PREFIX: &str = "refused.";
/// Suffix of files while collbench-compact writes them; a complete trace has none.
pub const UNFINISHED_SUFFIX: &str = ".compacting";
pub(super) const TRUTH_FILE: &str = "truth.json";
/// Functions and lines of the program, which collbench-analyze keeps.
pub(super) const SYMBOLS_FILE: &str = "symbols.json";

/// Whether this is the folder of a report: of the whole run, or of a part of it, which its name says.
pub(super) fn is_report(name: &str) -> bool {
    name == "report" || name.starts_with("report-")
}

/// Prefix of the two files by which the processes of a world agree on whether to exchange stamps;
/// the number of the world follows.
pub(crate) const REGISTRY_PREFIX: &str = "roster.";
pub(crate) const DECISION_PREFIX: &str = "exchange.";

/// Whether this is a file by which the processes of a world agreed on whether to exchange stamps;
/// it is left over if they were killed.
pub(super) fn is_agreement(name: &str) -> bool {
    [REGISTRY_PREFIX, DECISION_PREFIX].iter().any(|prefix| {
        let world = name.strip_prefix(prefix).unwrap_or_default();
        world.len() == 16 && world.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Whether this is the file of a rank.
#[must_use]
pub fn is_rank_file(name: &str) -> bool {
    name.ends_with(".trace")
}
