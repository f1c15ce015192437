//! Selection files that are made up from one that was compiled in: valid ones, and ones with faults.

use collbench_stats::random::Random;
use collbench_tune::json::{self, Data, Member, Value};
use collbench_tune::mpich::Choice;

/// A file, and what else the run sets.
#[derive(Debug, Clone, Default)]
pub(super) struct Made {
    /// Algorithms.
    pub(super) mpir: Vec<u8>,
    /// Compositions; none for those that were compiled in.
    pub(super) ch4: Option<Vec<u8>>,
    /// The faults that were put in.
    pub(super) faults: Vec<&'static str>,
    /// Variables of the run.
    pub(super) settings: Vec<(String, String)>,
}

/// Keys with what is inside.
#[derive(Debug, Clone, Default)]
struct Object(Vec<(String, Object)>);

/// The blocking and nonblocking collectives that the program calls, with algorithms that can do at
/// least some of its calls, and with what can be tested in them: bytes of one (`a`), of all (`t`),
/// elements (`c`), commutative (`k`), predefined (`b`).
const COLLECTIVES: [(&str, &str, &[&str]); 21] = [
    (
        "bcast",
        "atc",
        &[
            "intra_binomial",
            "intra_scatter_recursive_doubling_allgather",
            "intra_scatter_ring_allgather",
            "intra_smp",
            "allcomm_nb",
        ],
    ),
    (
        "reduce",
        "atckb",
        &[
            "intra_binomial",
            "intra_reduce_scatter_gather",
            "intra_smp",
            "allcomm_nb",
        ],
    ),
    (
        "allreduce",
        "atckb",
        &[
            "intra_recursive_doubling",
            "intra_reduce_scatter_allgather",
            "intra_smp",
            "allcomm_nb",
        ],
    ),
    (
        "allgather",
        "tc",
        &[
            "intra_brucks",
            "intra_recursive_doubling",
            "intra_ring",
            "allcomm_nb",
        ],
    ),
    (
        "allgatherv",
        "tc",
        &[
            "intra_brucks",
            "intra_recursive_doubling",
            "intra_ring",
            "allcomm_nb",
        ],
    ),
    (
        "alltoall",
        "ati",
        &[
            "intra_brucks",
            "intra_pairwise",
            "intra_scattered",
            "intra_pairwise_sendrecv_replace",
            "allcomm_nb",
        ],
    ),
    ("alltoallv", "ti", &["intra_scattered", "allcomm_nb"]),
    (
        "barrier",
        "",
        &["intra_dissemination", "intra_smp", "allcomm_nb"],
    ),
    ("gather", "t", &["intra_binomial", "allcomm_nb"]),
    ("gatherv", "", &["allcomm_linear", "allcomm_nb"]),
    ("scatter", "t", &["intra_binomial", "allcomm_nb"]),
    (
        "scan",
        "",
        &["intra_recursive_doubling", "intra_smp", "allcomm_nb"],
    ),
    ("exscan", "", &["intra_recursive_doubling", "allcomm_nb"]),
    (
        "reduce_scatter",
        "tckr",
        &[
            "intra_noncommutative",
            "intra_pairwise",
            "intra_recursive_doubling",
            "intra_recursive_halving",
            "allcomm_nb",
        ],
    ),
    (
        "reduce_scatter_block",
        "tck",
        &[
            "intra_noncommutative",
            "intra_pairwise",
            "intra_recursive_doubling",
            "intra_recursive_halving",
            "allcomm_nb",
        ],
    ),
    (
        "ibcast",
        "at",
        &[
            "intra_sched_binomial",
            "intra_sched_smp",
            "intra_sched_scatter_recursive_doubling_allgather",
            "intra_sched_scatter_ring_allgather",
            "intra_tsp_tree",
        ],
    ),
    (
        "ireduce",
        "atckb",
        &[
            "intra_sched_binomial",
            "intra_sched_reduce_scatter_gather",
            "intra_tsp_tree",
        ],
    ),
    (
        "iallreduce",
        "atckb",
        &[
            "intra_sched_naive",
            "intra_sched_recursive_doubling",
            "intra_tsp_recexch_single_buffer",
            "intra_tsp_recexch_multiple_buffer",
        ],
    ),
    (
        "iallgather",
        "tc",
        &["intra_sched_ring", "intra_sched_brucks", "intra_tsp_ring"],
    ),
    (
        "ialltoall",
        "ati",
        &[
            "intra_sched_inplace",
            "intra_sched_pairwise",
            "intra_sched_permuted_sendrecv",
        ],
    ),
    (
        "ibarrier",
        "",
        &["intra_sched_recursive_doubling", "intra_tsp_recexch"],
    ),
];

