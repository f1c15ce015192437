//! Mutations of bytes, whatever they mean.
#![allow(clippy::ptr_arg, reason = "all mutations have one form")]

use collbench_formats::CHUNK_ALIGN;

use crate::checksums::{make_right, put};
use crate::random::Random;

/// Changes the bytes of a file somewhere.
pub(crate) type ByteMutation = fn(&mut Vec<u8>, &mut Random);

pub(crate) const BYTE_MUTATIONS: [(&str, ByteMutation); 12] = [
    ("flip bits", flip_bits),
    ("flip bits, checksums right", |bytes, random| {
        flip_bits(bytes, random);
        make_right(bytes);
    }),
    ("zeros", |bytes, random| fill(bytes, random, Some(0))),
    ("ones", |bytes, random| fill(bytes, random, Some(0xff))),
    ("noise", |bytes, random| fill(bytes, random, None)),
    ("noise, checksums right", |bytes, random| {
        fill(bytes, random, None);
        make_right(bytes);
    }),
    ("cut", cut),
    ("insert", insert),
    ("remove", remove),
    ("copy a block", copy_block),
    ("swap blocks", swap_blocks),
    ("hostile number", |bytes, random| {
        hostile_number(bytes, random);
        if random.once_in(2) {
            make_right(bytes);
        }
    }),
];

/// A place in the file; headers more often than their size would have it.
fn place(bytes: &[u8], random: &mut Random) -> usize {
    match random.below(4) {
        0 => random.below(bytes.len().min(700)),
        1 => {
            let chunk = random.below(bytes.len() / CHUNK_ALIGN as usize + 1);
            chunk * CHUNK_ALIGN as usize + random.below(300)
        }
        _ => random.below(bytes.len()),
    }
    .min(bytes.len().saturating_sub(1))
}

fn flip_bits(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.length(16) {
        let at = place(bytes, random);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << random.below(8);
        }
    }
}

fn fill(bytes: &mut [u8], random: &mut Random, value: Option<u8>) {
    let at = place(bytes, random);
    let length = random.length(bytes.len() - at.min(bytes.len()));
    for byte in bytes.iter_mut().skip(at).take(length) {
        *byte = value.unwrap_or_else(|| random.next() as u8);
    }
}

fn cut(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = if random.once_in(4) {
        bytes.len() / CHUNK_ALIGN as usize * CHUNK_ALIGN as usize
    } else {
        place(bytes, random)
    };
    bytes.truncate(at);
}

fn insert(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = place(bytes, random);
    let length = if random.once_in(2) {
        CHUNK_ALIGN as usize * random.length(4)
    } else {
        random.length(9000)
    };
    let noise = random.once_in(2);
    let new: Vec<u8> = (0..length)
        .map(|_| if noise { random.next() as u8 } else { 0 })
        .collect();
    bytes.splice(at..at, new);
}

fn remove(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = place(bytes, random);
    let length = if random.once_in(2) {
        CHUNK_ALIGN as usize
    } else {
        random.length(bytes.len())
    };
    let end = (at + length).min(bytes.len());
    bytes.drain(at..end);
}

/// Begin of any of the file's blocks, of which chunks are made.
fn block(bytes: &[u8], random: &mut Random) -> usize {
    random.below(bytes.len() / CHUNK_ALIGN as usize) * CHUNK_ALIGN as usize
}

fn copy_block(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = block(bytes, random);
    let end = (from + CHUNK_ALIGN as usize * random.length(8)).min(bytes.len());
    let copy = bytes[from..end].to_vec();
    let at = match random.below(3) {
        0 => bytes.len(),
        1 => bytes.len().next_multiple_of(CHUNK_ALIGN as usize),
        _ => block(bytes, random),
    };
    bytes.resize(bytes.len().max(at), 0);
    bytes.splice(at..at, copy);
}

fn swap_blocks(bytes: &mut Vec<u8>, random: &mut Random) {
    let (a, b) = (block(bytes, random), block(bytes, random));
    let length = (CHUNK_ALIGN as usize).min(bytes.len() - a.max(b));
    for i in 0..length {
        bytes.swap(a + i, b + i);
    }
}

fn hostile_number(bytes: &mut Vec<u8>, random: &mut Random) {
    let width = *random.pick(&[1, 2, 4, 8]);
    let at = place(bytes, random) / width * width;
    let value = random.hostile().to_le_bytes();
    put(bytes, at, &value[..width]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mutation_minds_short_files() {
        for length in [0, 1, 7, 255, 4095, 4096, 4097, 20_000] {
            for (name, mutation) in BYTE_MUTATIONS {
                for number in 0..200 {
                    let mut bytes = vec![7; length];
                    mutation(&mut bytes, &mut Random::new(length as u64, number));
                    assert!(bytes.len() < 100_000, "{name}");
                }
            }
        }
    }
}
