//! The registers that are needed to find the caller of a function, and the words of a stack.

/// Where a function is, or goes on, and where its frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Registers {
    /// The address right behind an instruction of the function: the instruction itself decides what
    /// its frame looks like.
    pub(crate) behind: usize,
    /// The stack pointer.
    pub(crate) stack: usize,
    /// The register that may hold the address of the frame (rbp, x29).
    pub(crate) frame: usize,
}

impl Registers {
    /// One by one: the address behind the instruction, the stack pointer, the frame register.
    #[inline(always)]
    pub(crate) fn words(self) -> (usize, usize, usize) {
        (self.behind, self.stack, self.frame)
    }

    /// From what [`Registers::words`] gives.
    #[inline(always)]
    pub(crate) fn of_words(behind: usize, stack: usize, frame: usize) -> Self {
        Self {
            behind,
            stack,
            frame,
        }
    }

    /// Those of the function that this is inlined into.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn here() -> Self {
        let (behind, stack, frame);
        // SAFETY: the instructions only read registers.
        unsafe {
            std::arch::asm!(
                "lea {behind}, [rip]",
                "mov {stack}, rsp",
                "mov {frame}, rbp",
                behind = out(reg) behind,
                stack = out(reg) stack,
                frame = out(reg) frame,
                options(nomem, nostack, preserves_flags),
            );
        }
        Self {
            behind,
            stack,
            frame,
        }
    }

    /// Those of the function that this is inlined into.
    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    pub(crate) fn here() -> Self {
        let (at, stack, frame): (usize, usize, usize);
        // SAFETY: the instructions only read registers.
        unsafe {
            std::arch::asm!(
                "adr {at}, .",
                "mov {stack}, sp",
                "mov {frame}, x29",
                at = out(reg) at,
                stack = out(reg) stack,
                frame = out(reg) frame,
                options(nomem, nostack, preserves_flags),
            );
        }
        Self {
            behind: at + 4,
            stack,
            frame,
        }
    }

    /// Not known on other processors: no stack holds address 0.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[inline(always)]
    pub(crate) fn here() -> Self {
        Self {
            behind: 0,
            stack: 0,
            frame: 0,
        }
    }
}

/// The part of the calling thread's stack that is in use: from a stack pointer of a function that
/// has not returned to the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UsedStack {
    from: usize,
    end: usize,
}

impl UsedStack {
    /// From a stack pointer on; `None` if it is not on the thread's stack, whose lowest address and
    /// end are given. (A signal handler or a coroutine may run on another one.)
    ///
    /// # Safety
    /// The stack is that of the calling thread, and the function with this stack pointer does not
    /// return as long as the value is used.
    #[inline]
    pub(crate) unsafe fn from(pointer: usize, (lowest, end): (usize, usize)) -> Option<Self> {
        (lowest < pointer && pointer < end).then_some(Self { from: pointer, end })
    }

    /// The word at an address; `None` if that is not in the stack, or not the address of a word.
    #[inline]
    pub(super) fn word(self, address: usize) -> Option<usize> {
        const WORD: usize = size_of::<usize>();
        let is_within = address >= self.from && address <= self.end - WORD;
        if !is_within || !address.is_multiple_of(WORD) {
            return None;
        }
        // SAFETY: the used part of a stack is mapped from the stack pointer to its end, and only
        // its own thread stores there, which is here meanwhile.
        Some(unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_volatile() })
    }

    /// Some words from an address on; `None` if these are not all in the stack, or it is not the address of
    /// a word.
    #[inline]
    pub(super) fn words(self, begin: usize, n: usize) -> Option<StackWords> {
        const WORD: usize = size_of::<usize>();
        let room = self.end.checked_sub(begin)? / WORD;
        let is_within = begin >= self.from && n <= room && begin.is_multiple_of(WORD);
        is_within.then_some(StackWords { begin, n })
    }

    /// Whether the frames of functions further out may begin at an address.
    #[inline]
    pub(super) fn has_frames_from(self, address: usize) -> bool {
        address > self.from && address <= self.end
    }

    /// The part further out.
    #[inline]
    pub(super) fn beyond(self, address: usize) -> Self {
        Self {
            from: address,
            ..self
        }
    }
}

/// Where the return address of a function is, at one depth of the stack of one thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReturnSlot {
    behind: usize,
    stack: usize,
    address: usize,
}

