//! A way up the stack as a list of places where return addresses are expected: what a rule for each
//! function says, worked out once.
//!
//! Return addresses decide how large frames are. So if all on the way are where they were before, and the
//! same, it is the same way.

use super::frame_rule::{Base, FrameRule};
use super::registers::UsedStack;

/// Functions of a way that is kept, at most.
pub(super) const MAX_STEPS: usize = 8;

/// From a function to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The return address that is expected.
    pub(super) caller: usize,
    /// Where it is, from the base.
    at: i32,
    /// What the base is from this step on.
    base: NewBase,
}

/// What places are counted from; at the begin it is the stack pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NewBase {
    /// The one before.
    Same,
    /// The frame register of the first function.
    FrameRegister,
    /// The address that is stored at this distance from the base before.
    StoredAt(i32),
}

impl Step {
    pub(super) const NONE: Self = Self {
        caller: 0,
        at: 0,
        base: NewBase::Same,
    };

    /// The index of the word with the return address from the stack pointer of the first function on, if
    /// places are counted from there until here.
    pub(super) fn word_from_stack(self) -> Option<usize> {
        let at = usize::try_from(self.at).ok()?;
        let is_plain = self.base == NewBase::Same && at.is_multiple_of(size_of::<usize>());
        is_plain.then_some(at / size_of::<usize>())
    }

    /// What is stored where the return address is expected, `None` if that is not in the stack.
    #[inline]
    pub(super) fn follow(self, base: &mut usize, frame: usize, stack: UsedStack) -> Option<usize> {
        match self.base {
            NewBase::Same => {}
            NewBase::FrameRegister => *base = frame,
            NewBase::StoredAt(at) => *base = stack.word(base.wrapping_add_signed(at as isize))?,
        }
        stack.word(base.wrapping_add_signed(self.at as isize))
    }
}

/// Where the frame register of the current function is known from.
#[derive(Debug, Clone, Copy)]
enum FrameRegister {
    /// It is that of the first function.
    First,
    /// It is the base.
    Base,
    /// It is stored at this distance from the base.
    StoredAt(i64),
}

/// The steps of a way, as it is followed.
#[derive(Debug)]
pub(super) struct Steps {
    steps: [Step; MAX_STEPS],
    /// Number of them; `None` if the way cannot be written so.
    n: Option<usize>,
    /// The end of the frame of the current function, from the base.
    frame_end: i64,
    frame: FrameRegister,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            steps: [Step::NONE; MAX_STEPS],
            n: Some(0),
            frame_end: 0,
            frame: FrameRegister::First,
        }
    }
}

impl Steps {
    /// The steps; `None` if the way cannot be written so.
    pub(super) fn all(&self) -> Option<&[Step]> {
        self.steps.get(..self.n?)
    }

    /// Adds the step to the caller at an address, by the rule for the function before it.
    pub(super) fn add(&mut self, rule: FrameRule, caller: usize) {
        self.n = self.added(rule, caller);
    }

    fn added(&mut self, rule: FrameRule, caller: usize) -> Option<usize> {
        let n = self.n?;
        let parts = rule.parts()?;
        let base = match parts.base {
            Base::Stack => {
                self.frame_end += parts.offset;
                NewBase::Same
            }
            Base::Frame => {
                self.frame_end = parts.offset;
                match std::mem::replace(&mut self.frame, FrameRegister::Base) {
                    FrameRegister::First => NewBase::FrameRegister,
                    FrameRegister::Base => NewBase::Same,
                    FrameRegister::StoredAt(at) => NewBase::StoredAt(i32::try_from(at).ok()?),
                }
            }
            Base::WordAtFrame => return None,
        };
        if let Some(at) = parts.frame_at {
            self.frame = FrameRegister::StoredAt(self.frame_end + at);
        }
        let at = i32::try_from(self.frame_end + parts.return_at).ok()?;
        *self.steps.get_mut(n)? = Step { caller, at, base };
        Some(n + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::Registers;
    use super::super::registers::tests::stack_of;
    use super::*;

    /// Follows rules on a stack as steps and one by one, and compares what is found.
    fn check(rules: &[FrameRule], words: &[usize], frame: usize) {
        let (stack, begin) = stack_of(words);
        let mut at = Registers {
            behind: 1,
            stack: begin,
            frame,
        };
        let mut steps = Steps::default();
        for rule in rules {
            at = rule.caller_of(at, stack).unwrap();
            steps.add(*rule, at.behind);
        }
        let steps = steps.all().unwrap();
        assert_eq!(steps.len(), rules.len());
        let mut base = begin;
        for step in steps {
            assert_eq!(step.follow(&mut base, frame, stack), Some(step.caller));
        }
    }

    #[test]
    fn steps_find_what_rules_find() {
        let mut words: Vec<usize> = (1000..1032).collect();
        let address = |words: &[usize], i: usize| words.as_ptr().expose_provenance() + 8 * i;
        let by_stack = |bytes| FrameRule::new(Base::Stack, bytes, -8, None).unwrap();
        let storing = |bytes| FrameRule::new(Base::Stack, bytes, -8, Some(-16)).unwrap();
        let by_frame = FrameRule::new(Base::Frame, 16, -8, Some(-16)).unwrap();
        check(&[by_stack(16), by_stack(32), by_stack(48)], &words, 0);
        // The frame register of the first function: at word 4, where that of its caller is stored.
        let frame = address(&words, 4);
        words[4] = address(&words, 10);
        words[10] = address(&words, 20);
        check(&[by_frame, by_frame, by_stack(16)], &words, frame);
        check(
            &[by_stack(16), by_frame, by_stack(16), by_frame],
            &words,
            frame,
        );
        // A function that stores it for others, which use it.
        words[2] = address(&words, 6);
        words[6] = address(&words, 12);
        check(&[storing(32), by_frame, by_frame, by_stack(24)], &words, 0);
        check(&[storing(32), by_stack(8), by_frame], &words, 0);
    }

    #[test]
    fn ways_that_are_too_long_or_have_aligned_frames_are_not_kept() {
        let rule = FrameRule::new(Base::Stack, 16, -8, None).unwrap();
        let mut steps = Steps::default();
        for caller in 0..MAX_STEPS {
            steps.add(rule, caller);
            assert_eq!(steps.all().map(<[Step]>::len), Some(caller + 1));
        }
        steps.add(rule, 1);
        assert_eq!(steps.all(), None);
        let mut steps = Steps::default();
        steps.add(FrameRule::new(Base::WordAtFrame, -8, -8, None).unwrap(), 1);
        assert_eq!(steps.all(), None);
        steps.add(rule, 1);
        assert_eq!(steps.all(), None);
    }
}