/// Compositions of the collectives that have several.
const COMPOSITIONS: [(&str, &[&str]); 5] = [
    ("bcast", &["alpha", "beta", "gamma"]),
    ("reduce", &["alpha", "beta", "gamma"]),
    ("allreduce", &["alpha", "beta", "gamma"]),
    ("barrier", &["alpha", "beta"]),
    ("scan", &["alpha", "beta"]),
];

const FAULTS: [&str; 23] = [
    "none",
    "an unknown test",
    "a misspelt algorithm",
    "any before a narrower test",
    "any hierarchy before a narrower test",
    "nothing after a narrower test",
    "nothing inside a test",
    "text for an object",
    "cut off",
    "a comma too many",
    "a comment",
    "the same key twice",
    "an algorithm of another collective",
    "a test that the collective does not define",
    "text after the end",
    "a number with a unit",
    "two algorithms in one object",
    "an algorithm among tests",
    "a collective left out",
    "a parameter that the algorithm does not have",
    "spaces in a key",
    "null for an object",
    "a composition for an algorithm",
];

/// Collectives with algorithms that can do all of their calls, and whether files tell bytes apart.
const ABLE: [(&str, bool, &[&str]); 11] = [
    (
        "bcast",
        true,
        &[
            "binomial",
            "scatter_recursive_doubling_allgather",
            "scatter_ring_allgather",
            "nb",
        ],
    ),
    ("reduce", true, &["binomial", "nb"]),
    ("allreduce", true, &["recursive_doubling", "nb"]),
    ("allgather", true, &["brucks", "ring", "nb"]),
    ("allgatherv", true, &["brucks", "ring", "nb"]),
    ("alltoall", true, &["nb"]),
    ("reduce_scatter_block", false, &["recursive_doubling", "nb"]),
    ("barrier", false, &["dissemination", "nb"]),
    ("gather", false, &["binomial", "nb"]),
    ("scan", false, &["recursive_doubling", "nb"]),
    (
        "ibcast",
        true,
        &["sched_binomial", "sched_scatter_ring_allgather"],
    ),
];

/// Choices of algorithms for calls of some collectives.
pub(super) fn choices(seed: u64, number: u64) -> Vec<Choice> {
    let mut random = Random::of(&[seed, number, 1]);
    let mut choices = Vec::new();
    for (collective, tells_bytes, algorithms) in ABLE {
        if random.below(2) == 0 {
            continue;
        }
        let mut choose = |random: &mut Random, n_processes, bytes| {
            let algorithm = algorithms[random.below(algorithms.len())].to_owned();
            let collective = collective.to_owned();
            choices.push(Choice {
                collective,
                n_processes,
                bytes,
                algorithm,
                parameters: Vec::new(),
            });
        };
        if random.below(3) == 0 {
            choose(&mut random, None, None);
            continue;
        }
        for n in 2..=4 {
            if random.below(3) == 0 {
                continue;
            }
            if !tells_bytes {
                choose(&mut random, Some(n), None);
                continue;
            }
            let mut least = [0, 5, 256][random.below(3)];
            for _ in 0..1 + random.below(3) {
                let most = if random.below(4) == 0 {
                    u64::MAX
                } else {
                    least + random.uniform(0, 12_000)
                };
                choose(&mut random, Some(n), Some((least, most)));
                if most == u64::MAX {
                    break;
                }
                least = most + 1 + random.uniform(0, 1) * random.uniform(0, 5000);
            }
        }
    }
    choices
}

