//! What must hold of the figures of any trace, damaged or not, by a route of its own: that of the
//! document.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::drawn::Known;

/// Distributions that hold lengths of time, which begin where they end at the earliest.
const LENGTHS: [&str; 6] = [
    "wait_ns",
    "arrival_lag_ns",
    "late_receiver_ns",
    "late_progress_ns",
    "late_sender_ns",
    "nobody_in_mpi_ns",
];

/// What cannot be of the figures in a document.
#[must_use]
pub fn impossible_figures(document: &Value) -> Option<String> {
    impossible_distribution("", document)
        .or_else(|| impossible_sums(document))
        .or_else(|| impossible_causes(document))
        .or_else(|| {
            let operations = list(&document["operations"]).iter();
            operations.filter_map(impossible_trees).next()
        })
}

/// What of a document is other than it has to be.
#[must_use]
pub fn differs_from(known: &Known, document: &Value) -> Option<String> {
    let trace = &document["trace"];
    let ends = &trace["message_ends"];
    // Where there is no end of a message, there is nothing to be said of them.
    if known.n_messages == 0 && trace["messages"].is_null() {
        return None;
    }
    let expected = [
        ("complete", Value::from(true)),
        ("messages", known.n_messages.into()),
    ];
    let of_ends = [
        ("paired", known.n_messages),
        ("from_any", known.n_from_any),
        ("unpaired_sends", 0),
        ("unpaired_receives", 0),
        ("sends_elsewhere", 0),
        ("receives_elsewhere", 0),
    ];
    for (field, expected) in expected {
        if trace[field] != expected {
            return Some(format!("{field}: {}, not {expected}", trace[field]));
        }
    }
    for (field, expected) in of_ends {
        if ends[field] != expected {
            return Some(format!("{field}: {}, not {expected}: {ends}", ends[field]));
        }
    }
    let operations = || list(&document["operations"]).iter();
    let others: u64 = operations()
        .map(|of| number(&of["outside_trees"]["other_graphs"]))
        .sum();
    let graphs = operations().flat_map(|of| list(&of["trees"]));
    let in_graphs: u64 = graphs.map(|graph| number(&graph["instances"])).sum();
    if in_graphs + others != known.n_instances {
        return Some(format!(
            "{in_graphs} instances in graphs and {others} in others, not {}",
            known.n_instances
        ));
    }
    let mut edges: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for edge in operations().flat_map(|of| list(&of["edges"])) {
        let ends = (number(&edge["from"]) as u32, number(&edge["to"]) as u32);
        let sum = edges.entry(ends).or_default();
        sum.0 += number(&edge["messages"]);
        sum.1 += number(&edge["bytes"]);
    }
    let are_all_there = match others {
        0 => edges == known.edges,
        _ => edges.iter().all(|(ends, found)| {
            let all = known.edges.get(ends);
            all.is_some_and(|all| found.0 <= all.0 && found.1 <= all.1)
        }),
    };
    (!are_all_there).then(|| format!("edges {edges:?}, not {:?}", known.edges))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A count; 0 where there is none.
fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Distributions, wherever they are, whose parts are not in order.
fn impossible_distribution(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Array(all) => {
            let mut found = all.iter();
            found.find_map(|value| impossible_distribution(name, value))
        }
        Value::Object(fields) => {
            let of = |field: &str| fields.get(field).and_then(Value::as_i64);
            let in_order = ["min", "p01", "median", "p99", "max"].map(of);
            if let [Some(least), .., Some(most)] = in_order {
                let in_order: Vec<i64> = in_order.into_iter().flatten().collect();
                let mean = of("mean").unwrap_or(least);
                let is_possible = in_order.is_sorted()
                    && (least..=most).contains(&mean)
                    && of("n").is_none_or(|n| n > 0)
                    && of("sd").is_none_or(|sd| sd >= 0)
                    && (least >= 0 || !LENGTHS.contains(&name));
                if !is_possible {
                    return Some(format!("{name}: {value}"));
                }
            }
            let mut fields = fields.iter();
            fields.find_map(|(name, value)| impossible_distribution(name, value))
        }
        _ => None,
    }
}

