//! How to get from the frame of a function to that of its caller.

use super::registers::{Registers, UsedStack};

/// From what the begin of the caller's frame follows (DWARF's canonical frame address, CFA).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Base {
    /// From the stack pointer.
    Stack = 1,
    /// From the frame register.
    Frame = 2,
    /// From the word on the stack to which the frame register points, at an offset: functions that
    /// align their stack have it there, and the frame register of the caller where it points to.
    WordAtFrame = 3,
}

/// The way from a function to its caller, in one word.
///
/// | bits | field |
/// | --- | --- |
/// | 0 to 1 | [`Base`]; 0: there is no way |
/// | 2 to 7 | flags of the user of the word |
/// | 8 to 23 | where the frame register of the caller is stored, from the CFA, in words; 0: it is unchanged (of [`Base::WordAtFrame`], where the frame register points to) |
/// | 24 to 39 | where the return address is stored, from the CFA, in words |
/// | 40 to 63 | the offset from the base to the CFA (of [`Base::WordAtFrame`], to the word), in bytes |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FrameRule(u64);

/// The fields of a [`FrameRule`], as [`FrameRule::new`] takes them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub(super) base: Base,
    pub(super) offset: i64,
    pub(super) return_at: i64,
    pub(super) frame_at: Option<i64>,
}

const BASE: u64 = 3;
/// The bits for flags of the user.
pub(super) const FLAGS: u64 = 0xfc;
const FRAME_SHIFT: u32 = 8;
const RETURN_SHIFT: u32 = 24;
const OFFSET_SHIFT: u32 = 40;
const WORD: i64 = size_of::<usize>() as i64;
/// The largest offset is below this, bytes.
const MAX_OFFSET: i64 = 1 << 23;

impl FrameRule {
    /// There is no way, or none is known.
    pub(super) const NONE: Self = Self(0);

    /// A rule, of offsets in bytes; `None` where it has no room for one of them. `frame_at`: where
    /// the caller's frame register is stored, `None` if it is unchanged.
    pub(super) fn new(
        base: Base,
        offset: i64,
        return_at: i64,
        frame_at: Option<i64>,
    ) -> Option<Self> {
        let words = |bytes: i64| -> Option<u64> {
            let words = (bytes % WORD == 0).then_some(bytes / WORD)?;
            let words = i16::try_from(words).ok()?;
            Some(u64::from(words.cast_unsigned()))
        };
        let frame = match frame_at {
            None => 0,
            Some(bytes) => words(bytes).filter(|&words| words != 0)?,
        };
        if !(-MAX_OFFSET..MAX_OFFSET).contains(&offset) {
            return None;
        }
        let offset = offset.cast_unsigned() << OFFSET_SHIFT;
        let places = words(return_at)? << RETURN_SHIFT | frame << FRAME_SHIFT;
        Some(Self(base as u64 | places | offset))
    }

    /// What the rule says; `None` where there is no way.
    pub(super) fn parts(self) -> Option<Parts> {
        let base = match self.0 & BASE {
            1 => Base::Stack,
            2 => Base::Frame,
            3 => Base::WordAtFrame,
            _ => return None,
        };
        let bytes = |shift: u32| {
            let words = (self.0 >> shift) as u16;
            i64::from(words.cast_signed()) * WORD
        };
        Some(Parts {
            base,
            offset: self.0.cast_signed() >> OFFSET_SHIFT,
            return_at: bytes(RETURN_SHIFT),
            frame_at: Some(bytes(FRAME_SHIFT)).filter(|&at| at != 0),
        })
    }

    pub(super) const fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    pub(super) const fn with_flags(self, flags: u64) -> Self {
        Self(self.0 & !FLAGS | flags & FLAGS)
    }

    pub(super) const fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// Where the return address is, from the stack pointer; `None` where that does not follow from the stack
    /// pointer alone.
    pub(super) fn return_from_stack(self) -> Option<usize> {
        if self.0 & BASE != Base::Stack as u64 {
            return None;
        }
        let offset = (self.0.cast_signed() >> OFFSET_SHIFT) as isize;
        let words = (self.0 >> RETURN_SHIFT) as u16;
        let from_begin = isize::from(words.cast_signed()) * WORD as isize;
        usize::try_from(offset + from_begin).ok()
    }

