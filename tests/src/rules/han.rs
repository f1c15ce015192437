//! Rule files of Open MPI's `coll_han` that are made up, run on two hosts, and compared with what
//! `collbench-tune` said of each call.
//!
//! What ran is read from names of algorithms. `coll_han` has no names of its own, so `coll_tuned` is given
//! one algorithm for communicators of the program, of 4 to 6 processes, and another one for those of 2 and 3
//! that `coll_han` makes. The first one shows a call that was left to `coll_tuned`, the second one a call of
//! `coll_han`, and which components it used within hosts and between them. What this does not tell apart:
//! `intra` and `simple` of reduce, and of allgather, `intra` and a `simple` whose steps are all done by
//! `coll_tuned`, and the absent components from `coll_tuned`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use collbench_stats::random::Random;
use serde_json::Value;

use super::agreement::RuledLibrary;
use crate::cluster::Cluster;
use crate::machine::{Workspace, command};
use crate::run::run_in;

/// Payloads, far apart; each call is made three times, of which the first one may make communicators.
const PAYLOADS: [u64; 5] = [0, 8, 64, 300, 1500];

/// An operation of `coll_han`.
struct Made {
    name: &'static str,
    id: u64,
    /// Algorithms of `coll_han`.
    algorithms: &'static [&'static str],
    /// Numbers and names of two algorithms of `coll_tuned`: for 4 to 6 processes, and for fewer.
    tuned: [(u64, &'static str); 2],
    /// The name by which the first of these can be chosen.
    chosen: &'static str,
}

/// The name in the standard.
fn operation(made: &Made) -> String {
    format!("MPI_{}{}", made.name[..1].to_uppercase(), &made.name[1..])
}

const MADE: [Made; 7] = [
    Made {
        name: "allgather",
        id: 0,
        algorithms: &["intra", "simple"],
        tuned: [(4, "ring"), (2, "bruck")],
        chosen: "ring",
    },
    Made {
        name: "allreduce",
        id: 2,
        algorithms: &["intra", "simple", "reproducible"],
        tuned: [(4, "ring"), (3, "recursivedoubling")],
        chosen: "ring",
    },
    Made {
        name: "barrier",
        id: 6,
        algorithms: &["simple"],
        tuned: [(2, "doublering"), (3, "recursivedoubling")],
        chosen: "double_ring",
    },
    Made {
        name: "bcast",
        id: 7,
        algorithms: &["intra", "simple"],
        tuned: [(3, "pipeline"), (6, "binomial")],
        chosen: "pipeline",
    },
    Made {
        name: "gather",
        id: 9,
        algorithms: &["intra", "simple"],
        tuned: [(2, "binomial"), (3, "linear_sync")],
        chosen: "binomial",
    },
    Made {
        name: "reduce",
        id: 11,
        algorithms: &["intra", "simple", "reproducible"],
        tuned: [(3, "pipeline"), (5, "binomial")],
        chosen: "pipeline",
    },
    Made {
        name: "scatter",
        id: 15,
        algorithms: &["intra", "simple"],
        tuned: [(3, "linear_nb"), (2, "binomial")],
        chosen: "linear_nb",
    },
];

/// What was compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HanAgreed {
    /// Files.
    pub files: u64,
    /// Classes of calls by what decides: operation, processes and bytes.
    pub by: BTreeMap<String, u64>,
    /// Classes that depend on calls before them, as was said.
    pub depends: u64,
    /// Classes of which something else was said than what happened.
    pub differences: Vec<String>,
}

impl HanAgreed {
    /// Makes files up, the second of two with faults, runs and compares them; one at which `MPI_Init`
    /// crashes; and one that `collbench-tune` writes.
    ///
    /// # Panics
    ///
    /// If a command cannot be run.
    #[must_use]
    pub fn of(cluster: &Cluster, library: &RuledLibrary, seed: u64, files: u64) -> Self {
        let mut agreed = Self::default();
        for number in 0..files {
            let random = &mut Random::of(&[seed, number]);
            let mut words = made_up(random);
            if number % 2 == 1 {
                for _ in 0..random.uniform(1, 2) {
                    fault(random, &mut words);
                }
            }
            let text: Vec<String> = words.chunks(5).map(|line| line.join(" ")).collect();
            let text = text.join("\n") + "\n";
            let parameters = parameters(random);
            agreed.files += 1;
            let name = format!("seed {seed} file {number} {parameters:?}");
            agreed.compare(cluster, library, &name, &text, &parameters);
        }
        let crashing = "1 alltoall 1 2 1 1 1 0 han @simple\n";
        let used = [("coll_han_use_dynamic_file_rules", "1")];
        agreed.compare(cluster, library, "crash", crashing, &used);
        agreed.written(cluster, library);
        agreed
    }

