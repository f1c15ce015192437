//! What a fuzzer begins with: small files of every kind, for each of its targets.

use std::path::Path;

use collbench_formats::{RankTrace, encode_meta};
use collbench_report::trees::{Ranks, rule_trees};
use collbench_tree_files::TreeFile;

use crate::base::Bases;
use crate::drawn::draw_among;
use crate::fuzz::bytes_of;
use crate::random::Random;
use crate::trace::Trace;

/// The longest rank file of a seed: a fuzzer is slow on long ones, and what comes later in a file
/// is more of the same.
const MAX_FILE_BYTES: usize = 16 << 10;
/// Seeds that are drawn at random.
const N_DRAWN: u64 = 4;

/// Bytes for a fuzzer to begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// Which target they are for: the name of a function of [`crate::fuzz`].
    pub target: &'static str,
    /// The name of the file.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// The seeds that are made of the bases.
///
/// # Panics
/// If a base is not a trace.
#[must_use]
pub fn seeds(bases: &Bases) -> Vec<Seed> {
    let mut seeds = Vec::new();
    // Of those with two processes there are whole instances with all their messages.
    let drawn = (0..N_DRAWN).map(|number| {
        let (trace, _) = draw_among(2, &mut Random::new(1, number));
        (format!("drawn{number}"), trace)
    });
    let bases = bases.all().iter();
    let bases = bases.map(|(name, trace)| ((*name).to_owned(), trace.clone()));
    for (base, trace) in &bases.chain(drawn).collect::<Vec<_>>() {
        let files = beginnings(trace);
        let run = files.iter().take(2);
        seeds.push(Seed {
            target: "run",
            name: base.clone(),
            bytes: bytes_of(run.map(|(name, bytes)| (name.as_str(), *bytes))),
        });
        let (_, first) = &files[0];
        seeds.push(Seed {
            target: "rank_file",
            name: base.clone(),
            bytes: first.to_vec(),
        });
        let read = RankTrace::parse(first).expect("the beginning of a base is a rank file");
        let (identity, _) = encode_meta(&read.identity).expect("it was encoded before");
        let mut metas = vec![("identity".to_owned(), identity)];
        for (number, definition) in read.definitions.iter().enumerate() {
            let (encoded, _) = encode_meta(&definition).expect("it was encoded before");
            metas.push((format!("definition{number}"), encoded));
        }
        seeds.extend(metas.into_iter().map(|(what, bytes)| Seed {
            target: "definition",
            name: format!("{base}-{what}"),
            bytes,
        }));
    }
    seeds.extend(tree_seeds());
    seeds.extend(rule_seeds());
    // Many definitions are alike from one base to the next.
    seeds.sort_by(|a, b| (a.target, &a.bytes, &a.name).cmp(&(b.target, &b.bytes, &b.name)));
    seeds.dedup_by(|a, b| (a.target, &a.bytes) == (b.target, &b.bytes));
    seeds
}

/// Rule files of Open MPI.
const RULE_FILES: [(&str, &str); 5] = [
    (
        "lines",
        "# rules\n2\n2 # allreduce\n2\n1\n0\n4\n2\n0 3 0 0\n1024 5 0 64\n7\n1\n2\n1\n0 2 4 8192\n",
    ),
    (
        "version-2",
        "rule-file-version-2\n1\n3\n1\n2\n2\n0 4 0 0 16\n0x400 2 0 0\n",
    ),
    (
        "faults",
        "3\n0\n1\n4\n3\n0 7 0 0\n64K 1 2 0\n-5 99 0 @intra_node\n",
    ),
    (
        "han",
        "1\nbcast\n2\nglobal_communicator\n1\n1\n2\n0 tuned\n64 han @simple\nintra_node\n1\n1\n1\n0 basic\n",
    ),
    (
        "json",
        "{\"rule_file_version\": 3, \"module\": \"tuned\", \"collectives\": {\"bcast\": [{\"comm_size_min\": 4,\n\
         \"comm_rank_distribution\": \"any\", \"rules\": [{\"msg_size_max\": 99, \"alg\": 6}, {\"alg\": \"chain\"}]}]}}\n",
    ),
];

fn rule_seeds() -> impl Iterator<Item = Seed> {
    RULE_FILES.into_iter().map(|(name, text)| Seed {
        target: "rule_file",
        name: name.to_owned(),
        bytes: text.as_bytes().to_vec(),
    })
}

/// Tree files, and the rules and a tree of each, encoded.
const TREE_FILES: [(&str, &str); 4] = [
    (
        "candidates",
        "[[tree]]\noperations = \"allreduce\"\nadapt = { library = true, cost = 0.1, results = \"any\" }\n\
         candidate = [{ shape = \"linear\" }, { shape = { hosts = \"binomial\" }, root = 1 }]\n",
    ),
    (
        "levels",
        "[[site]]\nname = \"a\"\nhosts = [\"a*\"]\n[[tree]]\noperations = [\"allreduce\"]\n\
         size = \"2-\"\nshape = { hosts = \"binomial\", sites = \"exchange\" }\n",
    ),
    (
        "shapes",
        "[[tree]]\noperations = \"bcast\"\nbytes = \"0-4KiB\"\nshape = \"4-nomial\"\n\
         collectors = { gred = \"none\" }\n[[tree]]\noperations = \"bcast\"\nshape = \"chain 3\"\n\
         root = 2\nhosts = [\"b*\", \"a*\"]\n",
    ),
    (
        "nodes",
        "[[tree]]\noperations = \"reduce\"\n[[tree.node]]\nname = \"n\"\nowner = 1\n\
         contributors = [0, 1, 2, 3, 4, 5]\n[[tree.node]]\nowner = 9\n\
         contributors = [\"n\", 6, 7, 8, 9, 10, 11]\ncollectors = \"before\"\n",
    ),
];

fn tree_seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, text) in TREE_FILES {
        let mut add = |target, what: &str, bytes| {
            seeds.push(Seed {
                target,
                name: format!("{name}{what}"),
                bytes,
            });
        };
        add("tree_file", "", text.as_bytes().to_vec());
        let file = TreeFile::parse(text, Path::new("")).expect("the tree file is right");
        let (rules, _) = encode_meta(&file.rules).expect("rules are short");
        add("tree", "-rules", rules);
        let ranks = Ranks::of_list("a1:4,a2:4,b1:4").expect("the list is right");
        let trees = rule_trees(&file.rules, &ranks, None, 0);
        let tree = trees[0].tree.as_ref().expect("the tree fits these ranks");
        let (tree, _) = encode_meta(tree).expect("a tree of few ranks is short");
        add("tree", "-tree", tree);
    }
    seeds
}

/// The rank files of a trace, no longer than a fuzzer likes.
fn beginnings(trace: &Trace) -> Vec<(String, &[u8])> {
    let names = trace.rank_files().into_iter();
    names
        .map(|name| {
            let bytes = trace.bytes(&name);
            (name, &bytes[..bytes.len().min(MAX_FILE_BYTES)])
        })
        .collect()
}
