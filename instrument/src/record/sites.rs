//! From where calls are made: the call site of a call, found before its slot is taken, and the note
//! before it where another one than that is forecast.

use std::sync::PoisonError;

use collbench_formats::{CallSite, Definition, NO_CALL_SITE, NextCallSite, SiteFrame};

use super::local::Local;
use super::recorder::Recorder;
use super::thread::Thread;
use crate::file::{GrowError, Slot};
use crate::sites::{DefinedSites, Registers, SiteRegistry, UsedStack, Way};

/// Call sites that are defined, at most: calls from others are made from an unknown place.
const MAX_SITES: u32 = 1 << 16;

impl Local {
    /// The next slot of the chunk, for a call that is entered now; none if there is no room for it
    /// and the note before it, or recording has ended.
    #[inline(always)]
    pub(super) fn next_slot_of_call(&self, recorder: &'static Recorder, is_internal: bool) -> Slot {
        // Looked at first, and alone, so that other calls take no longer.
        match &recorder.sites {
            None => self.next_slot().unwrap_or(Slot::NONE),
            Some(_) => {
                let (behind, stack, frame) = Registers::here().words();
                self.next_slot_from(recorder, behind, stack, frame, is_internal)
            }
        }
    }

    /// Marked as cold so that what it needs costs nothing where call sites are not recorded. The registers
    /// are passed in registers: a struct of them would be stored by the caller in pieces and loaded here in
    /// one piece, which a processor can only do when all before it is done, the clock reading included.
    #[cold]
    #[inline(never)]
    fn next_slot_from(
        &self,
        recorder: &'static Recorder,
        behind: usize,
        stack: usize,
        frame: usize,
        is_internal: bool,
    ) -> Slot {
        let slot = match &recorder.sites {
            Some(sites) if !is_internal => {
                let from = Registers::of_words(behind, stack, frame);
                self.next_slot_behind_site(recorder, sites, from)
            }
            _ => self.next_slot(),
        };
        slot.unwrap_or(Slot::NONE)
    }

    #[inline(always)]
    fn next_slot_behind_site(
        &self,
        recorder: &'static Recorder,
        sites: &SiteRegistry,
        from: Registers,
    ) -> Option<Slot> {
        let thread = self.thread.get()?;
        let index = self.site_from(recorder, sites, from);
        let slot = if thread.needs_note_of(index) {
            let [note, slot] = thread.cursor.take_two()?;
            let before = note.time_before();
            thread.note_site(recorder, note, index, before);
            slot
        } else {
            thread.cursor.take()?
        };
        thread.forecast.pass(index);
        Some(slot)
    }

    /// The call site of a call of the application that is entered now, where it may not be known
    /// yet; only outside of guarded paths.
    #[cold]
    pub(super) fn own_site(&self, recorder: &'static Recorder) -> u32 {
        let Some(sites) = &recorder.sites else {
            return NO_CALL_SITE;
        };
        // The stack must be known.
        if self.thread.get().is_none() {
            recorder.guarded(|| {
                self.thread_of(recorder);
                Ok(())
            });
        }
        self.site_from(recorder, sites, Registers::here())
    }

    #[inline(always)]
    fn site_from(&self, recorder: &'static Recorder, sites: &SiteRegistry, from: Registers) -> u32 {
        let met_last = sites.sites.met_last(from, &self.recent_sites);
        match met_last {
            Some(index) => index,
            None => {
                let (behind, stack, frame) = from.words();
                self.other_site(recorder, behind, stack, frame)
            }
        }
    }

    /// The part of the stack that is in use by the function with these registers, and further out.
    #[inline(always)]
    fn used_stack(&self, from: Registers) -> Option<UsedStack> {
        // SAFETY: this is the thread's own stack, and the function with these registers, which
        // called this one, does not return meanwhile.
        unsafe { UsedStack::from(from.stack, self.stack.get()) }
    }

    /// The call site of a way through wrappers, or of one that the thread has not met last.
    #[inline(never)]
    fn other_site(
        &self,
        recorder: &'static Recorder,
        behind: usize,
        stack: usize,
        frame: usize,
    ) -> u32 {
        let from = Registers::of_words(behind, stack, frame);
        let (Some(sites), Some(stack)) = (&recorder.sites, self.used_stack(from)) else {
            return NO_CALL_SITE;
        };
        match sites.sites.known(from, stack, &self.recent_sites) {
            Some(index) => index,
            None => self.new_site(recorder, sites, from, stack),
        }
    }

    /// A way that was not met before.
    #[cold]
    fn new_site(
        &self,
        recorder: &'static Recorder,
        sites: &SiteRegistry,
        from: Registers,
        stack: UsedStack,
    ) -> u32 {
        // A signal handler has interrupted the recorder.
        if self.is_on_cold_path.get() || recorder.file.is_stopped() {
            return NO_CALL_SITE;
        }
        let Some(way) = sites.sites.way(from, stack) else {
            return NO_CALL_SITE;
        };
        let defined = recorder.guarded(|| recorder.define_site(sites, &way));
        defined.flatten().unwrap_or(NO_CALL_SITE)
    }
}

impl Thread {
    /// Stores a note on the call site of the call behind it; `before` is a time before the call,
    /// ticks, or 0.
    #[inline]
    pub(super) fn note_site(&self, recorder: &Recorder, note: Slot, index: u32, before: u64) {
        note.write(NextCallSite { index }.words());
        // Reading the clock would cost more than all the rest of this.
        let at = if before == 0 {
            recorder.clock.now()
        } else {
            before
        };
        note.stamp(at);
        self.forecast.correct(index);
    }

    /// Whether a call from there needs a note before it.
    #[inline(always)]
    pub(super) fn needs_note_of(&self, index: u32) -> bool {
        self.forecast.expected() != index
    }
}

impl Recorder {
    /// The index of a call site, which is defined if it was not yet; `None` if there is no room.
    fn define_site(&self, sites: &SiteRegistry, way: &Way) -> Result<Option<u32>, GrowError> {
        let Some(entry) = sites.sites.entry(way) else {
            return Ok(None);
        };
        let defined = sites.defined.lock();
        let mut defined = defined.unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been first.
        if let Some(index) = entry.site() {
            return Ok(Some(index));
        }
        let DefinedSites { modules, n } = &mut *defined;
        if *n >= MAX_SITES {
            return Ok(None);
        }
        let define = |module| self.write(&Definition::Module(module));
        let frames = way.addresses().iter();
        let frames: Result<Vec<SiteFrame>, GrowError> = frames
            .map(|&behind| modules.frame(&sites.sites, behind, define))
            .collect();
        let mut frames = frames?;
        let define = |function| self.write(&Definition::ScriptFunction(function));
        frames.extend(modules.script_frame(&sites.sites, way, define)?);
        self.write(&Definition::CallSite(CallSite {
            index: *n,
            frames,
            is_whole: way.is_whole,
        }))?;
        entry.set_site(*n);
        *n += 1;
        Ok(Some(*n - 1))
    }
}
