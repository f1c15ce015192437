//! Inside and outside do not contradict each other: where all wait for all, critical paths begin at the last
//! process to come, or it is said why not.

use std::collections::BTreeMap;

use serde_json::Value;

/// The critical paths of an operation in which all wait for all, compared with who arrived last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Operation and communicator.
    pub of: String,
    /// Instances of which the path is known.
    pub known: u64,
    /// Instances of which it is not, by why.
    pub unknown: BTreeMap<String, u64>,
    /// Instances whose path begins elsewhere than at the last to come, by why.
    pub elsewhere: BTreeMap<String, u64>,
    /// Instances that begin elsewhere without a reason.
    pub contradictions: u64,
}

/// What a document of the analyzer says of each operation that has critical paths, or of which it says
/// why it has none.
#[must_use]
pub fn agreements(document: &Value) -> Vec<Agreement> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let mut found = Vec::new();
    for operation in list(&document["operations"]) {
        let mut agreement = Agreement {
            of: format!(
                "{} on {}",
                operation["operation"], operation["communicator"]
            ),
            ..Agreement::default()
        };
        let mut begins: BTreeMap<u64, u64> = BTreeMap::new();
        for tree in list(&operation["trees"]) {
            for paths in list(&tree["critical_path_unknown"]) {
                let why = paths["reason"].as_str().unwrap_or_default().to_owned();
                *agreement.unknown.entry(why).or_default() += number(&paths["instances"]);
            }
            let path = &tree["critical_path"];
            let elsewhere = &path["begins_elsewhere"];
            if elsewhere.is_null() {
                continue;
            }
            agreement.known += number(&elsewhere["of_instances"]);
            for why in ["unresolved", "on_message", "in_process"] {
                let n = number(&elsewhere[why]);
                *agreement.elsewhere.entry(why.to_owned()).or_default() += n;
            }
            for begin in list(&path["begins"]) {
                *begins.entry(number(&begin["rank"])).or_default() += number(&begin["instances"]);
            }
        }
        // The document may leave these out.
        if operation["last_arrivals"].is_null() {
            begins.clear();
        }
        let communicator = number(&operation["communicator"]) as usize;
        let ranks = list(&document["communicators"][communicator]["ranks"]);
        let last = list(&operation["last_arrivals"]);
        let came_last = |rank: u64| {
            let position = ranks.iter().position(|member| number(member) == rank);
            position.and_then(|at| last.get(at)).map_or(0, number)
        };
        let more = begins
            .iter()
            .map(|(&rank, &n)| n.saturating_sub(came_last(rank)));
        let explained =
            agreement.elsewhere.values().sum::<u64>() + number(&operation["last_unresolved"]);
        agreement.contradictions = more.sum::<u64>().saturating_sub(explained);
        if agreement.known > 0 || !agreement.unknown.is_empty() {
            found.push(agreement);
        }
    }
    found
}