/// File `number` of `seed`; every other one has one or two faults.
pub(super) fn made_up(seed: u64, number: u64, mpir: &str, ch4: &str) -> Made {
    let mut random = Random::of(&[seed, number]);
    let mut file = object(mpir);
    let n_changed = 3 + random.below(10);
    for _ in 0..n_changed {
        let (collective, tests, algorithms) = COLLECTIVES[random.below(COLLECTIVES.len())];
        let rules = rules(&mut random, collective, tests, algorithms, 0);
        let intra = Object(vec![("comm_type=intra".to_owned(), rules)]);
        replace(&mut file, &format!("collective={collective}"), intra);
    }
    let mut made = Made::default();
    if random.below(2) == 0 {
        let mut file = object(ch4);
        for _ in 0..1 + random.below(3) {
            let (collective, letters) = COMPOSITIONS[random.below(COMPOSITIONS.len())];
            let rules = compositions(&mut random, collective, letters);
            let intra = Object(vec![("comm_type=intra".to_owned(), rules)]);
            replace(&mut file, &format!("collective={collective}"), intra);
        }
        made.ch4 = Some(text(&file).into_bytes());
    }
    let cliques = random.below(4);
    if cliques > 1 {
        made.settings
            .push(("MPIR_CVAR_NUM_CLIQUES".to_owned(), cliques.to_string()));
    }
    some_settings(&mut random, &mut made);
    made.mpir = text(&file).into_bytes();
    if number % 2 == 1 {
        for _ in 0..1 + random.below(2) {
            let fault = FAULTS[1 + random.below(FAULTS.len() - 1)];
            if put_in(&mut random, fault, &mut file, &mut made) {
                made.faults.push(fault);
            }
        }
    }
    made
}

fn some_settings(random: &mut Random, made: &mut Made) {
    let mut set = |name: &str, value: &str| {
        made.settings
            .push((format!("MPIR_CVAR_{name}"), value.to_owned()))
    };
    match random.below(8) {
        0 => set("DEVICE_COLLECTIVES", "none"),
        1 => set("BCAST_DEVICE_COLLECTIVE", "0"),
        2 => set("ALLREDUCE_INTRA_ALGORITHM", "recursive_doubling"),
        3 => set("ALLGATHER_INTRA_ALGORITHM", "recursive_doubling"),
        4 => set("REDUCE_INTRA_ALGORITHM", "reduce_scatter_gather"),
        5 => set("BARRIER_INTRA_ALGORITHM", "smp"),
        6 => set("BCAST_INTRA_ALGORITHM", "smp"),
        _ => {}
    }
}

/// Tests and choices at random: as many tests in one another as the bound below allows, then an
/// algorithm.
fn rules(
    random: &mut Random,
    collective: &str,
    tests: &str,
    algorithms: &[&str],
    depth: usize,
) -> Object {
    if depth == 4 || random.below(3) == 0 {
        return choice(random, collective, algorithms);
    }
    let kinds: Vec<char> = "sp2hn".chars().chain(tests.chars()).collect();
    let kind = kinds[random.below(kinds.len())];
    let keys = keys(random, kind);
    let inside = keys
        .into_iter()
        .map(|key| (key, rules(random, collective, tests, algorithms, depth + 1)));
    Object(inside.collect())
}

/// The tests of one object: those of a kind, which together pass all calls.
fn keys(random: &mut Random, kind: char) -> Vec<String> {
    let sign = if random.below(2) == 0 { "<=" } else { "<" };
    match kind {
        's' => vec![
            format!("comm_size{sign}{}", 2 + random.below(3)),
            "comm_size=any".to_owned(),
        ],
        'p' => vec!["comm_size=pow2".to_owned(), "comm_size=any".to_owned()],
        '2' => vec![
            format!("comm_avg_ppn<={}", 1 + random.below(3)),
            "comm_size=node_comm_size".to_owned(),
            "comm_size=any".to_owned(),
        ],
        'h' => {
            let kind = ["parent", "node_roots", "node", "flat"][random.below(4)];
            vec![
                format!("comm_hierarchy={kind}"),
                "comm_hierarchy=any".to_owned(),
            ]
        }
        'a' => sizes(random, "avg_msg_size"),
        't' => sizes(random, "total_msg_size"),
        'c' if sign == "<" => vec!["count<pow2".to_owned(), "count=any".to_owned()],
        'c' => vec![
            format!("count<={}", [0, 1, 2, 512, 4000][random.below(5)]),
            "count=any".to_owned(),
        ],
        kind => {
            let name = match kind {
                'n' => "is_node_consecutive",
                'k' => "is_commutative",
                'b' => "is_op_built_in",
                'r' => "is_block_regular",
                _ => "is_sendbuf_inplace",
            };
            vec![format!("{name}=yes"), format!("{name}=no")]
        }
    }
}

