//! The large-count forms (`MPI_X_c`) on an MPI library that does not have them.
//!
//! The preloaded library exports `MPI_Bcast_c` and the other large-count forms, since programs for
//! MPI 4 call them. A program that checks whether they exist (as mpi4py does) then also finds them
//! on a library of MPI 3 (Open MPI 4.1 and 5.0, MPICH 3), where it would use the classic forms
//! without collbench. So they must work: the counts are narrowed, and the classic function is
//! called.

use std::ffi::c_int;

use crate::mpi::{Constants, Handle, Neighbours, RealFunction};

/// `MPI_ERR_COUNT` in all ABIs: a count does not fit an `int`, or the number of counts is not
/// known.
const ERR_COUNT: c_int = 2;

/// The role of an argument of a large-count form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentRole {
    /// Passed on unchanged.
    Word,
    /// The send buffer, which may be `MPI_IN_PLACE`.
    SendBuffer,
    /// One count.
    Count,
    /// An array of counts or displacements of the data sent, one for each peer.
    SendArray,
    /// An array of counts or displacements of the data received, one for each peer.
    ReceiveArray,
}

/// Arrays that the MPI library reads until an operation is complete.
#[derive(Debug, Default)]
pub struct RetainedArrays(#[expect(dead_code, reason = "held for the MPI library")] Vec<Vec<i32>>);

impl RetainedArrays {
    /// Never frees them, since it will not be known when the operation is complete.
    pub fn leak(self) {
        std::mem::forget(self);
    }
}

/// The result of a call that initiates an operation: its return code, and the arrays to be
/// retained.
#[derive(Debug)]
pub struct Initiated {
    pub(crate) code: c_int,
    pub(crate) retained: RetainedArrays,
}

impl From<c_int> for Initiated {
    fn from(code: c_int) -> Self {
        Self {
            code,
            retained: RetainedArrays::default(),
        }
    }
}

impl Initiated {
    /// The return code. The arrays are freed, since the operation is complete.
    #[must_use]
    pub fn code(self) -> c_int {
        self.code
    }

    /// The return code; the arrays are never freed.
    pub(crate) fn code_leaking_arrays(self) -> c_int {
        self.retained.leak();
        self.code
    }
}

/// Lengths of the array arguments, as the communicator of the call gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Number of peers that are sent to.
    n_outgoing: usize,
    n_incoming: usize,
    n_local: usize,
    is_root: bool,
    /// `MPI_IN_PLACE`.
    in_place: usize,
}

impl Shape {
    const NO_ARRAYS: Self = Self {
        n_outgoing: 0,
        n_incoming: 0,
        n_local: 0,
        is_root: false,
        in_place: 0,
    };
}

/// The processes for which the array arguments of a collective have one entry each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peers {
    /// All processes of the communicator (of the remote group); the operation has no root.
    All,
    /// All processes, but only at this root (the root argument of the call).
    AllAtRoot(usize),
    /// The neighbours in the communicator's topology.
    Neighbours,
    /// There are no arrays. This is for calls on files and windows, which may have no communicator.
    NoArrays,
}

/// Calls the classic form of a collective with the arguments of its large-count form.
///
/// `arguments` are the role and the word of each argument, in order; `classic` gets the words to
/// pass. The result is `MPI_ERR_COUNT` if a count does not fit. It has the narrowed arrays, which
/// must live until the operation is complete.
///
/// # Safety
/// The arguments are valid for an MPI large-count collective.
pub unsafe fn call_narrowed(
    arguments: &[(ArgumentRole, usize)],
    comm: usize,
    peers: Peers,
    classic: impl FnOnce(&[usize]) -> c_int,
) -> Initiated {
    // SAFETY: the caller promises a communicator on which the collective is called.
    let Some(shape) = (unsafe { shape_of(comm, peers) }) else {
        return ERR_COUNT.into();
    };
    let is_rooted = matches!(peers, Peers::AllAtRoot(_));
    // SAFETY: the caller promises valid arguments, so arrays have the lengths that `shape` has.
    match unsafe { narrow(arguments, shape, is_rooted) } {
        Some((words, arrays)) => Initiated {
            code: classic(&words[..arguments.len()]),
            retained: RetainedArrays(arrays),
        },
        None => ERR_COUNT.into(),
    }
}