    /// Has a file written that hands each operation over to `coll_tuned` for some lengths and leaves it to
    /// `coll_han` for others, and runs it.
    fn written(&mut self, cluster: &Cluster, library: &RuledLibrary) {
        let chosen = |made: &Made, nth: usize| (nth % 2 == 1).then_some(made.chosen);
        let mut selection = Vec::new();
        for made in &MADE {
            let lengths: &[u64] = if made.name == "barrier" {
                &[0]
            } else {
                &PAYLOADS[1..]
            };
            for (nth, &bytes) in lengths.iter().enumerate() {
                // The other way round for the barrier, whose length is none.
                let algorithm = chosen(made, nth + usize::from(bytes == 0));
                selection.push(super::written::chosen(
                    &operation(made),
                    6,
                    bytes,
                    algorithm,
                ));
            }
        }
        let text = super::written::write("openmpi-han", "Open MPI 5.0.11", &selection);
        let used = [("coll_han_use_dynamic_file_rules", "1")];
        let Some(said) = self.compare(cluster, library, "written", &text, &used) else {
            self.differences.push("written: it does not run".to_owned());
            return;
        };
        let calls = most_of_each(&said);
        for choice in &selection {
            let is_of_choice = |call: &&&Value| {
                ["operation", "processes"]
                    .iter()
                    .all(|key| call[key] == choice[key])
                    && call["bytes_max"] == choice["bytes"]
            };
            let is_tuned = !choice["candidates"][0]["algorithm"].is_null();
            let found = calls.iter().find(is_of_choice);
            if found.is_none_or(|call| (call["algorithm"] == "coll_tuned") != is_tuned) {
                self.differences
                    .push(format!("written: {choice} became {found:?}"));
            }
        }
    }

    fn compare(
        &mut self,
        cluster: &Cluster,
        library: &RuledLibrary,
        name: &str,
        text: &str,
        parameters: &[(&str, &str)],
    ) -> Option<Value> {
        let workspace = Workspace::new();
        let file = workspace.join("rules");
        fs::write(&file, text).expect("a file can be written");
        if !record(cluster, library, workspace.path(), parameters) {
            let words = [
                file.to_str().expect("UTF-8"),
                "--library",
                "Open MPI 5.0.11",
            ];
            let said = tune(workspace.path(), &words);
            *self.by.entry("failure".to_owned()).or_default() += 1;
            let expected = "MPI_Init crashes with a segmentation fault";
            if !said["ignored"].to_string().contains(expected) {
                self.differences
                    .push(format!("{name}: the run failed: {said}"));
            }
            return None;
        }
        let trace = workspace.join("trace");
        let paths = [&file, &trace].map(|path| path.to_str().expect("UTF-8"));
        let said = tune(workspace.path(), &["--element", "1", paths[0], paths[1]]);
        for call in most_of_each(&said) {
            self.check(name, call);
        }
        Some(said)
    }

    fn check(&mut self, name: &str, call: &Value) {
        let by = call["decided_by"].as_str().unwrap_or_default();
        if !call["depends"].is_null() {
            self.depends += 1;
            return;
        }
        let Some((made, expected)) = expected(call) else {
            return;
        };
        *self.by.entry(by.to_owned()).or_default() += 1;
        let ran = call["ran"].as_str().unwrap_or_default();
        let words = ran.split([' ', '+', '|']);
        let of_operation = format!("{}_intra_", made.name);
        let names: BTreeSet<&str> = words
            .filter_map(|word| word.strip_prefix(&*of_operation))
            .collect();
        if names != expected {
            self.differences
                .push(format!("{name}: expected {expected:?}: {call}"));
        }
    }
}