fn sizes(random: &mut Random, name: &str) -> Vec<String> {
    let mut bytes = [0, 4, 8, 20, 256, 2048, 2052, 8192, 12_292, 40_000, 160_000][random.below(11)];
    let mut keys = Vec::new();
    for _ in 0..1 + random.below(2) {
        let sign = if random.below(2) == 0 { "<=" } else { "<" };
        keys.push(format!("{name}{sign}{bytes}"));
        bytes += 1 + random.below(100_000);
    }
    keys.push(format!("{name}=any"));
    keys
}

fn choice(random: &mut Random, collective: &str, algorithms: &[&str]) -> Object {
    let algorithm = algorithms[random.below(algorithms.len())];
    let mut capital = collective.to_owned();
    capital[..1].make_ascii_uppercase();
    let parameters: &[&str] = match algorithm {
        "intra_tsp_tree" if collective == "ibcast" => &["tree_type=1", "k=2", "chunk_size=0"],
        "intra_tsp_tree" => &["tree_type=1", "k=2", "chunk_size=0", "buffer_per_child=0"],
        "intra_tsp_recexch_single_buffer" | "intra_tsp_recexch_multiple_buffer" => &["k=2"],
        _ => &[],
    };
    let parameters = parameters
        .iter()
        .map(|name| ((*name).to_owned(), Object::default()))
        .collect();
    Object(vec![(
        format!("algorithm=MPIR_{capital}_{algorithm}"),
        Object(parameters),
    )])
}

fn compositions(random: &mut Random, collective: &str, letters: &[&str]) -> Object {
    let mut capital = collective.to_owned();
    capital[..1].make_ascii_uppercase();
    let of = |letter: &str| {
        let key = format!("composition=MPIDI_{capital}_intra_composition_{letter}");
        Object(vec![(key, Object::default())])
    };
    // Compositions by host need hosts; the last of the others of a collective is that of all.
    let flat = if collective == "allreduce" {
        "beta"
    } else {
        letters[letters.len() - 1]
    };
    let (first, second) = (
        letters[random.below(letters.len())],
        letters[random.below(letters.len())],
    );
    let reducing = matches!(collective, "reduce" | "allreduce" | "scan");
    let with_hosts = if collective == "barrier" || collective == "scan" {
        of(first)
    } else {
        Object(vec![
            ("avg_msg_size<=2048".to_owned(), of(first)),
            ("avg_msg_size=any".to_owned(), of(second)),
        ])
    };
    let with_hosts = if reducing && collective != "scan" {
        Object(vec![
            ("is_commutative=yes".to_owned(), with_hosts),
            ("is_commutative=no".to_owned(), of(flat)),
        ])
    } else {
        with_hosts
    };
    let mut branch = vec![("comm_hierarchy=parent".to_owned(), with_hosts)];
    if collective == "scan" {
        branch[0].0 = "is_node_consecutive=yes".to_owned();
        branch.push(("is_node_consecutive=no".to_owned(), of(flat)));
    } else if random.below(4) > 0 {
        // Without it, such communicators take MPIR algorithms at once.
        branch.push(("comm_hierarchy=any".to_owned(), of(flat)));
    }
    Object(branch)
}

fn replace(file: &mut Object, key: &str, inside: Object) {
    match file.0.iter_mut().find(|(other, _)| other == key) {
        Some(found) => found.1 = inside,
        None => file.0.push((key.to_owned(), inside)),
    }
}