/// Ends of messages that are more or less than there are.
fn impossible_sums(document: &Value) -> Option<String> {
    let trace = &document["trace"];
    let ends = &trace["message_ends"];
    let (Some(all), false) = (trace["messages"].as_u64(), ends.is_null()) else {
        return None;
    };
    let kinds = [
        "paired",
        "unpaired_sends",
        "sends_to_other_groups",
        "sends_elsewhere",
    ];
    let sum: u64 = kinds.iter().map(|kind| number(&ends[kind])).sum();
    let of_paired = number(&ends["from_any"]) + number(&ends["received_before_sent"]);
    let is_possible = sum == all && of_paired <= number(&ends["paired"]);
    (!is_possible).then(|| format!("of {all} messages {ends}"))
}

/// Causes whose costs are below 0, more than all waits, or do not add up to them.
fn impossible_causes(document: &Value) -> Option<String> {
    let waits = list(&document["ranks"]).iter();
    let waits_ns: i64 = waits.filter_map(|rank| rank["wait_ns"].as_i64()).sum();
    let mut costs_ns = 0_i64;
    for cause in list(&document["causes"]) {
        let of = |field: &str| cause[field].as_i64();
        let parts = ["cost_ns", "direct_ns", "propagated_ns"].map(of);
        let [Some(cost_ns), Some(direct_ns), Some(propagated_ns)] = parts else {
            return Some(format!("{cause}"));
        };
        let are_costs = direct_ns >= 0
            && propagated_ns >= 0
            && direct_ns.checked_add(propagated_ns) == Some(cost_ns)
            && of("run_shorter_ns").is_none_or(|ns| ns >= 0);
        let is_of_waiting = cause["of"] == "waiting";
        if !are_costs || is_of_waiting && cost_ns > waits_ns {
            return Some(format!("of {waits_ns} ns of waits: {cause}"));
        }
        if is_of_waiting {
            costs_ns = costs_ns.saturating_add(cost_ns);
        }
    }
    (costs_ns != waits_ns).then(|| format!("causes of {costs_ns} ns of {waits_ns} ns of waits"))
}

