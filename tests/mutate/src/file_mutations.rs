//! Mutations of whole files: of other ranks, of other runs, of other kinds, and run.json.

use collbench_formats::CHUNK_ALIGN;

use crate::base::Bases;
use crate::byte_mutations::BYTE_MUTATIONS;
use crate::checksums::{chunks, make_right};
use crate::meaning_mutations::text;
use crate::random::Random;
use crate::trace::{Entry, Trace};

/// Changes the files of a trace.
pub(crate) type FileMutation = fn(&mut Trace, &Bases, &mut Random);

pub(crate) const FILE_MUTATIONS: [(&str, FileMutation); 10] = [
    ("a rank's file under another's name", copy_over),
    ("two ranks' files swapped", swap),
    ("a file removed", |trace, _, random| {
        let name = any_name(trace, random);
        trace.entries.remove(&name);
    }),
    ("a file of another run", |trace, bases, random| {
        let (name, bytes) = bases.any_rank_file(random);
        trace.put(name, bytes);
    }),
    ("something else under a rank file's name", something_else),
    ("two files sewn together", sew),
    ("chunks of another file", chunks_of_another),
    ("chunks in another order", shuffle),
    ("run.json of noise", |trace, _, random| {
        let mut bytes = trace.bytes("run.json").to_vec();
        let (_, mutation) = random.pick(&BYTE_MUTATIONS);
        mutation(&mut bytes, random);
        trace.put("run.json", bytes);
    }),
    ("another run.json", another_manifest),
];

/// Name of a rank file; where there is none any more, of a new one.
fn any_name(trace: &Trace, random: &mut Random) -> String {
    let names = trace.rank_files();
    if names.is_empty() {
        "new.trace".to_owned()
    } else {
        random.pick(&names).clone()
    }
}

fn copy_over(trace: &mut Trace, _: &Bases, random: &mut Random) {
    let (from, to) = (any_name(trace, random), any_name(trace, random));
    let bytes = trace.bytes(&from).to_vec();
    if random.once_in(2) {
        trace.put(to, bytes)
    } else {
        trace.put(format!("copy-{to}"), bytes)
    }
}

fn swap(trace: &mut Trace, _: &Bases, random: &mut Random) {
    let (a, b) = (any_name(trace, random), any_name(trace, random));
    let (of_a, of_b) = (trace.bytes(&a).to_vec(), trace.bytes(&b).to_vec());
    trace.put(a, of_b);
    trace.put(b, of_a);
}

fn something_else(trace: &mut Trace, bases: &Bases, random: &mut Random) {
    let name = if random.once_in(2) {
        any_name(trace, random)
    } else {
        // Names come from the file system, where all but / and NUL may stand in them.
        format!(
            "{}.trace",
            text(random)
                .replace(['/', '\0'], "_")
                .chars()
                .take(40)
                .collect::<String>()
        )
    };
    let entry = match random.below(6) {
        0 => Entry::Directory,
        1 => Entry::Link(name.clone()),
        2 => Entry::Link("nothing".to_owned()),
        3 => Entry::File(Vec::new()),
        4 => Entry::File(text(random).into_bytes()),
        _ => Entry::File(bases.any_rank_file(random).1),
    };
    trace.entries.insert(name, entry);
}

/// The beginning of one file and the end of another.
fn sew(trace: &mut Trace, bases: &Bases, random: &mut Random) {
    let name = any_name(trace, random);
    let (_, other) = bases.any_rank_file(random);
    let Some(bytes) = trace.bytes_mut(&name) else {
        return;
    };
    let at = random.below(bytes.len().max(other.len()));
    bytes.truncate(at);
    bytes.extend_from_slice(&other[at.min(other.len())..]);
}

fn chunks_of_another(trace: &mut Trace, bases: &Bases, random: &mut Random) {
    let name = any_name(trace, random);
    let (_, other) = bases.any_rank_file(random);
    let begins = chunks(&other);
    let Some(bytes) = trace.bytes_mut(&name) else {
        return;
    };
    if begins.is_empty() {
        return;
    }
    let from = *random.pick(&begins);
    let end = (from + CHUNK_ALIGN as usize * random.length(6)).min(other.len());
    let align = CHUNK_ALIGN as usize;
    let at = random.below(bytes.len() / align + 1) * align;
    bytes.splice(at..at, other[from..end].iter().copied());
    if random.once_in(2) {
        make_right(bytes);
    }
}

fn shuffle(trace: &mut Trace, _: &Bases, random: &mut Random) {
    let name = any_name(trace, random);
    let Some(bytes) = trace.bytes_mut(&name) else {
        return;
    };
    let mut ends = chunks(bytes);
    ends.push(bytes.len());
    let mut pieces: Vec<Vec<u8>> = ends
        .windows(2)
        .map(|pair| bytes[pair[0]..pair[1]].to_vec())
        .collect();
    for at in (1..pieces.len()).rev() {
        pieces.swap(at, random.below(at + 1));
    }
    bytes.truncate(ends[0]);
    for piece in pieces {
        bytes.resize(bytes.len().next_multiple_of(CHUNK_ALIGN as usize), 0);
        bytes.extend_from_slice(&piece);
    }
}

fn another_manifest(trace: &mut Trace, _: &Bases, random: &mut Random) {
    let quoted = serde_json::Value::from(text(random)).to_string();
    let bytes = match random.below(9) {
        0 => b"[".repeat(random.length(1 << 18)),
        1 => b"{\"command\":".repeat(random.length(1 << 16)),
        2 => Vec::new(),
        3 => format!("{{\"schema\":{quoted}}}").into_bytes(),
        4 => format!("{{\"schema\":\"collbench.run/1\",\"command\":{quoted}}}").into_bytes(),
        5 => b"{\"schema\":\"collbench.run/1\",\"command\":[1e999999,-0]}".to_vec(),
        6 => format!("{{{quoted}:{quoted}").into_bytes(),
        _ => {
            let all = vec![quoted; random.length(2000)].join(",");
            format!("{{\"schema\":\"collbench.run/1\",\"command\":[{all}]}}").into_bytes()
        }
    };
    match random.below(8) {
        0 => drop(trace.entries.insert("run.json".into(), Entry::Directory)),
        1 => drop(trace.entries.remove("run.json")),
        _ => trace.put("run.json", bytes),
    }
}
