//! What every document promises: figures that add up, shares that are shares, no time below zero.
//!
//! Of any trace: generated, recorded, damaged, restricted. What needs a whole trace is asked of whole
//! ones only.
#![allow(unreachable_pub, reason = "tests of other packages use it, too")]

use serde_json::Value;

/// Everything in a document that contradicts what it promises, as sentences.
#[must_use]
pub fn broken(document: &Value) -> Vec<String> {
    let mut found = Broken(Vec::new());
    found.distributions("", document);
    found.totals(document);
    found.ranks(document);
    for (number, operation) in list(&document["operations"]).iter().enumerate() {
        let name = format!("operations[{number}] {}", operation["operation"]);
        found.operation(&name, document, operation);
        let is_whole = document["trace"]["complete"] == true;
        found.inside(&name, is_whole, operation);
    }
    for (number, verdict) in list(&document["imbalance"]).iter().enumerate() {
        found.verdict(&format!("imbalance[{number}]"), verdict);
    }
    found.rest(document);
    found.0
}

struct Broken(Vec<String>);

/// The entries of a list; none of what is null.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A number; `null` is none.
fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// The sum of a field over entries.
fn sum(entries: &[Value], field: &str) -> i64 {
    entries.iter().map(|entry| number(&entry[field])).sum()
}

fn numbers(value: &Value) -> i64 {
    list(value).iter().map(number).sum()
}

impl Broken {
    fn expect(&mut self, place: &str, what: &str, holds: bool, figures: &[i64]) {
        if !holds {
            self.0
                .push(format!("{place}: {what}, not with {figures:?}"));
        }
    }

    fn equal(&mut self, place: &str, what: &str, one: i64, other: i64) {
        self.expect(place, what, one == other, &[one, other]);
    }

    fn at_most(&mut self, place: &str, what: &str, one: i64, other: i64) {
        self.expect(place, what, one <= other, &[one, other]);
    }

    fn is_share(&mut self, place: &str, what: &str, value: &Value) {
        if let Some(share) = value.as_f64().filter(|share| !(0.0..=1.0).contains(share)) {
            self.0.push(format!("{place}: {what} is {share}"));
        }
    }