/// No collective has more arguments.
const MOST_ARGUMENTS: usize = 16;

/// The words of the classic form, and the arrays that some of them point to.
///
/// # Safety
/// Arrays that are significant have the lengths that `shape` has.
unsafe fn narrow(
    arguments: &[(ArgumentRole, usize)],
    shape: Shape,
    is_rooted: bool,
) -> Option<([usize; MOST_ARGUMENTS], Vec<Vec<i32>>)> {
    let in_place = arguments.contains(&(ArgumentRole::SendBuffer, shape.in_place));
    let has_send_arrays = arguments
        .iter()
        .any(|(role, _)| *role == ArgumentRole::SendArray);
    let is_only_receiving_array = !has_send_arrays
        && arguments
            .iter()
            .filter(|(role, _)| *role == ArgumentRole::ReceiveArray)
            .count()
            == 1;
    let mut arrays = Vec::new();
    let mut words = [0; MOST_ARGUMENTS];
    let mut narrowed_word = |role, word: usize| {
        let is_significant = match role {
            ArgumentRole::Word | ArgumentRole::SendBuffer => return Some(word),
            ArgumentRole::Count => {
                return i32::try_from(word as i64).ok().map(|count| count as usize);
            }
            // Only significant at the root of a gatherv or scatterv; elsewhere the value is
            // arbitrary.
            _ if is_rooted => shape.is_root,
            ArgumentRole::SendArray => !in_place,
            ArgumentRole::ReceiveArray => true,
        };
        if !is_significant || word == 0 {
            return Some(word);
        }
        // A reduce_scatter has a count for each process of its own group.
        let n = match role {
            _ if is_only_receiving_array => shape.n_local,
            ArgumentRole::SendArray => shape.n_outgoing,
            _ => shape.n_incoming,
        };
        let entry = |i| {
            // SAFETY: the array is significant, so it has `n` entries, which are 64-bit in this
            // form.
            unsafe { (word as *const i64).add(i).read_unaligned() }
        };
        let narrowed: Option<Vec<i32>> = (0..n).map(|i| i32::try_from(entry(i)).ok()).collect();
        let narrowed = narrowed?;
        let address = narrowed.as_ptr() as usize;
        arrays.push(narrowed);
        Some(address)
    };
    for (narrow, &(role, word)) in words.iter_mut().zip(arguments) {
        *narrow = narrowed_word(role, word)?;
    }
    Some((words, arrays))
}

/// The lengths of the array arguments of a collective on `comm`; `None` if they are not known.
///
/// # Safety
/// `comm` is a valid communicator.
unsafe fn shape_of(comm: Handle, peers: Peers) -> Option<Shape> {
    if peers == Peers::NoArrays {
        return Some(Shape::NO_ARRAYS);
    }
    let constants = Constants::known_of_this_process()?;
    static RANK: RealFunction = RealFunction::new(c"PMPI_Comm_rank");
    static SIZE: RealFunction = RealFunction::new(c"PMPI_Comm_size");
    static REMOTE_SIZE: RealFunction = RealFunction::new(c"PMPI_Comm_remote_size");
    static TEST_INTER: RealFunction = RealFunction::new(c"PMPI_Comm_test_inter");
    let ask = |function: &RealFunction| {
        let address = function.address();
        if address.is_null() {
            return None;
        }
        let mut answer = 0;
        // SAFETY: all four functions take a communicator and the address of an `int`; the caller
        // promises the communicator.
        unsafe {
            let function = std::mem::transmute::<
                *mut std::ffi::c_void,
                unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
            >(address);
            function(comm, &mut answer);
        }
        Some(answer)
    };
    if peers == Peers::Neighbours {
        // SAFETY: the caller promises a valid communicator.
        let (n_incoming, n_outgoing) =
            unsafe { Neighbours::of_any(comm, ask(&RANK)? as u32, constants.topologies) }?
                .degrees();
        return Some(Shape {
            n_outgoing,
            n_incoming,
            n_local: n_incoming,
            is_root: false,
            in_place: constants.in_place,
        });
    }
    let is_inter = ask(&TEST_INTER)? != 0;
    let n_local = ask(&SIZE)? as usize;
    let n_peers = if is_inter {
        ask(&REMOTE_SIZE)? as usize
    } else {
        n_local
    };
    let is_root = match peers {
        Peers::AllAtRoot(root) if is_inter => root as i32 == constants.root,
        Peers::AllAtRoot(root) => root as i32 == ask(&RANK)?,
        _ => false,
    };
    Some(Shape {
        n_outgoing: n_peers,
        n_incoming: n_peers,
        n_local,
        is_root,
        in_place: constants.in_place,
    })
}