impl ReturnSlot {
    /// Of no function.
    pub(super) const NONE: Self = Self {
        behind: 0,
        stack: 0,
        address: 0,
    };

    /// That of the function with these registers, at this distance from its stack pointer; `None` if that is not
    /// in the stack. Only for the thread whose stack it is.
    pub(super) fn of(from: Registers, offset: usize, stack: UsedStack) -> Option<Self> {
        let address = from.stack.wrapping_add(offset);
        stack.word(address).map(|_| Self {
            behind: from.behind,
            stack: from.stack,
            address,
        })
    }

    /// The return address, if these are the registers of the same function at the same depth.
    #[inline(always)]
    pub(super) fn return_address(&self, from: Registers) -> Option<usize> {
        if self.behind != from.behind || self.stack != from.stack {
            return None;
        }
        let address = std::ptr::with_exposed_provenance::<usize>(self.address);
        // SAFETY: that was in the thread's stack, further out than the stack pointer, and the stack pointer is
        // the same: it is in the part that is in use again, which is mapped, and only its own thread stores
        // there, which is here meanwhile.
        Some(unsafe { address.read_volatile() })
    }
}

/// Words on the stack that is in use, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct StackWords {
    begin: usize,
    n: usize,
}

impl StackWords {
    /// The word at an index.
    #[inline]
    pub(super) fn get(self, index: usize) -> Option<usize> {
        if index >= self.n {
            return None;
        }
        let address = self.begin + index * size_of::<usize>();
        // SAFETY: as in `UsedStack::word`: these words are in the used part of the stack.
        Some(unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_volatile() })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A stack of some words, which must exist as long as it is used, and the address of the first of
    /// them.
    pub(in super::super) fn stack_of(words: &[usize]) -> (UsedStack, usize) {
        let begin = words.as_ptr().expose_provenance();
        let end = begin + size_of_val(words);
        // SAFETY: the test has the words as long as it uses the stack.
        let stack = unsafe { UsedStack::from(begin, (begin - 1, end)) };
        (stack.unwrap(), begin)
    }

    #[test]
    fn words_are_read_within_the_stack_only() {
        let words = [1usize, 2, 3];
        let begin = words.as_ptr().expose_provenance();
        let end = begin + size_of_val(&words);
        // SAFETY: the words exist as long as the value is used.
        let stack = unsafe { UsedStack::from(begin + 8, (begin, end)) }.unwrap();
        assert_eq!(stack.word(begin + 8), Some(2));
        assert_eq!(stack.word(begin + 16), Some(3));
        for outside in [begin, begin + 17, end, end + 8, usize::MAX, 0] {
            assert_eq!(stack.word(outside), None, "{outside}");
        }
        // SAFETY: nothing is read.
        assert!(unsafe { UsedStack::from(end, (begin, end)) }.is_none());
        let some = stack.words(begin + 8, 2).unwrap();
        assert_eq!([0, 1, 2].map(|i| some.get(i)), [Some(2), Some(3), None]);
        for (at, n) in [(begin, 1), (begin + 8, 3), (begin + 9, 1), (end + 8, 1)] {
            assert!(stack.words(at, n).is_none());
        }
    }

    #[test]
    fn a_return_address_is_read_again_at_the_same_depth_only() {
        let words = [1usize, 2, 3];
        let (stack, begin) = stack_of(&words);
        let from = Registers {
            behind: 100,
            stack: begin,
            frame: 0,
        };
        let slot = ReturnSlot::of(from, 16, stack).unwrap();
        assert_eq!(slot.return_address(from), Some(3));
        for other in [
            Registers {
                behind: 101,
                ..from
            },
            Registers {
                stack: begin + 8,
                ..from
            },
        ] {
            assert_eq!(slot.return_address(other), None);
            assert_eq!(ReturnSlot::NONE.return_address(other), None);
        }
        for outside in [24, 17, usize::MAX] {
            assert!(ReturnSlot::of(from, outside, stack).is_none());
        }
    }

    #[test]
    fn the_registers_are_those_of_this_function() {
        let here = Registers::here();
        let function = the_registers_are_those_of_this_function as *const () as usize;
        assert!((function..function + 4096).contains(&here.behind));
        let local = 0u8;
        assert!(std::ptr::from_ref(&local).addr().abs_diff(here.stack) < 4096);
    }
}
