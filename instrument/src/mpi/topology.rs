//! The neighbours of this process in the topology of a communicator, by local queries only.

use std::ffi::c_int;

use collbench_formats::{NO_RANK, Operation, Topology};

use super::find::{address_of, call_mpi};
use super::handle::Handle;

/// The processes that a process sends to and receives from in neighborhood collectives, as ranks of
/// the communicator, in order; [`NO_RANK`] for `MPI_PROC_NULL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Neighbours {
    incoming: Vec<u32>,
    outgoing: Vec<u32>,
}

fn ranks(given: &[c_int]) -> Vec<u32> {
    given
        .iter()
        .map(|&rank| u32::try_from(rank).unwrap_or(NO_RANK))
        .collect()
}

impl Neighbours {
    /// In a communicator that `constructor` has just created; `None` if that creates no topology,
    /// or the library does not know it.
    ///
    /// # Safety
    /// `comm` is a valid communicator created by `constructor`, and `rank` is the process's rank in
    /// it.
    pub(crate) unsafe fn of(constructor: Operation, comm: Handle, rank: u32) -> Option<Self> {
        match constructor {
            Operation::CartCreate | Operation::CartSub => of_grid(comm),
            Operation::GraphCreate => of_graph(comm, rank),
            Operation::DistGraphCreate | Operation::DistGraphCreateAdjacent => {
                of_distributed_graph(comm)
            }
            _ => None,
        }
    }

    /// In any communicator; `None` without a topology. The last argument has the constants of the
    /// three kinds of topology.
    ///
    /// # Safety
    /// `comm` is a valid communicator, and `rank` is the process's rank in it.
    pub(crate) unsafe fn of_any(
        comm: Handle,
        rank: u32,
        [cart, graph, dist_graph]: [c_int; 3],
    ) -> Option<Self> {
        let mut kind: c_int = 0;
        if call_mpi!(c"PMPI_Topo_test"; comm, address_of(&mut kind)) != 0 {
            return None;
        }
        match kind {
            _ if kind == cart => of_grid(comm),
            _ if kind == graph => of_graph(comm, rank),
            _ if kind == dist_graph => of_distributed_graph(comm),
            _ => None,
        }
    }

    /// Numbers of counts that a neighborhood collective has for data received, and for data sent.
    pub(crate) fn degrees(&self) -> (usize, usize) {
        (self.incoming.len(), self.outgoing.len())
    }

    /// The definition of the topology of the communicator with this index.
    pub(crate) fn of_communicator(&self, index: u32) -> Topology {
        Topology {
            communicator: index,
            in_neighbours: self.incoming.clone(),
            out_neighbours: self.outgoing.clone(),
        }
    }
}

/// Sources and destinations, which are equal: for each dimension the neighbor before and the one after.
fn of_grid(comm: Handle) -> Option<Neighbours> {
    let mut n_dimensions: c_int = 0;
    if call_mpi!(c"PMPI_Cartdim_get"; comm, address_of(&mut n_dimensions)) != 0 {
        return None;
    }
    let mut all: Vec<c_int> = Vec::new();
    for dimension in 0..n_dimensions as usize {
        let (mut before, mut after): (c_int, c_int) = (-1, -1);
        let code = call_mpi!(c"PMPI_Cart_shift"; comm, dimension, 1, address_of(&mut before), address_of(&mut after));
        if code != 0 {
            return None;
        }
        all.extend([before, after]);
    }
    let all = ranks(&all);
    Some(Neighbours {
        incoming: all.clone(),
        outgoing: all,
    })
}

fn of_graph(comm: Handle, rank: u32) -> Option<Neighbours> {
    let mut n: c_int = 0;
    let rank = rank as usize;
    if call_mpi!(c"PMPI_Graph_neighbors_count"; comm, rank, address_of(&mut n)) != 0 {
        return None;
    }
    let mut all: Vec<c_int> = vec![-1; n.max(0) as usize];
    let address = all.as_mut_ptr() as usize;
    if call_mpi!(c"PMPI_Graph_neighbors"; comm, rank, all.len(), address) != 0 {
        return None;
    }
    let all = ranks(&all);
    Some(Neighbours {
        incoming: all.clone(),
        outgoing: all,
    })
}

fn of_distributed_graph(comm: Handle) -> Option<Neighbours> {
    let (mut n_in, mut n_out, mut is_weighted): (c_int, c_int, c_int) = (0, 0, 0);
    let code = call_mpi!(c"PMPI_Dist_graph_neighbors_count";
        comm, address_of(&mut n_in), address_of(&mut n_out), address_of(&mut is_weighted));
    if code != 0 {
        return None;
    }
    let mut arrays = [n_in, n_in, n_out, n_out].map(|n| vec![-1 as c_int; n.max(0) as usize]);
    let [sources, source_weights, destinations, weights] =
        arrays.each_mut().map(|array| array.as_mut_ptr() as usize);
    let code = call_mpi!(c"PMPI_Dist_graph_neighbors";
        comm, n_in as usize, sources, source_weights, n_out as usize, destinations, weights);
    (code == 0).then(|| Neighbours {
        incoming: ranks(&arrays[0]),
        outgoing: ranks(&arrays[2]),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Three to receive from, one of which is MPI_PROC_NULL, and two to send to.
    pub(crate) fn neighbours() -> Neighbours {
        Neighbours {
            incoming: ranks(&[1, -2, 3]),
            outgoing: ranks(&[0, 0]),
        }
    }

    #[test]
    fn the_definition_has_the_ranks_in_their_order_and_proc_null_as_no_rank() {
        let topology = neighbours().of_communicator(5);
        assert_eq!(topology.communicator, 5);
        assert_eq!(topology.in_neighbours, [1, NO_RANK, 3]);
        assert_eq!(topology.out_neighbours, [0, 0]);
        assert_eq!(neighbours().degrees(), (3, 2));
    }
}