/// Runs the program on both hosts; whether it ended well.
fn record(
    cluster: &Cluster,
    library: &RuledLibrary,
    folder: &Path,
    parameters: &[(&str, &str)],
) -> bool {
    let mut of_tuned = format!("{}\n", MADE.len());
    for made in &MADE {
        let [(many, _), (few, _)] = made.tuned;
        of_tuned += &format!("{} 2 1 1 0 {few} 0 0 4 1 0 {many} 0 0\n", made.id);
    }
    fs::write(folder.join("tuned"), of_tuned).expect("a file can be written");
    let path = |name: &str| folder.join(name).display().to_string();
    let mut line = vec![cluster.script().to_owned()];
    line.extend(["mpirun", "--map-by", "node:OVERSUBSCRIBE", "-n", "6"].map(str::to_owned));
    let mut set = |name: &str, value: &str| {
        line.extend(["--mca".to_owned(), name.to_owned(), value.to_owned()]);
    };
    set("coll_tuned_use_dynamic_rules", "1");
    set("coll_tuned_dynamic_rules_filename", &path("tuned"));
    set("coll_han_dynamic_rules_filename", &path("rules"));
    for (name, value) in parameters {
        set(name, value);
    }
    line.push(command("collbench-record").display().to_string());
    line.extend(["--layers", "calls,algorithms", "-o", "trace", "--"].map(str::to_owned));
    line.push(library.executable.display().to_string());
    for bytes in PAYLOADS {
        line.extend(vec![bytes.to_string(); 3]);
    }
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let variables = [
        cluster.variable(),
        ("CLUSTER_KEEP_ENV", "1"),
        ("LD_LIBRARY_PATH", &library.library),
        ("MPIRUN", library.launcher[0].to_str().expect("UTF-8")),
    ];
    run_in(folder, &variables, &line).status == 0
}

/// What `collbench-tune` says.
fn tune(folder: &Path, words: &[&str]) -> Value {
    let tune = command("collbench-tune").display().to_string();
    let line = [&[&*tune, "rules", "--format", "json"], words].concat();
    let finished = run_in(folder, &[], &line);
    assert!(!finished.stdout.is_empty(), "{finished}");
    collbench_schemas::read(&finished.stdout)
}

/// Of each class of calls those that most calls are of, which leaves out the calls that made communicators.
fn most_of_each(said: &Value) -> Vec<&Value> {
    let mut most: BTreeMap<_, &Value> = BTreeMap::new();
    for call in said["calls"].as_array().expect("calls") {
        let key = (
            call["operation"].as_str(),
            call["processes"].as_u64(),
            call["bytes_max"].as_u64(),
        );
        let entry = most.entry(key).or_insert(call);
        if entry["calls"].as_u64() < call["calls"].as_u64() {
            *entry = call;
        }
    }
    most.into_values().collect()
}

/// The names of algorithms of the operation itself that follow from what was said; `None` where it was
/// said that nothing is decided, and for operations that are not of `coll_han`.
fn expected(call: &Value) -> Option<(&'static Made, BTreeSet<&'static str>)> {
    let operation = call["operation"]
        .as_str()?
        .strip_prefix("MPI_")?
        .to_lowercase();
    let made = MADE.iter().find(|made| made.name == operation)?;
    let n_processes = call["processes"].as_u64()?;
    let by_priority = "coll_tuned has priority";
    let follows = match call["replaced_by"].as_str().or(call["algorithm"].as_str()) {
        Some(follows) => follows,
        None if call["why"].as_str()?.contains(by_priority)
            && (call["bytes_max"] != 0 || made.name == "barrier") =>
        {
            "coll_tuned"
        }
        None => return None,
    };
    let by = |component: &str, n: u64| -> BTreeSet<&'static str> {
        let [many, few] = made.tuned.map(|(_, name)| name);
        // `coll_basic` takes what has no name for more processes, and for an allreduce.
        let has_name = n <= 4 || matches!(made.name, "allgather" | "gather" | "scatter");
        match component {
            "coll_basic" if has_name && made.name != "allreduce" => ["basic_linear"].into(),
            "coll_basic" => BTreeSet::new(),
            _ => [if n >= 4 { many } else { few }].into(),
        }
    };
    if !follows.starts_with("coll_han ") {
        return Some((made, by(follows, n_processes)));
    }
    let hosts = call["processes_per_host"].as_array()?;
    let at = |level: &str| {
        let n = if level == "intra_node" {
            hosts[0].as_u64().unwrap_or(0)
        } else {
            hosts.len() as u64
        };
        let basic = format!("{level} {} coll_basic", made.name);
        let component = if follows.contains(&basic) {
            "coll_basic"
        } else {
            "coll_tuned"
        };
        by(component, n)
    };
    let is_simple = follows.starts_with("coll_han simple");
    let names = match made.name {
        "allreduce" if !is_simple => BTreeSet::new(),
        "allreduce" | "allgather" => at("inter_node"),
        "reduce" => by("coll_tuned", 2),
        _ if is_simple => &at("inter_node") | &at("intra_node"),
        _ => by("coll_tuned", 2),
    };
    Some((made, names))
}

fn one_of<'a, T>(random: &mut Random, all: &'a [T]) -> &'a T {
    &all[random.below(all.len())]
}

