//! Mutations of what a rank file says: its identity and definitions, decoded, changed and
//! encoded again, so that only their meaning is wrong.
#![allow(clippy::ptr_arg, reason = "all mutations have one form")]

use collbench_formats::{
    Abi, ChunkHeader, ChunkKind, ClockSource, Communicator, CommunicatorKind, Definition,
    OffsetSample, RankTrace, write,
};
use zerocopy::FromBytes;

use crate::checksums::{self, chunks, put};
use crate::random::Random;

/// Text that would do something if it were let through. Nothing that an analysis writes of its
/// own has the word "hostile" in it, so that markup with it comes from here.
const TEXTS: [&str; 16] = [
    "",
    "</script><hostile>",
    "<hostile onload=alert(1)>",
    "\"><hostile/>",
    "' hostile='",
    "]]><hostile/>",
    "--><hostile>",
    "&hostile;&#0;&lt;hostile&gt;",
    "\x1b[2J\x1b]0;hostile\x07\x1b[31m",
    "\u{9b}31m\u{85}\u{7f}\u{8}\u{0}",
    "a\nb\r\nc\td\u{2028}e\u{b}",
    "\u{202e}elitsoh\u{2066}\u{200f}\u{feff}\u{e0041}",
    "\u{fffe}\u{ffff}\u{fdd0}\u{10ffff}",
    "a: b, c; ../../../etc/hostile",
    "{{hostile}}{% hostile %}%s%n$(hostile)`hostile`",
    "\\\\\"\"''\\u0000\\",
];

/// A text of that kind; now and then a long one.
pub(crate) fn text(random: &mut Random) -> String {
    let text = *random.pick(&TEXTS);
    match random.below(40) {
        0 => text.repeat(random.length(3000)),
        1 => format!("{text}{}", "x".repeat(random.length(1 << 20))),
        2..5 => format!("{text}{}", random.pick(&TEXTS)),
        _ => text.to_owned(),
    }
}

/// Changes who the file says has recorded it.
pub(crate) fn change_identity(bytes: &mut Vec<u8>, random: &mut Random) {
    let Ok(trace) = RankTrace::parse(bytes) else {
        return;
    };
    let mut identity = trace.identity.clone();
    let end = (trace.header.end_anchor, trace.header.n_records.get());
    let chunks_at = (trace.header.header_length.get() as usize).min(bytes.len());
    match random.below(18) {
        0 => identity.rank = random.hostile() as u32,
        1 => identity.world_size = random.hostile() as u32,
        2 => {
            identity.world_size = random.hostile() as u32;
            identity.rank = identity.world_size.wrapping_sub(1 + random.below(3) as u32);
        }
        3 => identity.world = random.hostile(),
        4 => identity.spawned = !identity.spawned,
        5 => identity.host.name = text(random),
        6 => identity.host.boot_id = text(random),
        7 => identity.host.time_namespace = random.hostile(),
        8 => {
            use ClockSource::{Monotonic, MonotonicRaw, Tsc};
            identity.clock.source = *random.pick(&[Tsc, MonotonicRaw, Monotonic]);
        }
        9 => identity.clock.granularity_ticks = random.hostile(),
        10 => identity.clock.read_cost_milliticks = random.hostile(),
        11 => identity.mpi.abi = *random.pick(&[Abi::Mpich, Abi::Mpi5, Abi::Unknown]),
        12 => identity.mpi.library_version = text(random),
        13 => identity.mpi.thread_level = random.hostile() as u32,
        14 => {
            if let Some(layer) = identity.layers.first_mut() {
                layer.on = random.once_in(2);
                layer.name = text(random);
                layer.reason = text(random);
            }
        }
        15 => identity.command = (0..random.length(300)).map(|_| text(random)).collect(),
        16 => identity.anchors.truncate(random.below(3)),
        _ => {
            for anchor in &mut identity.anchors {
                anchor[random.below(5)] = random.hostile();
            }
        }
    }
    let Ok(mut new) = write::file_header(&identity, Some(end)) else {
        return;
    };
    // How recording ended stays as it was.
    new[40..256].copy_from_slice(&bytes[40..256]);
    new.extend_from_slice(&bytes[chunks_at..]);
    *bytes = new;
}

