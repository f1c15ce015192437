//! Operations over a tree of our own instead of the MPI library.

use collbench_paths::{Buffers, Elements, Error, Kernel, MpiTransport, Reduction, Team};

use super::{Call, Element};
use crate::collective::operation::Collective;

/// One process of a communicator whose operations run over a tree.
pub(in crate::collective) struct OverTree {
    team: Team<MpiTransport>,
    kernel: Kernel,
}

impl OverTree {
    /// For messages of these elements.
    pub(in crate::collective) fn new(team: Team<MpiTransport>, element: Element) -> Self {
        let kernel = match element {
            Element::Byte => Kernel::new(Reduction::Bor, Elements::Uint8),
            Element::Int => Kernel::new(Reduction::Sum, Elements::Int32),
            Element::Double => Kernel::new(Reduction::Sum, Elements::Double),
        };
        Self {
            team,
            kernel: kernel.expect("MPI defines it"),
        }
    }

    /// Executes an operation on blocks of this length; `None` if there are no trees for it.
    #[inline]
    pub(super) fn run(
        &mut self,
        of: Collective,
        root: u32,
        bytes: usize,
        (sent, received): (&mut [u8], &mut [u8]),
    ) -> Option<Result<(), Error>> {
        let (team, kernel) = (&mut self.team, &mut self.kernel);
        Some(match of {
            Collective::Barrier => team.barrier(),
            Collective::Bcast => team.bcast(sent, root),
            Collective::Reduce => team.reduce(Buffers::Two(sent, received), kernel, root),
            Collective::Allreduce => team.allreduce(Buffers::Two(sent, received), kernel),
            Collective::Gather => team.gather(Some(&sent[..bytes]), received, root),
            Collective::Scatter => team.scatter(sent, Some(&mut received[..bytes]), root),
            Collective::Allgather => team.allgather(Some(&sent[..bytes]), received),
            _ => return None,
        })
    }
}

/// What a process has after an operation.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    sent: Vec<u8>,
    received: Vec<u8>,
}

impl Call {
    /// Whether the operation over the tree leaves the same in the buffers of this process as that of
    /// the library; `false` if either fails. All processes call it together.
    pub(in crate::collective) fn agrees_with_library(&mut self, of: Collective) -> bool {
        let over_tree = self.outcome(|call| call.over_tree(of));
        let with_library = self.outcome(|call| call.blocking(of));
        over_tree.is_some() && over_tree == with_library
    }

    /// What an operation makes of values that differ from process to process, and from place to
    /// place; `None` if it fails.
    fn outcome(&mut self, operation: impl FnOnce(&mut Self) -> std::ffi::c_int) -> Option<Outcome> {
        let [n_sent, n_received] = self.all_bytes;
        let rank = self.rank as usize;
        for (i, byte) in self.sent.bytes(n_sent).iter_mut().enumerate() {
            // Of doubles only the middle of the fraction is set: their sums are exact in any order.
            let is_double = self.n_element_bytes == 8;
            *byte = match i % 8 {
                5 if is_double => (i / 8 + rank) as u8 & 0x0f,
                6 if is_double => 0x30,
                7 if is_double => 0x40,
                _ if is_double => 0,
                _ => (7 * i + 13 * rank + 1) as u8,
            };
        }
        self.received.bytes(n_received).fill(0);
        let code = operation(self);
        Some(Outcome {
            sent: self.sent.bytes(n_sent).to_vec(),
            received: self.received.bytes(n_received).to_vec(),
        })
        .filter(|_| code == 0)
    }
}