/// The words of a valid file.
fn made_up(random: &mut Random) -> Vec<String> {
    const LEVELS: [&str; 3] = ["intra_node", "inter_node", "global_communicator"];
    let made: Vec<&Made> = MADE.iter().filter(|_| random.below(3) > 0).collect();
    let made = if made.is_empty() {
        vec![&MADE[3]]
    } else {
        made
    };
    let mut words = vec![made.len().to_string()];
    for made in made {
        let levels: Vec<usize> = (0..3).filter(|_| random.below(3) > 0).collect();
        let names = [made.name.to_owned(), made.id.to_string()];
        words.push(one_of(random, &names).clone());
        words.push(levels.len().to_string());
        for level in levels {
            let names = [LEVELS[level].to_owned(), level.to_string()];
            words.push(one_of(random, &names).clone());
            let mut sizes: Vec<u64> = (2..=6).filter(|_| random.below(3) == 0).collect();
            sizes.insert(0, 1);
            words.push(sizes.len().to_string());
            for size in sizes {
                words.push(size.to_string());
                rules(random, made, level == 2, &mut words);
            }
        }
    }
    words
}

/// The number of message sizes, and their rules.
fn rules(random: &mut Random, made: &Made, is_global: bool, words: &mut Vec<String>) {
    if random.below(10) == 0 {
        words.push("0".to_owned());
        return;
    }
    let mut sizes = BTreeSet::from([random.uniform(0, 1)]);
    for _ in 0..2 {
        let size = one_of(random, &PAYLOADS) * one_of(random, &[1, 1, 2, 3]);
        sizes.insert((size + random.uniform(0, 2)).max(2) - 1);
    }
    words.push(sizes.len().to_string());
    for size in sizes {
        let components: &[&str] = if is_global {
            &[
                "han", "han", "han", "tuned", "basic", "basic", "libnbc", "self", "sm", "adapt",
            ]
        } else {
            &["basic", "basic", "tuned", "libnbc", "han"]
        };
        let component = *one_of(random, components);
        words.extend([size.to_string(), component.to_owned()]);
        if component == "han" && is_global && random.below(3) > 0 {
            let nth = random.below(made.algorithms.len());
            let name = made.algorithms[nth];
            let written = [
                name.to_owned(),
                name.to_owned(),
                (nth + 1).to_string(),
                "0".to_owned(),
            ];
            words.push(format!("@{}", one_of(random, &written)));
        }
        if random.below(10) == 0 {
            words.extend(["[1024,", "2048]"].map(str::to_owned));
        }
    }
}

/// Puts a fault in.
fn fault(random: &mut Random, words: &mut Vec<String>) {
    let nth = random.below(words.len());
    let places = |is_number: bool| -> Vec<usize> {
        let places = 0..words.len();
        let of_kind = places.filter(|&nth| words[nth].parse::<u64>().is_ok() == is_number);
        of_kind.collect()
    };
    let (numbers, names) = (places(true), places(false));
    let number = *one_of(random, &numbers);
    let value: u64 = words[number].parse().unwrap_or(0);
    let name = names
        .get(random.below(names.len().max(1)))
        .copied()
        .unwrap_or(nth);
    let put = |random: &mut Random, all: &[&str]| (*one_of(random, all)).to_owned();
    match random.below(9) {
        0 => words[number] += "K",
        1 => words[number] = (value + 1).to_string(),
        2 => words[number] = value.saturating_sub(1).to_string(),
        3 => words[name] = put(random, &["6", "hann", "tuned#", "ucc", "3", "alltoall"]),
        4 => drop(words.remove(nth)),
        5 => words.insert(nth, put(random, &["5", "x", "@intra", "# a remark\n"])),
        6 => words[number] = put(random, &["0x10", "010", "-1", "+2", "1.5", "1e3"]),
        7 => words.extend(["7", "1"].map(str::to_owned)),
        _ => words.insert(
            name + 1,
            put(random, &["@foo", "@ 1", "@9", "@2", "@simple"]),
        ),
    }
}

/// Parameters of a run, beside the files.
fn parameters(random: &mut Random) -> Vec<(&'static str, &'static str)> {
    let mut all = Vec::new();
    let mut perhaps = |of: usize, name: &'static str, values: &[&'static str]| {
        if random.below(of) == 0 {
            all.push((name, *one_of(random, values)));
        }
    };
    perhaps(8, "coll_han_use_bcast_algorithm", &["simple", "intra"]);
    perhaps(
        8,
        "coll_han_gather_dynamic_global_communicator_module",
        &["1", "3", "5", "6"],
    );
    perhaps(10, "coll_han_allreduce_dynamic_inter_node_module", &["1"]);
    perhaps(12, "coll_han_reproducible", &["1"]);
    perhaps(12, "coll_han_priority", &["10"]);
    if random.below(12) > 0 {
        all.push(("coll_han_use_dynamic_file_rules", "1"));
    }
    all
}