/// Changes a few of the definitions, or puts new ones between them.
pub(crate) fn change_definitions(bytes: &mut Vec<u8>, random: &mut Random) {
    let Ok(trace) = RankTrace::parse(bytes) else {
        return;
    };
    let mut definitions: Vec<Definition> = trace.definitions.iter().collect();
    for _ in 0..random.length(6) {
        change_one(&mut definitions, random);
    }
    replace_definitions(bytes, &definitions);
}

fn change_one(definitions: &mut Vec<Definition>, random: &mut Random) {
    let at = random.below(definitions.len());
    match random.below(10) {
        0 if !definitions.is_empty() => drop(definitions.remove(at)),
        1 if !definitions.is_empty() => {
            let copy = definitions[at].clone();
            definitions.insert(random.below(definitions.len()), copy);
        }
        2 => definitions.push(Definition::CommunicatorName {
            index: random.below(8) as u32,
            name: text(random),
        }),
        3 => definitions.push(Definition::OffsetMeasurement {
            reference_rank: random.hostile() as u32,
            samples: (0..random.length(40))
                .map(|_| OffsetSample {
                    t1: random.hostile(),
                    t2: random.hostile(),
                    t3: random.hostile(),
                    t4: random.hostile(),
                })
                .collect(),
        }),
        4 => {
            let a_few = random.length(400);
            let first = random.below(20) as u32;
            definitions.extend((0..a_few as u32).map(|n| chain(first + n)));
        }
        _ => {
            if let Some(Definition::Communicator(communicator)) = definitions.get_mut(at) {
                change_communicator(communicator, random);
            }
        }
    }
}

/// A communicator made on the one before it.
fn chain(index: u32) -> Definition {
    Definition::Communicator(Communicator {
        parent: index.wrapping_sub(1),
        constructor: 128,
        ..Communicator::predefined(index, 1000 + u64::from(index), 2, index % 2)
    })
}

fn change_communicator(communicator: &mut Communicator, random: &mut Random) {
    // Small numbers meet those of others, large ones nothing.
    let number = if random.once_in(2) {
        random.below(9) as u64
    } else {
        random.hostile()
    };
    let small = number as u32;
    match random.below(12) {
        0 => communicator.index = small,
        1 => communicator.id = number,
        2 => communicator.parent = small,
        3 => communicator.constructor = number as u16,
        4 => communicator.position = number,
        5 => {
            communicator.kind = match communicator.kind {
                CommunicatorKind::Intra => CommunicatorKind::Inter,
                CommunicatorKind::Inter => CommunicatorKind::Intra,
            }
        }
        6 => communicator.size = small,
        7 => communicator.rank = small,
        8 => communicator.remote_size = small,
        9 => communicator.first_member = small,
        10 => communicator.remote_first_member = small,
        _ => communicator.name = text(random),
    }
}

/// Puts one chunk with these definitions in the place of all that were there.
pub(crate) fn replace_definitions(bytes: &mut Vec<u8>, definitions: &[Definition]) {
    let mut at = None;
    for chunk in chunks(bytes) {
        let Ok((header, _)) = ChunkHeader::read_from_prefix(&bytes[chunk..]) else {
            continue;
        };
        if header.kind.get() == ChunkKind::Definitions as u32 {
            at.get_or_insert((chunk, header.anchor));
            // Passed by, as a chunk of a later version.
            put(bytes, chunk + 4, &99u32.to_le_bytes());
        }
    }
    let Some((at, anchor)) = at else { return };
    if let Ok(new) = write::definitions_chunk(0, anchor, definitions) {
        bytes.splice(at..at, new);
        checksums::make_right(bytes);
    }
}

/// Sets a length or a variant inside an encoded identity or definition.
pub(crate) fn change_encoding(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut places: Vec<(usize, usize)> = chunks(bytes)
        .into_iter()
        .flat_map(|chunk| checksums::definitions(bytes, chunk))
        .collect();
    // The identity is long and holds many lengths.
    if places.is_empty() || random.once_in(2) {
        places = vec![(256, 300)];
    }
    let &(begin, length) = random.pick(&places);
    let width = *random.pick(&[1, 4, 8, 8]);
    let at = begin + random.below(length);
    let value = random.hostile().to_le_bytes();
    put(bytes, at, &value[..width]);
    checksums::make_right(bytes);
}
