//! What is measured of a run: the figures of its row in the table, and what is wrong.

use std::collections::BTreeMap;

use collbench_tests::Analysis;
use serde_json::Value;

/// Figures of one recorded run.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Calls of all ranks.
    pub calls: u64,
    /// Messages of the library with both ends.
    pub messages: u64,
    /// Instances of collectives.
    pub instances: u64,
    /// Those that show who sent to whom.
    pub with_graph: u64,
    /// Of these, those whose graph has no name.
    pub without_name: u64,
    /// Those in which the library has said by which algorithm they went.
    pub said: u64,
    /// Calls that are told with a name of the library more often than it said that, and instances whose
    /// name, or whose graph, is another algorithm than the library said.
    pub contradictions: u64,
    /// Ends of messages, inside complete instances, that meet none.
    pub unpaired: u64,
    /// Ends of messages that are in no complete instance.
    pub elsewhere: u64,
    /// Instances that have a critical path.
    pub with_path: u64,
    /// Of these, those in which all wait for all: there it begins at the last to come, as a rule.
    pub all_for_all: u64,
    /// Of these, those that begin elsewhere, by why.
    pub begin_elsewhere: BTreeMap<&'static str, u64>,
    /// How many more of these there must be than are reported, by how often each rank arrived last.
    pub begin_untold: u64,
    /// Instances that go on in messages and have no critical path, by why.
    pub without_path: BTreeMap<String, u64>,
}

/// What the library calls an algorithm, what collbench does, and in how many instances.
pub(crate) type Names = BTreeMap<(String, String, String), u64>;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl Figures {
    /// Takes them out of an analysis, and adds what there is of names to `names`.
    pub(crate) fn of(analysis: &Analysis, names: &mut Names) -> Self {
        let trace = &analysis.json["trace"];
        let ends = &trace["message_ends"];
        let mut figures = Self {
            calls: number(&trace["calls"]),
            messages: number(&ends["paired"]),
            unpaired: number(&ends["unpaired_sends"]) + number(&ends["unpaired_receives"]),
            elsewhere: number(&ends["sends_elsewhere"]) + number(&ends["receives_elsewhere"]),
            ..Self::default()
        };
        let communicators: BTreeMap<String, &Value> = analysis
            .array("/communicators")
            .iter()
            .map(|communicator| (communicator["id"].to_string(), communicator))
            .collect();
        // By operation and the library's name, in how many calls it is told.
        let mut told: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for operation in analysis.array("/operations") {
            let instances = number(&operation["instances"]);
            figures.instances += instances;
            if let Some(name) = operation["algorithm"].as_str() {
                figures.with_graph += instances;
                if is_unnamed(name) {
                    figures.without_name += instances;
                }
            }
            let title = operation["operation"].as_str().unwrap();
            let communicator = communicators[&operation["communicator"].to_string()];
            figures.contradictions += number(&operation["contradicted"]);
            if let Some(library) = operation["library_name"].as_str() {
                let algorithm = operation["algorithm"].as_str().unwrap_or("-");
                let key = (title.to_owned(), library.to_owned(), algorithm.to_owned());
                *names.entry(key).or_default() += instances;
                figures.said += instances;
                let is_intra = communicator["kind"] == "intra";
                // Where ranks said different things, one is not that of all calls.
                if is_intra && !library.contains(" | ") {
                    for part in library.split(" + ") {
                        *told.entry((title, part)).or_default() +=
                            instances * number(&communicator["size"]);
                    }
                }
                let has_graph = operation["algorithm"].is_string();
                if is_intra && has_graph && !agree(library, algorithm) {
                    figures.contradictions += instances;
                }
            }
            figures.add_paths(operation, array(&communicator["ranks"]));
        }
        let mut said: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for entry in array(&analysis.json["algorithms"]) {
            let key = (
                entry["operation"].as_str().unwrap(),
                entry["name"].as_str().unwrap(),
            );
            *said.entry(key).or_default() += number(&entry["calls"]);
        }
        for (key, &told) in &told {
            let said = said.get(key).copied().unwrap_or(0);
            figures.contradictions += told.saturating_sub(said);
        }
        figures
    }

    /// Adds what is told of the critical paths of an operation on a communicator of these ranks.
    fn add_paths(&mut self, operation: &Value, ranks: &[Value]) {
        let mut begins: BTreeMap<u64, u64> = BTreeMap::new();
        let mut elsewhere = 0;
        let mut is_all_for_all = false;
        for tree in array(&operation["trees"]) {
            for unknown in array(&tree["critical_path_unknown"]) {
                let reason = unknown["reason"].as_str().unwrap().to_owned();
                *self.without_path.entry(reason).or_default() += number(&unknown["instances"]);
            }
            let path = &tree["critical_path"];
            self.with_path += number(&path["instances"]);
            let told = &path["begins_elsewhere"];
            if told.is_null() {
                continue;
            }
            is_all_for_all = true;
            self.all_for_all += number(&told["of_instances"]);
            for why in ["unresolved", "on_message", "in_process"] {
                *self.begin_elsewhere.entry(why).or_default() += number(&told[why]);
                elsewhere += number(&told[why]);
            }
            for begin in array(&path["begins"]) {
                *begins.entry(number(&begin["rank"])).or_default() += number(&begin["instances"]);
            }
        }
        if !is_all_for_all {
            return;
        }
        // More paths begin at this rank than it arrived last: in the others it is not known who arrived
        // last, or the path begins elsewhere.
        let last = array(&operation["last_arrivals"]);
        let came_last = |rank: u64| -> u64 {
            let at = ranks.iter().position(|member| number(member) == rank);
            at.and_then(|at| last.get(at)).map_or(0, number)
        };
        let more = begins
            .iter()
            .map(|(&rank, &n)| n.saturating_sub(came_last(rank)));
        let told = elsewhere + number(&operation["last_unresolved"]);
        self.begin_untold += more.sum::<u64>().saturating_sub(told);
    }
}

/// Whether what collbench calls an algorithm is what the library's name means. Of those made of others
/// one part has to, at least.
fn agree(library: &str, told: &str) -> bool {
    let mut parts = library.split(['+', '|']).map(str::trim);
    parts.any(|part| {
        let how = part.split_once("_intra_").map_or(part, |(_, how)| how);
        let words = match how {
            "bintree" | "binary" | "in_order_binary" => "binary",
            "binomial" | "tree" => "binomial",
            "bruck" => return told.contains("Bruck") || told.contains("dissemination"),
            "chain" => "chain",
            "doublering" => "double ring",
            "knomial" => "nomial",
            "neighborexchange" => "neighbor exchange",
            "recursivedoubling" => "recursive doubling",
            "recursivehalving" | "basic_recursivehalving" => "recursive halving",
            "redscat_allgather" | "redscat_gather" => "Rabenseifner",
            "ring" | "ring_segmented" => "ring",
            "scatter_allgather" | "scatter_allgather_ring" => "scatter",
            "split_bintree" => "split binary",
            "two_procs" => "two",
            // What Open MPI calls linear there goes from each rank to the next.
            "linear" if part.contains("scan_") => "from rank to rank",
            "basic_linear" | "linear" | "linear_nb" | "linear_sync" => "linear",
            // As it is written: butterfly, pairwise, pipeline, sparbit; and what is made of others.
            _ => how,
        };
        told.contains(words)
    })
}

/// Whether an algorithm is known by the form of its graph alone.
fn is_unnamed(name: &str) -> bool {
    ["unrecognized", "no tree", "of the processes"]
        .iter()
        .any(|form| name.contains(form))
}
