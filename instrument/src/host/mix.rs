//! Hashes on which processes agree without communicating.

/// A hash of words that is the same on every machine: the finalizer of splitmix64 (Steele et al.
/// 2014), chained.
pub(crate) fn mix(words: &[u64]) -> u64 {
    words.iter().fold(words.len() as u64, |hash, &word| {
        let mut z = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}
