//! A call that may have a tree: its datatypes and buffers, from the arguments to what is on its way
//! over the tree, and back.
//!
//! Functions return `None` if the MPI library makes the call: where it has no tree, and with
//! arguments about which the library has something to say.

use std::ffi::c_int;
use std::ops::Range;

use collbench_formats::tree::{Collective, Results};
use collbench_paths::{Error, MpiTransport, Team};
use collbench_trees::wrappers::Order;

use super::active::Trees;
use super::adaptive::{Arguments, Candidate, Key, similar_payloads};
use super::communicator::{Chosen, TreesOfCommunicator};
use super::datatypes::{Elements, Layout, is_committed, pack, unpack};
use super::last_calls::Payload;
use super::predefined::NamedType;
use super::world::World;
use crate::mpi::{Handle, call_mpi};
use crate::record::Local;

/// A call that may have a tree.
pub(super) struct Call {
    pub(super) trees: &'static World,
    pub(super) of: &'static mut TreesOfCommunicator,
    collective: Collective,
    /// The payload of each rank.
    pub(super) bytes: usize,
    /// Whether the result depends on the grouping in which values are combined.
    pub(super) depends_on_grouping: bool,
    /// Whether calls with the same arguments are alike: types that are not predefined may be freed, and their handles
    /// used again.
    is_known: bool,
    /// The arguments by which similar calls are known.
    pub(super) arguments: Arguments,
    /// The index of its tree, once it was executed.
    pub(super) tree: usize,
}

/// The arguments of `MPI_Allreduce`, and of `MPI_Reduce` with its root.
#[derive(Clone, Copy)]
pub(super) struct Reduction {
    pub(super) sendbuf: usize,
    pub(super) recvbuf: usize,
    pub(super) count: usize,
    pub(super) datatype: usize,
    pub(super) operation: usize,
    pub(super) comm: usize,
}

impl Reduction {
    #[inline(always)]
    pub(super) fn payload(&self) -> Payload {
        [self.count, self.datatype, 0, 0, 0]
    }
}

/// A datatype in a call.
#[derive(Clone, Copy)]
pub(super) struct DataType {
    pub(super) handle: Handle,
    named: Option<NamedType>,
    /// Bytes of data of an element.
    pub(super) size: usize,
}

impl DataType {
    /// Whether elements are known to lie in memory as they are packed.
    #[inline]
    pub(super) fn is_dense(&self) -> bool {
        self.named.as_ref().is_some_and(NamedType::is_dense)
    }

    /// Bytes from one element to the next.
    pub(super) fn extent(&self) -> Option<isize> {
        match &self.named {
            Some(named) => Some(named.extent as isize),
            // SAFETY: it is a datatype, since the library has told its size.
            None => unsafe { Layout::of(self.handle) }.map(|layout| layout.extent),
        }
    }
}

/// Elements of a datatype, in equal blocks one after the other.
#[derive(Clone, Copy)]
pub(super) struct Blocks {
    pub(super) address: usize,
    /// Elements of a block.
    pub(super) n: usize,
    pub(super) datatype: DataType,
    pub(super) n_blocks: usize,
}

impl Blocks {
    pub(super) fn n_bytes(&self) -> usize {
        self.n * self.datatype.size * self.n_blocks
    }

    /// One of the blocks.
    pub(super) fn block(&self, nth: usize) -> Option<Self> {
        let offset = match nth {
            0 => 0,
            _ => self.datatype.extent()? * (self.n * nth) as isize,
        };
        Some(Self {
            address: self.address.wrapping_add_signed(offset),
            n_blocks: 1,
            ..*self
        })
    }

    pub(super) fn elements(&self, nth: usize) -> Option<Elements> {
        let block = self.block(nth)?;
        Some(Elements {
            address: block.address,
            n: block.n,
            datatype: block.datatype.handle,
        })
    }
}

/// A count, in a word as it is passed.
#[inline]
pub(super) fn count_of<const LARGE: bool>(count: usize) -> Option<usize> {
    if LARGE {
        usize::try_from(count as i64).ok()
    } else {
        usize::try_from(count as i32).ok()
    }
}

