//! One case: a base, and what is done to it.

use crate::base::Bases;
use crate::byte_mutations::{BYTE_MUTATIONS, ByteMutation};
use crate::drawn::{Known, draw};
use crate::file_mutations::FILE_MUTATIONS;
use crate::message_mutations::MESSAGE_MUTATIONS;
use crate::packing::{change_meaning, recorded};
use crate::random::Random;
use crate::records::has_messages;
use crate::trace::Trace;
use crate::{field_mutations as fields, meaning_mutations as meanings};

/// A damaged trace, and how it came about.
#[derive(Debug, Clone)]
pub struct Case {
    /// Name of the trace that it began as.
    pub base: &'static str,
    /// What was done, in order: the mutation, and the file.
    pub mutations: Vec<String>,
    /// What it is now.
    pub trace: Trace,
    /// What it was before the mutations.
    pub before: Trace,
    /// What has to come out, where that is known.
    pub known: Option<Known>,
}

/// Mutations of what the format knows.
const MEANT: [(&str, ByteMutation); 7] = [
    ("a field of the file header", fields::set_in_file_header),
    ("a field of a chunk header", fields::set_in_chunk_header),
    ("a field of a sequence table", fields::set_in_sequence_table),
    ("fields of records", fields::set_in_records),
    ("another identity", meanings::change_identity),
    ("other definitions", meanings::change_definitions),
    ("another encoding", meanings::change_encoding),
];

/// Files do not grow beyond this many bytes, so that many mutations in a row stay quick.
const MAX_FILE: usize = 8 << 20;

impl Case {
    /// The case with a number; the same for the same seed, always.
    #[must_use]
    pub fn new(bases: &Bases, seed: u64, number: u64) -> Self {
        let mut random = Random::new(seed, number);
        let is_drawn = random.once_in(4);
        let (base, before, known) = if is_drawn {
            let (trace, known) = draw(&mut random);
            ("drawn", trace, Some(known))
        } else {
            let (base, trace) = random.pick(bases.all());
            (*base, trace.clone(), None)
        };
        // More on one trace hide one another.
        let n_mutations = if is_drawn && random.once_in(2) {
            0
        } else {
            random.length(4)
        };
        let mut trace = before.clone();
        let mutations = (0..n_mutations)
            .map(|_| mutate(&mut trace, bases, &mut random))
            .collect();
        Self {
            base,
            mutations,
            trace,
            before,
            known: known.filter(|_| n_mutations == 0),
        }
    }
}

/// Damages a trace once; says how.
pub fn mutate(trace: &mut Trace, bases: &Bases, random: &mut Random) -> String {
    let kind = random.below(12);
    if kind == 0 {
        let (name, mutation) = random.pick(&FILE_MUTATIONS);
        mutation(trace, bases, random);
        return (*name).to_owned();
    }
    let files = trace.rank_files();
    if files.is_empty() {
        return "no file left".to_owned();
    }
    let file = random.pick(&files);
    let of_messages = kind >= 7 && has_messages(&recorded(trace.bytes(file)));
    let (name, mutation) = match kind {
        _ if of_messages => random.pick(&MESSAGE_MUTATIONS),
        1..=3 => random.pick(&BYTE_MUTATIONS),
        _ => random.pick(&MEANT),
    };
    // What is done to the messages of all ranks alike is more often still a collective.
    let is_to_all = of_messages && random.once_in(3);
    let changed: &[String] = if is_to_all {
        &files
    } else {
        std::slice::from_ref(file)
    };
    let begin = random.clone();
    for file in changed {
        *random = begin.clone();
        if let Some(bytes) = trace.bytes_mut(file) {
            match kind {
                1..=3 => mutation(bytes, random),
                _ => change_meaning(*mutation, bytes, random),
            }
            bytes.truncate(MAX_FILE);
        }
    }
    if is_to_all {
        format!("{name} in all files")
    } else {
        format!("{name} in {file}")
    }
}