#[cfg(test)]
mod tests {
    use super::ArgumentRole::{Count, ReceiveArray, SendArray, SendBuffer, Word};
    use super::*;

    const IN_PLACE: usize = 1;
    const SHAPE: Shape = Shape {
        n_outgoing: 3,
        n_incoming: 3,
        n_local: 2,
        is_root: false,
        in_place: IN_PLACE,
    };

    fn read(word: usize, n: usize) -> Vec<i32> {
        // SAFETY: tests pass words that `narrow` took from arrays of at least `n` entries.
        (0..n)
            .map(|i| unsafe { (word as *const i32).add(i).read() })
            .collect()
    }

    #[test]
    fn counts_that_fit_are_narrowed_and_others_refused() {
        // SAFETY: there are no arrays.
        let narrow_one = |word| unsafe { narrow(&[(Word, 7), (Count, word)], SHAPE, false) };
        assert_eq!(narrow_one(5).unwrap().0[..2], [7, 5]);
        assert_eq!(narrow_one(1 << 31), None);
    }

    #[test]
    fn arrays_are_narrowed_where_they_are_significant() {
        let (send, receive) = ([1i64, 2, 3], [4i64, 5, 6]);
        let (send, receive) = (send.as_ptr() as usize, receive.as_ptr() as usize);
        let arguments = |buffer, send| {
            [
                (SendBuffer, buffer),
                (SendArray, send),
                (ReceiveArray, receive),
            ]
        };
        // SAFETY: the arrays have three entries, as the shape says.
        let (words, _arrays) = unsafe { narrow(&arguments(4096, send), SHAPE, false) }.unwrap();
        assert_eq!(
            (read(words[1], 3), read(words[2], 3)),
            (vec![1, 2, 3], vec![4, 5, 6])
        );
        // In place, the send arguments are arbitrary, even an address that cannot be read.
        // SAFETY: the receive arrays have three entries, as the shape says; the send array is not
        // read.
        let (words, _arrays) = unsafe { narrow(&arguments(IN_PLACE, 13), SHAPE, false) }.unwrap();
        assert_eq!((words[1], read(words[2], 3)), (13, vec![4, 5, 6]));
    }

    #[test]
    fn arrays_of_a_rooted_operation_are_only_read_at_the_root() {
        let counts = [1i64, 2, 3];
        let counts = counts.as_ptr() as usize;
        // SAFETY: the array is not read.
        let (words, _) = unsafe { narrow(&[(SendArray, 13)], SHAPE, true) }.unwrap();
        assert_eq!(words[0], 13);
        let shape = Shape {
            is_root: true,
            ..SHAPE
        };
        // SAFETY: the array has three entries, as the shape says.
        let (words, _arrays) = unsafe { narrow(&[(SendArray, counts)], shape, true) }.unwrap();
        assert_eq!(read(words[0], 3), [1, 2, 3]);
    }

    #[test]
    fn a_reduce_scatter_has_one_count_for_each_of_its_own_group() {
        let counts = [1i64, 2];
        // SAFETY: the array has two entries, one for each process of the own group.
        let (words, _arrays) =
            unsafe { narrow(&[(ReceiveArray, counts.as_ptr() as usize)], SHAPE, false) }.unwrap();
        assert_eq!(read(words[0], 2), [1, 2]);
    }
}