/// The trees of a communicator, and who asks for them.
pub(super) struct Found {
    pub(super) trees: &'static Trees,
    pub(super) local: &'static Local,
    pub(super) of: &'static mut TreesOfCommunicator,
}

/// The trees of a communicator for an operation; `None` if it has none, or is known to have none for this
/// payload, or the MPI library itself makes the call, inside another one, or it is the library's turn.
#[inline(always)]
pub(super) fn find<const ADAPTS: bool>(
    collective: Collective,
    comm: usize,
    arguments: Arguments,
) -> Option<Found> {
    let trees = Trees::active()?;
    let local = Local::of_this_thread();
    if local.is_internal() {
        return None;
    }
    // SAFETY: they exist until the program frees the communicator, which it does after this call, and
    // it makes no other collective call on the communicator meanwhile.
    let of = unsafe { &mut *trees.of_communicator(local, comm) };
    let may_have_tree =
        of.has_rules(collective) && !of.last_calls.has_declined(collective, &arguments.0);
    if !may_have_tree || ADAPTS && of.adaptive.goes_to_library(collective, arguments) {
        return None;
    }
    Some(Found { trees, local, of })
}

/// Begins a call; `None` if its communicator has no tree for the operation, or is known to have none for
/// this payload.
#[inline]
pub(super) fn begin(collective: Collective, comm: usize, payload: &Payload) -> Option<Call> {
    let arguments = (*payload, [0; 2]);
    let Found { trees, of, .. } = find::<false>(collective, comm, arguments)?;
    Some(Call {
        trees: &trees.world,
        of,
        collective,
        bytes: 0,
        depends_on_grouping: false,
        is_known: true,
        arguments,
        tree: 0,
    })
}

impl Call {
    /// A datatype of the call; `None` if it is none, or has no size.
    #[inline]
    pub(super) fn data_type(&mut self, datatype: usize) -> Option<DataType> {
        let handle = self.trees.library.handle(datatype);
        if let Some((last, named)) = self.of.last_used.datatype
            && last == handle
        {
            return Some(DataType {
                handle,
                named: Some(named),
                size: named.size,
            });
        }
        let named = self.trees.predefined.named_type(handle).copied();
        let size = match &named {
            Some(named) => {
                self.of.last_used.datatype = Some((handle, *named));
                named.size
            }
            None => {
                self.is_known = false;
                // SAFETY: MPI requires a datatype here; the null type is known.
                let bytes = unsafe { self.trees.library.type_bytes(handle) }?;
                usize::try_from(bytes).ok()?
            }
        };
        Some(DataType {
            handle,
            named,
            size,
        })
    }

    /// Sets the payload of each rank: some elements, said by these arguments. `None` if it has no tree: if
    /// it is nothing, or more than a count of bytes can say.
    #[inline]
    pub(super) fn carry(
        &mut self,
        n: usize,
        datatype: &DataType,
        arguments: Payload,
    ) -> Option<()> {
        let bytes = n.checked_mul(datatype.size)?;
        self.bytes = bytes;
        if bytes > i32::MAX as usize {
            return None;
        }
        if bytes > 0 && self.of.has_rule(self.collective, bytes as u64) {
            return Some(());
        }
        // Other types may be freed, and their handles used again.
        if datatype.named.is_some() {
            self.of.last_calls.decline(self.collective, arguments);
        }
        None
    }

    /// The root of the operation; `None` if it is not a rank.
    pub(super) fn root(&self, root: usize) -> Option<u32> {
        let root = u32::try_from(root as i32).ok()?;
        ((root as usize) < self.of.n_ranks()).then_some(root)
    }

    /// The communicator of ours, on which the library returns errors.
    pub(super) fn ours(&self) -> Handle {
        self.trees.ours.comm()
    }

