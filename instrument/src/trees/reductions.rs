//! `MPI_Allreduce` and `MPI_Reduce`. Each returns the code of the call, or `None` if the MPI library
//! makes it. Handles are as the program passes them.

use std::ffi::c_int;

use collbench_formats::tree::Collective;
use collbench_paths::{Buffers, Combine};
use collbench_trees::wrappers::Order;

use super::again::{allreduce_again, reduce_again};
use super::call::{Blocks, Call, DataType, Receiving, Reduction, begin, count_of, find};
use super::communicator::Scratch;
use super::datatypes::Layout;
use super::last_calls::LastReduction;
use super::predefined::Executed;
use super::reduce_local::LocalReduction;
use crate::mpi::Handle;

/// What executes the operation of a call.
enum Executor {
    /// One of ours, or the library on elements as they are.
    AsTheyAre(Executed),
    /// The library on elements that are unpacked for it.
    Unpacked(Layout),
}

impl Call {
    /// What combines values, and in which order.
    #[inline]
    fn executor(&mut self, operation: Handle, datatype: &DataType) -> Option<(Executor, Order)> {
        if let Some((last, of_type, kernel)) = self.of.last_used.kernel
            && (last, of_type) == (operation, datatype.handle)
        {
            return Some((Executor::AsTheyAre(Executed::Kernel(kernel)), Order::Any));
        }
        let predefined = &self.trees.predefined;
        if let Some(executed) = predefined.executed(operation, datatype.handle) {
            if let Executed::Kernel(kernel) = executed {
                self.of.last_used.kernel = Some((operation, datatype.handle, kernel));
            }
            return Some((Executor::AsTheyAre(executed), Order::Any));
        }
        if predefined.is_operation(operation) || operation == 0 {
            return None;
        }
        if datatype.is_dense() {
            return Some((Executor::AsTheyAre(Executed::Locally), Order::OfRanks));
        }
        // SAFETY: it is a datatype, since the library has told its size.
        let layout = unsafe { Layout::of(datatype.handle) }?;
        Some((Executor::Unpacked(layout), Order::OfRanks))
    }
}

/// `MPI_Allreduce`, or `MPI_Reduce` to a root.
#[inline(never)]
fn reduction<const LARGE: bool>(arguments: Reduction, root: Option<usize>) -> Option<c_int> {
    let collective = match root {
        Some(_) => Collective::Reduce,
        None => Collective::Allreduce,
    };
    let payload = arguments.payload();
    let mut call = begin(collective, arguments.comm, &payload)?;
    call.arguments.1 = [arguments.operation, root.unwrap_or(0)];
    let (trees, sendbuf, recvbuf) = (call.trees, arguments.sendbuf, arguments.recvbuf);
    let n = count_of::<LARGE>(arguments.count)?;
    let datatype = call.data_type(arguments.datatype)?;
    call.carry(n, &datatype, payload)?;
    let root = match root {
        Some(root) => Some(call.root(root)?),
        None => None,
    };
    let operation = trees.library.handle(arguments.operation);
    let (executor, order) = call.executor(operation, &datatype)?;
    if !trees.rules.adaptations.is_empty() {
        let predefined = &trees.predefined;
        call.depends_on_grouping = predefined.depends_on_grouping(operation, datatype.handle);
    }
    let gets_result = root.is_none_or(|root| root == call.of.rank);
    let in_place = trees.library.in_place;
    let is_in_place = sendbuf == in_place;
    let is_wrong = if gets_result {
        recvbuf == in_place
    } else {
        is_in_place
    };
    if is_wrong {
        return None;
    }
    let buffers = ReductionBuffers {
        from: if is_in_place { recvbuf } else { sendbuf },
        to: gets_result.then_some(recvbuf),
        is_in_place,
        n,
        datatype,
    };
    if let Executor::AsTheyAre(Executed::Kernel(mut kernel)) = executor {
        let n_bytes = n * kernel.element_bytes();
        let code = call.reduce_in_memory(&buffers, n_bytes, root, order, &mut kernel);
        if code == Some(0) {
            let last = LastReduction {
                n,
                datatype: datatype.handle,
                operation,
                kernel,
                n_bytes,
                tree: call.tree,
            };
            match root {
                Some(root) => call.of.last_calls.reduce = Some((last, root)),
                None => call.of.last_calls.allreduce = Some(last),
            }
        }
        return code;
    }
    let mut scratch = std::mem::take(&mut call.of.scratch);
    let code = match executor {
        Executor::Unpacked(layout) => {
            call.reduce_packed(&buffers, operation, layout, &mut scratch, root, order)
        }
        Executor::AsTheyAre(_) => {
            let mut local = LocalReduction::new(
                (operation, datatype.handle),
                datatype.size,
                order == Order::OfRanks,
                None,
                call.ours(),
                &mut scratch.memory,
            );
            let n_bytes = call.bytes;
            let code = call.reduce_in_memory(&buffers, n_bytes, root, order, &mut local);
            let local_code = local.code;
            code.map(|code| call.finished(code, local_code == 0))
        }
    };
    call.of.scratch = scratch;
    code
}

