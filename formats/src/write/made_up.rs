//! What files of runs that there never were begin with.

use crate::file::{
    Abi, ClockIdentity, ClockSource, Communicator, CommunicatorKind, HostIdentity, Identity, Layer,
    LayerState, MpiIdentity, NO_COMMUNICATOR,
};
use crate::record::NO_RANK;

impl Identity {
    /// A rank of a run that there never was, on one host whose ticks are ns, with calls only and without
    /// anchors.
    #[must_use]
    pub fn made_up(rank: u32, world_size: u32) -> Self {
        Self {
            recorder: "0.1.0".into(),
            world: 77,
            rank,
            world_size,
            pid: 100 + rank,
            spawned: false,
            host: HostIdentity {
                name: "n01".into(),
                boot_id: "boot-1".into(),
                time_namespace: 1,
            },
            clock: ClockIdentity {
                source: ClockSource::MonotonicRaw,
                granularity_ticks: 1,
                read_cost_milliticks: 9000,
            },
            mpi: MpiIdentity {
                abi: Abi::OpenMpi,
                library_version: "Open MPI v4.1.4, package: Debian".into(),
                library_path: "/lib/libmpi.so".into(),
                thread_level: 0,
            },
            layers: vec![LayerState::new(Layer::Calls, true, "")],
            command: vec!["./app".into()],
            anchors: Vec::new(),
        }
    }
}

impl Communicator {
    /// One that is there from the beginning, whose first member is world rank 0.
    #[must_use]
    pub fn predefined(index: u32, id: u64, size: u32, rank: u32) -> Self {
        Self {
            index,
            id,
            parent: NO_COMMUNICATOR,
            constructor: 0,
            position: 0,
            kind: CommunicatorKind::Intra,
            size,
            rank,
            remote_size: 0,
            first_member: 0,
            remote_first_member: NO_RANK,
            name: String::new(),
        }
    }
}