/// Graphs of an operation whose instances and messages do not add up, or whose shares are none.
fn impossible_trees(operation: &Value) -> Option<String> {
    let graphs = list(&operation["trees"]);
    if operation["trees"].is_null() {
        return None;
    }
    let outside = &operation["outside_trees"];
    // An instance on a spanning tree of our own is also in the graph of its messages.
    let instances_of = |are_own: bool| -> u64 {
        let graphs = graphs.iter().filter(|of| of["own"].is_null() != are_own);
        graphs.map(|graph| number(&graph["instances"])).sum()
    };
    let (in_graphs, on_own) = (instances_of(false), instances_of(true));
    let outside = number(&outside["other_graphs"]) + number(&outside["opaque"]);
    let of_graphs = |field: &str| -> u64 {
        let edges = graphs.iter().flat_map(|graph| list(&graph["edges"]));
        edges.map(|edge| number(&edge[field])).sum()
    };
    let of_all = |field: &str| -> u64 {
        let edges = list(&operation["edges"]).iter();
        edges.map(|edge| number(&edge[field])).sum()
    };
    let name = &operation["operation"];
    if (in_graphs + outside).max(on_own) > number(&operation["instances"]) {
        return Some(format!(
            "{name}: {in_graphs} and {outside} instances, {on_own} on trees of our own"
        ));
    }
    for field in ["messages", "bytes"] {
        if of_graphs(field) != of_all(field) {
            return Some(format!("{name}: {field} of graphs and of edges"));
        }
    }
    let shares = graphs.iter().filter_map(|graph| graph.get("hotspot"));
    let mut shares = shares.filter(|hotspot| !hotspot.is_null());
    shares
        .find(|hotspot| !hotspot["share"].is_f64())
        .map(|hotspot| format!("{name}: {hotspot}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_other_than_those_that_are_known_are_found() {
        let known = Known {
            n_messages: 5,
            n_from_any: 1,
            n_instances: 3,
            edges: BTreeMap::from([((0, 1), (5, 40))]),
        };
        let document = |paired: u64, instances: u64, to: u64, bytes: u64| {
            json!({
                "trace": { "complete": true, "messages": 5, "message_ends": {
                    "paired": paired, "from_any": 1, "unpaired_sends": 0, "unpaired_receives": 0,
                    "sends_elsewhere": 0, "receives_elsewhere": 0
                } },
                "operations": [{
                    "edges": [{ "from": 0, "to": to, "messages": 5, "bytes": bytes }],
                    "outside_trees": { "other_graphs": 0 },
                    "trees": [{ "instances": instances }]
                }]
            })
        };
        assert_eq!(differs_from(&known, &document(5, 3, 1, 40)), None);
        for (paired, instances, to, bytes) in
            [(4, 3, 1, 40), (5, 2, 1, 40), (5, 3, 0, 40), (5, 3, 1, 39)]
        {
            assert!(differs_from(&known, &document(paired, instances, to, bytes)).is_some());
        }
    }

    #[test]
    fn figures_that_cannot_be_are_found() {
        let of = |min: i64, median: i64, mean: i64| {
            json!({ "operations": [{ "wait_ns": {
                "n": 3, "total": 9, "min": min, "p01": min, "median": median, "mean": mean,
                "sd": 1, "p99": 5, "max": 5
            } }] })
        };
        assert_eq!(impossible_figures(&of(1, 3, 3)), None);
        for (min, median, mean) in [(1, 6, 3), (1, 3, 7), (4, 3, 4), (-1, 3, 3)] {
            assert!(impossible_figures(&of(min, median, mean)).is_some());
        }
        let sums = |paired: u64, elsewhere: u64| {
            json!({ "trace": { "messages": 5, "message_ends": {
                "paired": paired, "from_any": 2, "unpaired_sends": 1, "sends_to_other_groups": 0,
                "sends_elsewhere": elsewhere, "received_before_sent": 0
            } } })
        };
        assert_eq!(impossible_figures(&sums(3, 1)), None);
        assert!(impossible_figures(&sums(3, 2)).is_some());
        assert!(impossible_figures(&sums(1, 3)).is_some());
        let causes = |direct_ns: i64, propagated_ns: i64, of: &str| {
            json!({ "ranks": [{ "wait_ns": 40 }, { "wait_ns": null }, { "wait_ns": 2 }],
                "causes": [
                    { "of": "waiting", "cost_ns": 30, "direct_ns": 30, "propagated_ns": 0 },
                    { "of": of, "cost_ns": 12, "direct_ns": direct_ns,
                      "propagated_ns": propagated_ns, "run_shorter_ns": null }
                ] })
        };
        assert_eq!(impossible_figures(&causes(5, 7, "waiting")), None);
        assert!(impossible_figures(&causes(13, -1, "waiting")).is_some());
        assert!(impossible_figures(&causes(5, 6, "waiting")).is_some());
        assert!(impossible_figures(&causes(5, 7, "operation_time")).is_some());
        let graphs = |n: u64, on_own: u64, messages: u64| {
            json!({ "operations": [{ "operation": "MPI_Bcast", "instances": 4,
                "edges": [{ "messages": 8, "bytes": 0 }],
                "outside_trees": { "other_graphs": 1, "opaque": 1 },
                "trees": [
                    { "instances": on_own, "edges": [], "own": { "name": "tree" } },
                    { "instances": n, "edges": [{ "messages": messages, "bytes": 0 }] }
                ]
            }] })
        };
        assert_eq!(impossible_figures(&graphs(2, 4, 8)), None);
        assert!(impossible_figures(&graphs(3, 0, 8)).is_some());
        assert!(impossible_figures(&graphs(2, 5, 8)).is_some());
        assert!(impossible_figures(&graphs(2, 4, 7)).is_some());
    }
}