    /// The registers of the caller; `None` where there is no way, or what the stack has there
    /// cannot be.
    #[inline]
    pub(super) fn caller_of(self, at: Registers, stack: UsedStack) -> Option<Registers> {
        let offset = (self.0.cast_signed() >> OFFSET_SHIFT) as isize;
        let begin = match self.0 & BASE {
            1 => at.stack.wrapping_add_signed(offset),
            2 => at.frame.wrapping_add_signed(offset),
            3 => stack.word(at.frame.wrapping_add_signed(offset))?,
            _ => return None,
        };
        if !stack.has_frames_from(begin) {
            return None;
        }
        let stored = |shift: u32| {
            let words = (self.0 >> shift) as u16;
            let bytes = isize::from(words.cast_signed()) * WORD as isize;
            stack.word(begin.wrapping_add_signed(bytes))
        };
        let frame = if (self.0 >> FRAME_SHIFT) as u16 != 0 {
            stored(FRAME_SHIFT)?
        } else if self.0 & BASE == Base::WordAtFrame as u64 {
            stack.word(at.frame)?
        } else {
            at.frame
        };
        let behind = without_signature(stored(RETURN_SHIFT)?);
        (behind != 0).then_some(Registers {
            behind,
            stack: begin,
            frame,
        })
    }
}

/// A return address without the signature that AArch64 may store in its upper bits.
#[inline]
pub(super) const fn without_signature(address: usize) -> usize {
    if cfg!(target_arch = "aarch64") {
        address & ((1 << 48) - 1)
    } else {
        address
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::tests::stack_of;
    use super::*;

    #[test]
    fn callers_are_found_from_the_stack_pointer_and_from_the_frame_register() {
        let words = [11, 12, 77, 4000, 15, 16];
        let (stack, begin) = stack_of(&words);
        let at = Registers {
            behind: 1,
            stack: begin,
            frame: begin + 8,
        };
        // Three words, of which the last are the frame register and the return address.
        let by_stack = FrameRule::new(Base::Stack, 32, -8, Some(-16)).unwrap();
        let expected = Registers {
            behind: 4000,
            stack: begin + 32,
            frame: 77,
        };
        assert_eq!(by_stack.caller_of(at, stack), Some(expected));
        assert_eq!(by_stack.return_from_stack(), Some(24));
        let by_frame = FrameRule::new(Base::Frame, 24, -8, None).unwrap();
        let expected = Registers {
            frame: at.frame,
            ..expected
        };
        assert_eq!(by_frame.caller_of(at, stack), Some(expected));
        assert_eq!(by_frame.return_from_stack(), None);
        assert_eq!(FrameRule::NONE.caller_of(at, stack), None);
        let flagged = by_frame.with_flags(FLAGS);
        assert_eq!(flagged.caller_of(at, stack), Some(expected));
        assert_eq!(FrameRule::of_bits(flagged.bits()).with_flags(0), by_frame);
    }

    #[test]
    fn a_function_that_aligns_its_stack_has_the_begin_of_the_frame_on_it() {
        let mut words = [0usize; 6];
        words[1] = words.as_ptr().expose_provenance() + 40;
        words[2] = 78;
        words[4] = 5000;
        let (stack, begin) = stack_of(&words);
        let at = Registers {
            behind: 1,
            stack: begin,
            frame: begin + 16,
        };
        let rule = FrameRule::new(Base::WordAtFrame, -8, -8, None).unwrap();
        let caller = rule.caller_of(at, stack).unwrap();
        let expected = Registers {
            behind: 5000,
            stack: begin + 40,
            frame: 78,
        };
        assert_eq!(caller, expected);
    }

    #[test]
    fn a_frame_outside_of_the_stack_has_no_caller() {
        let words = [0usize, 1, 2];
        let (stack, begin) = stack_of(&words);
        for (offset, frame) in [(0, 0), (-8, 0), (32, 0), (8, usize::MAX), (8, 4)] {
            let at = Registers {
                behind: 1,
                stack: begin,
                frame,
            };
            for base in [Base::Stack, Base::Frame, Base::WordAtFrame] {
                let rule = FrameRule::new(base, offset, -8, Some(-16)).unwrap();
                assert_eq!(
                    rule.caller_of(at, stack),
                    None,
                    "{base:?} {offset} {frame:#x}"
                );
            }
        }
    }

    #[test]
    fn offsets_that_have_no_room_make_no_rule() {
        assert_eq!(FrameRule::new(Base::Stack, 1 << 23, -8, None), None);
        assert_eq!(FrameRule::new(Base::Stack, 16, -7, None), None);
        assert_eq!(FrameRule::new(Base::Stack, 16, -8 << 20, None), None);
        assert_eq!(FrameRule::new(Base::Stack, 16, -8, Some(0)), None);
        let rule = FrameRule::new(Base::Stack, -(1 << 23), -8, Some(-8 * 32768));
        assert!(rule.is_some());
    }
}