    /// The figures of all distributions, wherever they stand.
    fn distributions(&mut self, place: &str, value: &Value) {
        if value.get("p01").is_some() && value.get("mean").is_some() {
            let figure = |name: &str| number(&value[name]);
            let (n, total, mean) = (figure("n"), figure("total"), figure("mean"));
            let in_order = ["min", "p01", "median", "p99", "max"].map(figure);
            self.expect(place, "n > 0", n > 0, &[n]);
            let ascends = in_order.windows(2).all(|pair| pair[0] <= pair[1]);
            self.expect(place, "quantiles ascend", ascends, &in_order);
            let is_mean = (i128::from(mean) * i128::from(n) - i128::from(total)).abs();
            let is_mean = is_mean <= i128::from(n) / 2 + 1;
            self.expect(place, "mean x n is total", is_mean, &[mean, n, total]);
            let is_inside = in_order[0] <= mean && mean <= in_order[4];
            self.expect(place, "the mean is between", is_inside, &[mean]);
            let has_deviation = value["sd"].is_null() == (n == 1);
            self.expect(place, "a deviation of several", has_deviation, &[n]);
            self.at_most(place, "0 <= sd", 0, figure("sd"));
            return;
        }
        match value {
            Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    self.distributions(&format!("{place}[{at}]"), value);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.distributions(&format!("{place}.{name}"), value);
                }
            }
            _ => {}
        }
    }

    fn totals(&mut self, document: &Value) {
        let operations = list(&document["operations"]);
        for (name, total) in document["totals"].as_object().into_iter().flatten() {
            let own = operations.iter().filter(|of| of["operation"] == **name);
            for field in ["calls", "instances"] {
                let sum = own.clone().map(|of| number(&of[field])).sum();
                self.equal(name, field, number(&total[field]), sum);
            }
            let time = own.map(|of| number(&of["call_time_ns"]["total"])).sum();
            self.equal(name, "call_time_ns", number(&total["call_time_ns"]), time);
        }
    }

    fn ranks(&mut self, document: &Value) {
        let ranks = list(&document["ranks"]);
        let operations = list(&document["operations"]);
        for rank in ranks {
            let place = format!("rank {}", rank["rank"]);
            for field in ["calls_by_operation", "calls_by_class"] {
                let counts = rank[field].as_object().into_iter().flatten();
                let counts = counts.map(|(_, count)| number(count)).sum();
                self.equal(&place, field, counts, number(&rank["calls"]));
            }
            self.at_most(&place, "0 <= wait", 0, number(&rank["wait_ns"]));
            let time = number(&rank["call_time_ns"]);
            self.at_most(&place, "wait <= time", number(&rank["wait_ns"]), time);
        }
        let all = "ranks, all together";
        let of_cut = number(&document["trace"]["window"]["calls_of_cut"]);
        let (calls, counted) = (sum(ranks, "calls"), sum(operations, "calls"));
        let is_all = calls >= counted && calls <= counted + of_cut;
        self.expect(
            all,
            "calls of operations",
            is_all,
            &[calls, counted, of_cut],
        );
        let total = |field: &str| -> i64 {
            let totals = operations.iter().map(|of| number(&of[field]["total"]));
            totals.sum()
        };
        self.equal(all, "wait_ns", sum(ranks, "wait_ns"), total("wait_ns"));
        // A call that was begun and never completed has taken time, and is in no distribution.
        let (time, of_operations) = (sum(ranks, "call_time_ns"), total("call_time_ns"));
        match sum(operations, "incomplete") {
            0 => self.equal(all, "call_time_ns", time, of_operations),
            _ => self.at_most(all, "call_time_ns", of_operations, time),
        }
        let last = operations.iter().map(|of| numbers(&of["last_arrivals"]));
        self.equal(all, "last", sum(ranks, "last"), last.sum());
    }

    fn operation(&mut self, name: &str, document: &Value, operation: &Value) {
        let field = |field: &str| number(&operation[field]);
        let of = |dist: &str, figure: &str| number(&operation[dist][figure]);
        let total = |dist: &str| of(dist, "total");
        let instances = field("instances");
        for (counts, unresolved, likely) in [
            ("last_arrivals", "last_unresolved", "last_likely"),
            ("first_departures", "first_unresolved", "first_likely"),
        ] {
            let resolved = numbers(&operation[counts]);
            self.equal(name, counts, resolved + field(unresolved), instances);
            self.at_most(name, likely, field(likely), field(unresolved));
        }
        for dist in [
            "duration_ns",
            "call_time_ns",
            "wait_ns",
            "arrival_lag_ns",
            "departure_wait_ns",
            "initiation_ns",
            "between_ns",
            "completion_ns",
            "exposed_ns",
            "overlap_bound_ns",
        ] {
            self.at_most(name, &format!("0 <= {dist}"), 0, of(dist, "min"));
        }
        self.equal(name, "one duration each", of("duration_ns", "n"), instances);
        self.at_most(name, "calls", of("call_time_ns", "n"), field("calls"));
        self.at_most(name, "lags", of("arrival_lag_ns", "n"), field("calls"));
        self.at_most(name, "waits", of("wait_ns", "n"), of("arrival_lag_ns", "n"));
        // Who completes a nonblocking one late lets others wait that it initiated in time.
        if of("completion_ns", "n") == 0 {
            let (wait, lag) = (total("wait_ns"), total("arrival_lag_ns"));
            self.at_most(name, "wait <= lag", wait, lag);
        }
        self.at_most(
            name,
            "wait <= time",
            total("wait_ns"),
            total("call_time_ns"),
        );
        self.at_most(
            name,
            "bound <= between",
            total("overlap_bound_ns"),
            total("between_ns"),
        );
        let both = total("initiation_ns") + total("completion_ns");
        self.at_most(name, "exposed", both, total("exposed_ns"));

        // Lag + core + departure wait = time, of calls of instances of all processes.
        let size = number(&document["communicators"][field("communicator") as usize]["size"]);
        let is_whole = field("incomplete") == 0
            && instances > 0
            && of("core_ns", "n") == instances
            && of("arrival_lag_ns", "n") == instances * size
            && of("call_time_ns", "n") == instances * size;
        if is_whole {
            let parts =
                total("arrival_lag_ns") + size * total("core_ns") + total("departure_wait_ns");
            self.equal(name, "lag + core + departure", parts, total("call_time_ns"));
        }
        for (state, time) in operation["wait_states"].as_object().into_iter().flatten() {
            let most = if state.ends_with("Completion") {
                total("departure_wait_ns")
            } else {
                total("wait_ns")
            };
            self.at_most(name, state, number(time), most);
        }

        if !operation["duration_histogram"].is_null() {
            let counted = sum(list(&operation["duration_histogram"]), "n");
            self.equal(name, "duration_histogram", counted, instances);
        }
        for order in ["arrival_order", "departure_order"] {
            for row in list(&operation[order]) {
                self.at_most(name, order, numbers(row), instances);
            }
        }
        if !operation["sections"].is_null() {
            let sections = list(&operation["sections"]);
            self.equal(name, "sections", sum(sections, "instances"), instances);
            let calls = of("arrival_lag_ns", "n");
            self.equal(name, "calls of sections", sum(sections, "calls"), calls);
            let wait = sum(sections, "wait_ns");
            self.equal(name, "waits of sections", wait, total("wait_ns"));
            let time = sum(sections, "call_time_ns");
            self.at_most(name, "time of sections", time, total("call_time_ns"));
        }
        for outlier in list(&operation["outliers"]) {
            let of = |field: &str| number(&outlier[field]);
            let longest = number(&operation["duration_ns"]["max"]);
            self.at_most(name, "outlier", of("duration_ns"), longest);
            if !outlier["late_by_ns"].is_null() {
                self.at_most(name, "late together", of("excess_ns"), of("late_by_ns"));
                self.at_most(name, "spread", of("late_by_ns"), of("spread_ns"));
                self.at_most(name, "spread", of("spread_ns"), of("duration_ns"));
            }
            let is_told =
                list(&outlier["late_ranks"]).is_empty() == outlier["late_by_ns"].is_null();
            self.expect(name, "late ranks, and by how much", is_told, &[]);
        }
    }

    /// Graphs, edges and critical paths. Where records are damaged, or lost, a send may stand beside a
    /// receive that is another's.
    fn inside(&mut self, name: &str, is_whole: bool, operation: &Value) {
        if operation["trees"].is_null() {
            return;
        }
        let trees = list(&operation["trees"]);
        let outside = &operation["outside_trees"];
        let other_graphs = number(&outside["other_graphs"]);
        let seen = sum(trees, "instances") + other_graphs + number(&outside["opaque"]);
        self.at_most(
            name,
            "instances with a graph",
            seen,
            number(&operation["instances"]),
        );
        let has_edges =
            !operation["edges"].is_null() && trees.iter().all(|t| !t["edges"].is_null());
        if has_edges && other_graphs == 0 {
            for field in ["messages", "bytes"] {
                let of_trees = trees.iter().map(|tree| sum(list(&tree["edges"]), field));
                let of_edges = sum(list(&operation["edges"]), field);
                self.equal(name, field, of_trees.sum(), of_edges);
            }
        }
        for tree in trees {
            self.is_share(name, "the hotspot's share", &tree["hotspot"]["share"]);
            for edge in list(&tree["edges"]) {
                self.at_most(
                    name,
                    "late receiver",
                    0,
                    number(&edge["late_receiver_ns"]["min"]),
                );
                if is_whole && edge["one_way_class"] == "one_clock" {
                    let least = number(&edge["transfer_ns"]["min"]);
                    self.at_most(name, "transfer on one clock", 0, least);
                }
            }
            let path = &tree["critical_path"];
            self.at_most(
                name,
                "critical paths",
                number(&path["instances"]),
                number(&tree["n"]),
            );
            let parts = ["begins", "hops", "stays"];
            if parts.iter().all(|part| !path[part].is_null()) {
                let begun = sum(list(&path["begins"]), "instances");
                self.equal(
                    name,
                    "begins of critical paths",
                    begun,
                    number(&path["instances"]),
                );
                let late = sum(list(&path["begins"]), "late_ns");
                let under_way = ["hops", "stays"].map(|part| sum(list(&path[part]), "total_ns"));
                let all = late + under_way.iter().sum::<i64>();
                self.equal(name, "the critical path", all, number(&path["duration_ns"]));
            }
        }
    }

    fn verdict(&mut self, name: &str, verdict: &Value) {
        let field = |field: &str| number(&verdict[field]);
        self.is_share(name, "share", &verdict["share"]);
        self.at_most(name, "resolved", field("resolved"), field("instances"));
        let all = field("all_waits_caused_ns");
        self.at_most(name, "wait_caused_ns", field("wait_caused_ns"), all);
        let costliest = number(&verdict["dearest"]["wait_caused_ns"]);
        self.at_most(name, "dearest", costliest, all);
        self.at_most(name, "0 <= excess", 0, field("excess_ns"));
        if !verdict["hosts"].is_null() {
            let hosts = list(&verdict["hosts"]);
            self.equal(name, "last on hosts", sum(hosts, "last"), field("resolved"));
            let caused = sum(hosts, "wait_caused_ns");
            self.equal(name, "waits by hosts", caused, all);
        }
        if !verdict["sections"].is_null() {
            let sections = list(&verdict["sections"]);
            for counts in ["instances", "resolved"] {
                self.equal(name, counts, sum(sections, counts), field(counts));
            }
            let caused = sum(sections, "all_waits_caused_ns");
            self.equal(name, "waits by sections", caused, all);
        }
        for phase in list(&verdict["change"]["phases"]) {
            self.is_share(name, "share of a phase", &phase["share"]);
        }
    }

    fn rest(&mut self, document: &Value) {
        let is_whole = document["trace"]["complete"] == true;
        let ranks = list(&document["ranks"]).iter();
        for (rank, line) in ranks.zip(list(&document["timeline"]["ranks"])) {
            let place = format!("timeline of rank {}", rank["rank"]);
            self.at_most(
                &place,
                "calls",
                numbers(&line["calls"]),
                number(&rank["calls"]),
            );
            let wait = numbers(&line["wait_ns"]);
            if is_whole {
                self.equal(&place, "wait", wait, number(&rank["wait_ns"]));
            }
            self.at_most(&place, "wait", wait, numbers(&line["call_time_ns"]));
        }
        let mut seen = Vec::new();
        for class in list(&document["classes"]) {
            let ranks = list(&class["ranks"]);
            let is_one = ranks.contains(&class["representative"]);
            self.expect("classes", "one of it stands for it", is_one, &[]);
            seen.extend(ranks.iter().map(number));
        }
        seen.sort_unstable();
        let n = seen.len();
        seen.dedup();
        self.equal("classes", "each rank once", n as i64, seen.len() as i64);
        for disturbance in list(&document["disturbances"]) {
            let twice = 2 * number(&disturbance["excess_ns"]);
            let period = number(&disturbance["period_ns"]);
            // Who is late at every second step may be late by more than the rest of both steps.
            if disturbance["in_step"].is_null() {
                self.at_most("disturbances", "over before the next", twice, period);
            } else {
                let every = number(&disturbance["in_step"]["every"]);
                let calls = disturbance["in_step"]["calls_per_iteration"].as_i64();
                let calls = every.saturating_mul(calls.unwrap_or(1));
                self.at_most("disturbances", "not at each call", 2, calls);
            }
            let all_but_one = (number(&disturbance["n"]) - 1) * period;
            let duration = number(&document["trace"]["duration_ns"]);
            self.at_most("disturbances", "as many as fit", all_but_one, duration);
        }
        for phase in list(&document["phases"]) {
            let (wait, time) = (number(&phase["wait_ns"]), number(&phase["call_time_ns"]));
            self.at_most("phases", "wait <= time", wait, time);
        }
        let ends = &document["trace"]["message_ends"];
        if !ends.is_null() {
            let of = |field: &str| number(&ends[field]);
            self.at_most("message_ends", "from any", of("from_any"), of("paired"));
            let sent = [
                "paired",
                "unpaired_sends",
                "sends_to_other_groups",
                "sends_elsewhere",
            ];
            let sent = sent.iter().map(|field| of(field)).sum();
            let messages = number(&document["trace"]["messages"]);
            self.equal("message_ends", "sends", sent, messages);
        }
        self.is_share(
            "details",
            "share_of_time",
            &document["details"]["share_of_time"],
        );
    }
}