/// Puts a fault in; false where the file has no place for it.
fn put_in(random: &mut Random, fault: &str, file: &mut Object, made: &mut Made) -> bool {
    let mut pick = |found: Vec<Vec<usize>>| {
        (!found.is_empty()).then(|| found[random.below(found.len())].clone())
    };
    let of_text = |made: &mut Made, change: &dyn Fn(&str) -> String| {
        made.mpir = change(&String::from_utf8_lossy(&made.mpir)).into_bytes();
        true
    };
    let place = match fault {
        "cut off" => {
            let end = made.mpir.len() - 1 - random.below(made.mpir.len() / 2);
            made.mpir.truncate(end);
            return true;
        }
        "a comma too many" => return of_text(made, &|text| text.replacen("}}", "},}", 2)),
        "a comment" => {
            return of_text(made, &|text| {
                format!("/* rules */ {}", text.replacen(':', ": // so\n", 1))
            });
        }
        "text after the end" => return of_text(made, &|text| format!("{text} {{}}")),
        "text for an object" => return of_text(made, &|text| text.replacen(":{}", ":\"\"", 1)),
        "null for an object" => return of_text(made, &|text| text.replacen(":{}", ":null", 1)),
        "a collective left out" => {
            let idx = random.below(file.0.len());
            file.0.remove(idx);
            None
        }
        "any before a narrower test" => pick(places(file, &|key| {
            key.ends_with("=any") && !key.starts_with("comm_h")
        })),
        "any hierarchy before a narrower test" => {
            pick(places(file, &|key| key == "comm_hierarchy=any"))
        }
        "an unknown test"
        | "nothing after a narrower test"
        | "nothing inside a test"
        | "the same key twice"
        | "a number with a unit"
        | "a test that the collective does not define"
        | "an algorithm among tests" => pick(places(file, &|key| key.contains("size<"))),
        "spaces in a key" => pick(places(file, &|key| !key.starts_with("algorithm"))),
        _ => pick(places(file, &|key| {
            key.starts_with("algorithm=MPIR_") && !key.contains("tsp")
        })),
    };
    if let Some(place) = place {
        change(fault, file, &place);
    } else if fault != "a collective left out" {
        return false;
    }
    made.mpir = text(file).into_bytes();
    true
}

fn change(fault: &str, file: &mut Object, place: &[usize]) {
    let Some((&idx, above)) = place.split_last() else {
        return;
    };
    let mut here = file;
    for &step in above {
        here = &mut here.0[step].1;
    }
    let (key, inside) = here.0[idx].clone();
    let number = key
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .to_owned();
    match fault {
        "an unknown test" => here.0[idx].0 = key.replace("size", "sizes"),
        "a misspelt algorithm" => here.0[idx].0 = format!("{key}s"),
        "any before a narrower test" | "any hierarchy before a narrower test" => {
            here.0.rotate_right(1)
        }
        "nothing after a narrower test" => here.0.truncate(idx + 1),
        "nothing inside a test" => here.0[idx].1 = Object::default(),
        "the same key twice" => here.0.push((key, Object(vec![]))),
        "an algorithm of another collective" => {
            here.0[idx].0 = "algorithm=MPIR_Gatherv_allcomm_linear".to_owned();
        }
        "a test that the collective does not define" => {
            here.0[idx].0 = format!("count<={}", number);
        }
        "a number with a unit" => here.0[idx].0 = format!("{key}k"),
        "two algorithms in one object" => here.0.push((format!("{key} "), Object::default())),
        "an algorithm among tests" => here.0.push((
            "algorithm=MPIR_Gatherv_allcomm_linear".to_owned(),
            Object::default(),
        )),
        "a parameter that the algorithm does not have" => {
            here.0[idx].1.0.push(("k=3".to_owned(), Object::default()));
        }
        "spaces in a key" => here.0[idx].0 = format!(" {} ", key.replace('=', " = ")),
        "a composition for an algorithm" => {
            here.0[idx].0 = "composition=MPIDI_Bcast_intra_composition_alpha".to_owned();
        }
        _ => drop(inside),
    }
}

/// Where keys are that `wanted` holds for, as indexes from the outside in.
fn places(file: &Object, wanted: &dyn Fn(&str) -> bool) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    for (idx, (key, inside)) in file.0.iter().enumerate() {
        if wanted(key) {
            found.push(vec![idx]);
        }
        for mut place in places(inside, wanted) {
            place.insert(0, idx);
            found.push(place);
        }
    }
    found
}

fn object(text: &str) -> Object {
    let document = json::parse(text.as_bytes(), 32).expect("the library's own file is JSON");
    plain(&document.root)
}

fn plain(value: &Value) -> Object {
    match &value.data {
        Data::Object(members) => Object(
            members
                .iter()
                .map(|Member { key, value, .. }| (key.clone(), plain(value)))
                .collect(),
        ),
        _ => Object::default(),
    }
}

fn text(file: &Object) -> String {
    let members: Vec<String> = file
        .0
        .iter()
        .map(|(key, inside)| format!("\"{key}\":{}", text(inside)))
        .collect();
    // A line per collective, for positions that differ.
    let between = if file.0.iter().any(|(key, _)| key.contains("collective")) {
        ",\n"
    } else {
        ","
    };
    format!("{{{}}}", members.join(between))
}
