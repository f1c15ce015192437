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
    /// These numbers in the unit of the file; `None` where the file does not look at sizes.
    pub size: Option<(u64, u64)>,
    /// Whether these are all calls of the class.
    pub is_whole: bool,
    /// What decides them.
    pub decision: Decision,
}

/// Divides a class where the decision changes. `starts` are bytes of one process from which on another
/// rule could hold, in any order.
pub(crate) fn divide<T: PartialEq>(
    class: &CallClass,
    mut starts: Vec<u64>,
    decide: impl Fn(u64) -> T,
) -> Vec<((u64, u64), T)> {
    let (least, most) = class.bytes;
    starts.retain(|&start| least < start && start <= most);
    starts.push(least);
    starts.sort_unstable();
    starts.dedup();
    let mut parts: Vec<((u64, u64), T)> = Vec::new();
    for (nth, &start) in starts.iter().enumerate() {
        let end = starts.get(nth + 1).map_or(most, |&next| next - 1);
        let decision = decide(start);
        match parts.last_mut() {
            Some((bytes, last)) if *last == decision => bytes.1 = end,
            _ => parts.push(((start, end), decision)),
        }
    }
    parts
}