    /// Whether some blocks cannot be at their address: it is null, which is that of `MPI_BOTTOM` for
    /// types with addresses of their own, or `MPI_IN_PLACE` where MPI does not take that.
    fn is_no_buffer(&self, blocks: &Blocks) -> bool {
        let address = blocks.address;
        address == self.trees.library.in_place || (address == 0 && blocks.datatype.is_dense())
    }

    /// Some blocks as they are on their way, which do not overlap `apart`.
    pub(super) fn given<'s>(
        &self,
        blocks: Blocks,
        apart: Range<usize>,
        scratch: &'s mut Vec<u8>,
    ) -> Option<&'s [u8]> {
        if self.is_no_buffer(&blocks) {
            return None;
        }
        let n_bytes = blocks.n_bytes();
        if blocks.datatype.is_dense() {
            // SAFETY: MPI requires a buffer with these elements, which have no gaps.
            let bytes = unsafe { std::slice::from_raw_parts(blocks.address as *const u8, n_bytes) };
            let end = blocks.address + n_bytes;
            if end <= apart.start || apart.end <= blocks.address {
                return Some(bytes);
            }
            scratch.clear();
            scratch.extend_from_slice(bytes);
            return Some(scratch);
        }
        scratch.clear();
        scratch.resize(n_bytes, 0);
        for (nth, into) in scratch
            .chunks_exact_mut((n_bytes / blocks.n_blocks).max(1))
            .enumerate()
        {
            // SAFETY: MPI requires a buffer with these elements.
            if !unsafe { pack(blocks.elements(nth)?, into, self.ours()) } {
                return None;
            }
        }
        Some(scratch)
    }

    /// Where the result of a call goes as it is on its way.
    pub(super) fn result<'s>(
        &self,
        blocks: Blocks,
        scratch: &'s mut Vec<u8>,
    ) -> Option<Receiving<'s>> {
        if self.is_no_buffer(&blocks) {
            return None;
        }
        let n_bytes = blocks.n_bytes();
        if blocks.datatype.is_dense() {
            // SAFETY: MPI requires a buffer for these elements, which have no gaps.
            let bytes =
                unsafe { std::slice::from_raw_parts_mut(blocks.address as *mut u8, n_bytes) };
            return Some(Receiving {
                bytes,
                unpacked: None,
            });
        }
        if !is_committed(blocks.datatype.handle, self.ours()) {
            return None;
        }
        scratch.clear();
        scratch.resize(n_bytes, 0);
        Some(Receiving {
            bytes: scratch,
            unpacked: Some(blocks),
        })
    }

    /// Executes the operation over its tree; `None` if it has none.
    pub(super) fn execute(
        &mut self,
        root: Option<u32>,
        order: Order,
        execute: impl FnOnce(&mut Team<MpiTransport>) -> Result<(), Error>,
    ) -> Option<c_int> {
        let (trees, collective, bytes) = (self.trees, self.collective, self.bytes as u64);
        let is_adapted = !trees.rules.adaptations.is_empty();
        if is_adapted {
            self.of.last_calls.forget(collective);
            self.of.adaptive.settle(collective, self.arguments);
        }
        match self.of.tree(trees, collective, bytes, root, order)? {
            Chosen::Tree(tree) => {
                let code = self.execute_over(tree, execute);
                if is_adapted {
                    self.of.adaptive.grant_all(collective);
                }
                code
            }
            Chosen::Adaptation(adaptation) => {
                let results = trees.rules.adaptations[adaptation].results;
                let keeps_grouping = self.depends_on_grouping && results == Results::Same;
                let key = Key {
                    collective,
                    adaptation,
                    bytes: similar_payloads(bytes, keeps_grouping),
                    root,
                    order,
                    keeps_grouping,
                };
                self.execute_candidate(key, execute)
            }
        }
    }

    fn execute_over(
        &mut self,
        tree: usize,
        execute: impl FnOnce(&mut Team<MpiTransport>) -> Result<(), Error>,
    ) -> Option<c_int> {
        self.tree = tree;
        let team = self.of.team(tree);
        match Local::of_this_thread().inside(|| execute(team)) {
            Ok(()) => Some(0),
            Err(error) => failed(self.trees, &error),
        }
    }

    /// Executes the operation over the tree that is its turn among several candidates; `None` if that is the library's
    /// operation.
    fn execute_candidate(
        &mut self,
        key: Key,
        execute: impl FnOnce(&mut Team<MpiTransport>) -> Result<(), Error>,
    ) -> Option<c_int> {
        let trees = self.trees;
        let of = match self.of.adaptive.find(&key) {
            Some(of) => of,
            None => self.of.add_key(trees, (key, self.bytes as u64)),
        };
        let candidate = loop {
            if let Some(candidate) = self.of.adaptive.begin(of) {
                break candidate;
            }
            if let Err(code) = self.of.control(trees, of) {
                return Some(code);
            }
        };
        let Candidate::Tree(rule) = candidate else {
            self.of.adaptive.start_at_library(of, self.is_known);
            return None;
        };
        let Some(tree) = self.of.tree_of_rule(trees, rule, key.root, key.order) else {
            // All processes find the same. Another tree keeps the results as they are; the library, if there is none.
            self.of.adaptive.was_impossible(of);
            let other = self.of.able_tree(trees, of, (key.root, key.order))?;
            return self.execute_over(other, execute);
        };
        self.of.adaptive.start(of);
        let code = self.execute_over(tree, execute);
        match code {
            Some(_) => self.of.adaptive.ended(of),
            None => self.of.adaptive.was_impossible(of),
        }
        code
    }

    /// The code of a call whose result has come.
    pub(super) fn finished(&self, code: c_int, is_stored: bool) -> c_int {
        if code == 0 && !is_stored {
            return self.trees.constants.error_other;
        }
        code
    }
}

