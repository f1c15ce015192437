//! Classes of calls, and what decides each.

use crate::call::CallClass;
use crate::decision::Decision;

/// Calls, or the part of a class of calls, that are decided alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained<'c> {
    /// The class that they are of.
    pub class: &'c CallClass,
    /// Smallest and largest number of bytes of one process.
    pub bytes: (u64, u64),
    /// The same in the unit of the file; `None` where the file does not look at sizes.
    pub size: Option<(u64, u64)>,
    /// Whether these are all calls of the class.
    pub is_whole: bool,
    /// What decides them.
    pub decision: Decision,
}

/// Divides a class where the decision changes. `starts` are bytes of one process from which on another
/// rule could hold, in any order; `size` turns bytes into the unit of the file.
pub(crate) fn explain<'c>(
    class: &'c CallClass,
    starts: &[u64],
    size: impl Fn(u64) -> Option<u64>,
    decide: impl Fn(u64) -> Decision,
) -> Vec<Explained<'c>> {
    let (least, most) = class.bytes;
    let mut starts: Vec<u64> = starts
        .iter()
        .copied()
        .filter(|&start| least < start && start <= most)
        .collect();
    starts.push(least);
    starts.sort_unstable();
    starts.dedup();
    let mut parts: Vec<Explained<'c>> = Vec::new();
    for (nth, &start) in starts.iter().enumerate() {
        let end = starts.get(nth + 1).map_or(most, |&next| next - 1);
        let decision = decide(start);
        match parts.last_mut() {
            Some(last) if last.decision == decision => last.bytes.1 = end,
            _ => parts.push(Explained {
                class,
                bytes: (start, end),
                size: None,
                is_whole: false,
                decision,
            }),
        }
    }
    let is_whole = parts.len() == 1;
    for part in &mut parts {
        part.is_whole = is_whole;
        part.size = size(part.bytes.0).zip(size(part.bytes.1));
    }
    parts
}
