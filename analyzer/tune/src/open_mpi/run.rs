//! What a run told the library, beside rule files.

use std::collections::{BTreeMap, BTreeSet};

/// What a run told the library, beside the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// `coll_tuned_use_dynamic_rules` is not on, so that nothing looks at the file.
    pub ignores_rules: bool,
    /// `coll_tuned_OPERATION_algorithm`, by name of the operation; only those that are not 0.
    pub forced: BTreeMap<String, i64>,
    /// `coll_han_priority`.
    pub han_priority: Option<i32>,
    /// `coll_tuned_priority`.
    pub tuned_priority: Option<i32>,
    /// What concerns only `coll_han`.
    pub han: HanSettings,
    /// `coll`: the components that are allowed, or behind `^` those that are not.
    pub components: Option<String>,
}

impl Settings {
    /// Whether the parameter `coll` leaves this component in.
    pub(super) fn allows(&self, component: &str) -> bool {
        let Some(list) = &self.components else {
            return true;
        };
        let (is_excluding, names) = match list.trim().strip_prefix('^') {
            Some(names) => (true, names),
            None => (false, list.trim()),
        };
        names.is_empty() || names.split(',').any(|name| name.trim() == component) != is_excluding
    }
}

/// What a run told `coll_han`, beside the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HanSettings {
    /// A file was named, but `coll_han_use_dynamic_file_rules` is not on.
    pub ignores_rules: bool,
    /// `coll_han_OPERATION_dynamic_LEVEL_module`: numbers of components, by name of the parameter.
    pub modules: BTreeMap<String, i64>,
    /// `coll_han_use_OPERATION_algorithm`: names or numbers, by name of the operation.
    pub algorithms: BTreeMap<String, String>,
    /// Names of operations with `coll_han_use_simple_OPERATION`.
    pub simple: BTreeSet<String>,
    /// `coll_han_reproducible`.
    pub is_reproducible: bool,
}
