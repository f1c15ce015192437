//! What the user of a tree decides.

use super::wait::{Idle, WaitPolicy};

/// How a tree is executed. All processes of a communicator use the same, but for the policy.
#[derive(Debug, Clone, Copy)]
pub struct TeamOptions {
    /// How this process waits.
    pub policy: WaitPolicy,
    /// Payloads are divided into segments of at most this many bytes, at least 64.
    pub segment_bytes: usize,
    /// The first of the tags of messages; [`n_tags`](crate::n_tags) are used.
    pub first_tag: u32,
    /// Where all processes are on one host and meet in one place, values of so many bytes and more are
    /// not divided into segments in broadcasts, gathers and scatters: each process copies what it is
    /// given from where another one has it, if the kernel grants that to all.
    pub copy_once_from: usize,
    /// Where all processes are on one host and meet in one place, reductions of so many bytes and
    /// more are divided among them: each combines a slice for all.
    pub divide_from: usize,
    /// Slices of values of so many bytes and more are copied from where processes have them, if each has a
    /// core and the kernel grants that to all; those of smaller ones all copy at the same time from what
    /// is in shared memory.
    pub copy_slices_from: usize,
    /// Where all processes are on one host and meet in one place, reductions to a root of so many bytes and
    /// more are divided among them; of few processes, the root copies the values instead.
    pub divide_to_root_from: usize,
}

impl TeamOptions {
    /// Segments of 8 KiB, tags from 0 on. One copy from 64 KiB on where processes share cores: they
    /// would take turns for each segment. Where each has its own, they copy segments at the same time,
    /// and one copy is faster from 128 KiB on.
    #[must_use]
    pub const fn new(policy: WaitPolicy) -> Self {
        Self {
            policy,
            segment_bytes: 8 << 10,
            first_tag: 0,
            copy_once_from: match policy.idle() {
                Idle::Spin => 128 << 10,
                Idle::Yield | Idle::Sleep => 64 << 10,
            },
            divide_from: 16 << 10,
            copy_slices_from: 512 << 10,
            divide_to_root_from: 128 << 10,
        }
    }

    /// For so many processes. Two copy values once from 8 KiB on: nobody else wants the memory of a
    /// process at the same time, which the kernel grants to one after the other.
    #[must_use]
    pub const fn for_processes(self, n: u32) -> Self {
        match n {
            2 => Self {
                copy_once_from: 8 << 10,
                copy_slices_from: 64 << 10,
                divide_to_root_from: 8 << 10,
                ..self
            },
            _ => self,
        }
    }
}