/// The code of a call that has failed on its tree; `None` if the MPI library makes the call.
#[cold]
pub(super) fn failed(trees: &World, error: &Error) -> Option<c_int> {
    match error {
        // Nothing was sent, and all processes find the same.
        Error::Element { .. } | Error::Payload { .. } => None,
        Error::Truncated => Some(trees.constants.error_truncate),
        Error::Transport(error) => {
            trees.tags().keep();
            trees.tell_once(&error.to_string());
            Some(trees.constants.error_other)
        }
    }
}

/// Tells the program's error handler of the communicator if a call has failed; returns its code.
///
/// The handler may free the communicator, or leave by an exception: nothing of a call that is under
/// way may be needed after this, or be in use.
#[inline]
pub(super) fn raised(comm: usize, code: Option<c_int>) -> Option<c_int> {
    match code {
        None | Some(0) => code,
        Some(error) => Some(raise(comm, error)),
    }
}

#[cold]
fn raise(comm: usize, error: c_int) -> c_int {
    call_mpi!(c"PMPI_Comm_call_errhandler"; comm, error as usize);
    error
}

/// Where the result of a call goes.
pub(super) struct Receiving<'s> {
    pub(super) bytes: &'s mut [u8],
    /// Where it is unpacked to, if it does not lie as it is on its way.
    pub(super) unpacked: Option<Blocks>,
}

impl Receiving<'_> {
    /// Where in memory it is that the program sees.
    pub(super) fn range(&self) -> Range<usize> {
        match self.unpacked {
            Some(_) => 0..0,
            None => {
                let begin = self.bytes.as_ptr() as usize;
                begin..begin + self.bytes.len()
            }
        }
    }

    /// Stores the result where the program wants it. Returns whether the library has done it.
    pub(super) fn store(&self, ours: Handle) -> bool {
        let Some(blocks) = self.unpacked else {
            return true;
        };
        let each = (self.bytes.len() / blocks.n_blocks).max(1);
        let mut parts = self.bytes.chunks_exact(each).enumerate();
        parts.all(|(nth, from)| {
            let elements = blocks.elements(nth);
            // SAFETY: MPI requires a buffer for these elements.
            elements.is_some_and(|elements| unsafe { unpack(from, elements, ours) })
        })
    }
}