/// Where the data of a reduction are.
struct ReductionBuffers {
    from: usize,
    /// Where the result goes, if it comes to this process.
    to: Option<usize>,
    is_in_place: bool,
    n: usize,
    datatype: DataType,
}

impl Call {
    /// A reduction of what lies in memory as it is on its way.
    fn reduce_in_memory(
        &mut self,
        buffers: &ReductionBuffers,
        n_bytes: usize,
        root: Option<u32>,
        order: Order,
        combine: &mut dyn Combine,
    ) -> Option<c_int> {
        if buffers.from == 0 || buffers.to == Some(0) {
            return None;
        }
        let result: &mut [u8] = match buffers.to {
            // SAFETY: MPI requires a buffer for the result here.
            Some(to) => unsafe { std::slice::from_raw_parts_mut(to as *mut u8, n_bytes) },
            None => &mut [],
        };
        let copied: Vec<u8>;
        let buffers = if buffers.is_in_place {
            Buffers::InPlace(result)
        } else {
            // SAFETY: MPI requires a buffer with the data here.
            let given = unsafe { std::slice::from_raw_parts(buffers.from as *const u8, n_bytes) };
            let is_apart = !given.as_ptr_range().contains(&result.as_ptr())
                && !result.as_ptr_range().contains(&given.as_ptr());
            if is_apart {
                Buffers::Two(given, result)
            } else {
                copied = given.to_vec();
                Buffers::Two(&copied, result)
            }
        };
        self.execute(root, order, |team| match root {
            Some(root) => team.reduce(buffers, combine, root),
            None => team.allreduce(buffers, combine),
        })
    }

    /// A reduction of what is packed.
    fn reduce_packed(
        &mut self,
        buffers: &ReductionBuffers,
        operation: Handle,
        layout: Layout,
        scratch: &mut Scratch,
        root: Option<u32>,
        order: Order,
    ) -> Option<c_int> {
        let (n, datatype) = (buffers.n, buffers.datatype);
        let blocks = |address| Blocks {
            address,
            n,
            datatype,
            n_blocks: 1,
        };
        self.given(blocks(buffers.from), 0..0, &mut scratch.given)?;
        let ours = self.ours();
        let mut local = LocalReduction::new(
            (operation, datatype.handle),
            datatype.size,
            order == Order::OfRanks,
            Some(layout),
            ours,
            &mut scratch.memory,
        );
        let packed = &mut scratch.given[..];
        let code = self.execute(root, order, |team| match root {
            Some(root) if buffers.to.is_none() => {
                team.reduce(Buffers::Two(packed, &mut []), &mut local, root)
            }
            Some(root) => team.reduce(Buffers::InPlace(packed), &mut local, root),
            None => team.allreduce(Buffers::InPlace(packed), &mut local),
        })?;
        let local_code = local.code;
        let is_stored = match (code, buffers.to) {
            (0, Some(to)) => {
                let result = Receiving {
                    bytes: &mut scratch.given,
                    unpacked: Some(blocks(to)),
                };
                result.store(ours)
            }
            _ => true,
        };
        Some(self.finished(code, is_stored && local_code == 0))
    }
}

/// `MPI_Allreduce`.
#[inline]
pub(super) fn allreduce<const LARGE: bool, const ADAPTS: bool>(
    arguments: Reduction,
) -> Option<c_int> {
    let all = (arguments.payload(), [arguments.operation, 0]);
    let found = find::<ADAPTS>(Collective::Allreduce, arguments.comm, all)?;
    match allreduce_again::<LARGE, ADAPTS>(found, &arguments) {
        None => reduction::<LARGE>(arguments, None),
        code => code,
    }
}

/// `MPI_Reduce`.
#[inline]
pub(super) fn reduce<const LARGE: bool, const ADAPTS: bool>(
    arguments: Reduction,
    root: usize,
) -> Option<c_int> {
    let all = (arguments.payload(), [arguments.operation, root]);
    let found = find::<ADAPTS>(Collective::Reduce, arguments.comm, all)?;
    match reduce_again::<LARGE, ADAPTS>(found, &arguments, root) {
        None => reduction::<LARGE>(arguments, Some(root)),
        code => code,
    }
}
