//! The nonblocking collectives that have a message, whose length can be calibrated.

use serde::{Deserialize, Serialize};

/// Number of blocks in a buffer, each as long as what a process contributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    /// One.
    One,
    /// One for each process.
    PerProcess,
    /// One for each neighbor, of which there are two.
    PerNeighbor,
}

impl Blocks {
    /// How many, in a job of this size.
    pub(super) fn count(self, n_processes: u64) -> u64 {
        match self {
            Self::One => 1,
            Self::PerProcess => n_processes,
            Self::PerNeighbor => 2,
        }
    }
}

/// The operations, with their name and the blocks of the largest send buffer and receive buffer of
/// any process.
macro_rules! operations {
    ($($variant:ident $name:literal $send:ident $receive:ident)*) => {
        /// A nonblocking collective.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub(super) enum Operation {
            $(
                #[doc = $name]
                #[serde(rename = $name)]
                $variant,
            )*
        }

        impl Operation {
            /// All of them, in the order of their numbers.
            pub(super) const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name in the MPI standard.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Blocks of the largest send buffer and of the largest receive buffer.
            pub(super) fn blocks(self) -> [Blocks; 2] {
                match self {
                    $(Self::$variant => [Blocks::$send, Blocks::$receive],)*
                }
            }
        }
    };
}

operations! {
    Ibcast "MPI_Ibcast" One One
    Igather "MPI_Igather" One PerProcess
    Igatherv "MPI_Igatherv" One PerProcess
    Iscatter "MPI_Iscatter" PerProcess One
    Iscatterv "MPI_Iscatterv" PerProcess One
    Iallgather "MPI_Iallgather" One PerProcess
    Iallgatherv "MPI_Iallgatherv" One PerProcess
    Ialltoall "MPI_Ialltoall" PerProcess PerProcess
    Ialltoallv "MPI_Ialltoallv" PerProcess PerProcess
    Ialltoallw "MPI_Ialltoallw" PerProcess PerProcess
    Ireduce "MPI_Ireduce" One One
    Iallreduce "MPI_Iallreduce" One One
    IreduceScatter "MPI_Ireduce_scatter" PerProcess One
    IreduceScatterBlock "MPI_Ireduce_scatter_block" PerProcess One
    Iscan "MPI_Iscan" One One
    Iexscan "MPI_Iexscan" One One
    IneighborAllgather "MPI_Ineighbor_allgather" One PerNeighbor
    IneighborAllgatherv "MPI_Ineighbor_allgatherv" One PerNeighbor
    IneighborAlltoall "MPI_Ineighbor_alltoall" PerNeighbor PerNeighbor
    IneighborAlltoallv "MPI_Ineighbor_alltoallv" PerNeighbor PerNeighbor
    IneighborAlltoallw "MPI_Ineighbor_alltoallw" PerNeighbor PerNeighbor
}

/// Bytes of an element, a double.
pub(super) const ELEMENT: u64 = 8;

impl Operation {
    /// The operation with this name, with or without `MPI_`, in upper or lower case.
    ///
    /// # Errors
    /// Lists the names.
    pub(super) fn of_name(text: &str) -> Result<Self, String> {
        let short = |name: &str| {
            let name = name.to_ascii_lowercase();
            name.strip_prefix("mpi_")
                .map_or(name.clone(), str::to_owned)
        };
        let mut all = Self::ALL.iter().copied();
        all.find(|operation| short(operation.name()) == short(text))
            .ok_or_else(|| {
                let names: Vec<String> = Self::ALL.iter().map(|one| short(one.name())).collect();
                format!("expected one of {}", names.join(", "))
            })
    }

    /// Elements of the largest send and receive buffer of any process, for messages of `length`.
    pub(super) fn elements(self, length: u64, n_processes: u64) -> [u64; 2] {
        self.blocks()
            .map(|blocks| length.saturating_mul(blocks.count(n_processes)))
    }

    /// Longest message whose buffers take at most `bytes` together, and whose displacements in
    /// bytes fit into an `int`; at least 1.
    pub(super) fn longest(self, bytes: u64, n_processes: u64) -> u64 {
        let [send, receive] = self.elements(1, n_processes);
        let by_memory = bytes / (ELEMENT * (send + receive));
        let by_count = i32::MAX as u64 / (ELEMENT * send.max(receive));
        by_memory.min(by_count).max(1)
    }

    /// Whether its communicator has a topology.
    pub(super) fn has_neighbors(self) -> bool {
        self.blocks().contains(&Blocks::PerNeighbor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_message_fits_into_memory_and_into_an_int() {
        for &operation in Operation::ALL {
            for (bytes, n_processes) in [(1 << 20, 2), (1 << 40, 8), (1, 3), (1 << 33, 2_000)] {
                let longest = operation.longest(bytes, n_processes);
                let [send, receive] = operation.elements(longest, n_processes);
                assert!(longest == 1 || ELEMENT * (send + receive) <= bytes);
                assert!(ELEMENT * send.max(receive) <= i32::MAX as u64);
                let [send, receive] = operation.elements(longest + 1, n_processes);
                let fits = ELEMENT * (send + receive) <= bytes
                    && ELEMENT * send.max(receive) <= i32::MAX as u64;
                assert!(!fits, "{operation:?}: {longest}");
            }
        }
    }

    #[test]
    fn an_operation_is_known_by_its_name_in_any_spelling() {
        for name in ["MPI_Ireduce_scatter", "ireduce_scatter", "IREDUCE_SCATTER"] {
            assert_eq!(Operation::of_name(name), Ok(Operation::IreduceScatter));
        }
        assert!(
            Operation::of_name("bcast")
                .unwrap_err()
                .contains("ibcast, igather")
        );
    }

    #[test]
    fn buffers_hold_a_block_for_each_partner() {
        assert_eq!(Operation::Ibcast.elements(10, 4), [10, 10]);
        assert_eq!(Operation::Igather.elements(10, 4), [10, 40]);
        assert_eq!(Operation::Ialltoall.elements(10, 4), [40, 40]);
        assert_eq!(Operation::IneighborAlltoallw.elements(10, 4), [20, 20]);
        assert!(Operation::IneighborAllgather.has_neighbors());
        assert!(!Operation::Iallgather.has_neighbors());
    }
}
