//! Tags of messages, which no two trees of a process share.
//!
//! The processes of a communicator agree on a range of tags: on the highest that one of them
//! proposes. It is free in all of them, unless another thread has agreed on the same meanwhile; then
//! they try again, with higher ones.
//!
//! Tags of a communicator that was freed are used again: each process has received all messages of
//! its trees then, since it has finished the calls that they were for.

use std::ops::Range;

/// The tags of this process.
#[derive(Debug)]
pub(super) struct Tags {
    /// No tree uses this one or a higher one.
    next: u32,
    /// The largest tag that there is.
    most: u32,
    in_use: Vec<Range<u32>>,
    /// Whether messages may be left of calls that have failed: tags are not used again then.
    are_kept: bool,
}

impl Tags {
    pub(super) fn new(most: u32) -> Self {
        Self {
            next: 0,
            most,
            in_use: Vec::new(),
            are_kept: false,
        }
    }

    /// The first of `n` tags that may be used; `None` if there are none any more.
    pub(super) fn propose(&mut self, n: u32) -> Option<u32> {
        let first = self.next;
        let end = first.checked_add(n).filter(|end| *end <= self.most)?;
        self.next = end;
        Some(first)
    }

    /// Takes the tags that were agreed on; `None` if they are in use, or there are none so high.
    pub(super) fn take(&mut self, first: u32, n: u32) -> Option<Range<u32>> {
        let end = first.checked_add(n).filter(|end| *end <= self.most)?;
        let is_free = |taken: &Range<u32>| taken.end <= first || end <= taken.start;
        if !self.in_use.iter().all(is_free) {
            return None;
        }
        self.in_use.push(first..end);
        self.next = self.next.max(end);
        Some(first..end)
    }

    /// Gives back tags that no message has any more.
    pub(super) fn give_back(&mut self, tags: &Range<u32>) {
        if !self.are_kept {
            self.in_use.retain(|taken| taken != tags);
            self.next = self.in_use.iter().map(|taken| taken.end).max().unwrap_or(0);
        }
    }

    /// Never uses a tag again, so that a message of a call that has failed cannot be taken for
    /// another one.
    pub(super) fn keep(&mut self) {
        self.are_kept = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_trees_have_a_tag_in_common() {
        let mut tags = Tags::new(100);
        // Two threads propose, and agree with others on the same.
        assert_eq!(tags.propose(10), Some(0));
        assert_eq!(tags.propose(10), Some(10));
        assert_eq!(tags.take(25, 10), Some(25..35));
        assert_eq!(tags.take(30, 10), None);
        assert_eq!(tags.take(20, 6), None);
        assert_eq!(tags.propose(10), Some(35));
        assert_eq!(tags.take(35, 10), Some(35..45));
        tags.give_back(&(25..35));
        assert_eq!(tags.take(25, 10), Some(25..35));
        assert_eq!(tags.take(95, 10), None, "there are none so high");
        assert_eq!(tags.propose(60), None);
    }

    #[test]
    fn communicators_created_and_freed_at_will_never_use_up_the_tags() {
        let mut tags = Tags::new(100);
        let kept = tags.take(0, 30).unwrap();
        for _ in 0..10_000 {
            let first = tags.propose(20).unwrap();
            let taken = tags.take(first, 20).unwrap();
            assert!(taken.start >= kept.end);
            tags.give_back(&taken);
        }
        tags.keep();
        let taken = tags.take(30, 20).unwrap();
        tags.give_back(&taken);
        assert_eq!(tags.propose(20), Some(50), "messages may be left");
    }
}
