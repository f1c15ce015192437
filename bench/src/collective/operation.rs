//! The operations that are measured, by name.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A collective operation with data or without, in its blocking form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Collective {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Bcast,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Gatherv`, with equal counts.
    Gatherv,
    /// `MPI_Scatter`.
    Scatter,
    /// `MPI_Scatterv`, with equal counts.
    Scatterv,
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Allgatherv`, with equal counts.
    Allgatherv,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Alltoallv`, with equal counts.
    Alltoallv,
    /// `MPI_Alltoallw`, with equal counts and types.
    Alltoallw,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Reduce_scatter`, with equal counts.
    ReduceScatter,
    /// `MPI_Reduce_scatter_block`.
    ReduceScatterBlock,
    /// `MPI_Scan`.
    Scan,
    /// `MPI_Exscan`.
    Exscan,
}

use Collective::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, Barrier, Bcast, Exscan,
    Gather, Gatherv, Reduce, ReduceScatter, ReduceScatterBlock, Scan, Scatter, Scatterv,
};

/// All collectives, with the part of their name that follows `MPI_`, or `MPI_I` in lower case.
const COLLECTIVES: [(Collective, &str); 17] = [
    (Barrier, "Barrier"),
    (Bcast, "Bcast"),
    (Gather, "Gather"),
    (Gatherv, "Gatherv"),
    (Scatter, "Scatter"),
    (Scatterv, "Scatterv"),
    (Allgather, "Allgather"),
    (Allgatherv, "Allgatherv"),
    (Alltoall, "Alltoall"),
    (Alltoallv, "Alltoallv"),
    (Alltoallw, "Alltoallw"),
    (Reduce, "Reduce"),
    (Allreduce, "Allreduce"),
    (ReduceScatter, "Reduce_scatter"),
    (ReduceScatterBlock, "Reduce_scatter_block"),
    (Scan, "Scan"),
    (Exscan, "Exscan"),
];

impl Collective {
    /// Blocks of one message length in the send buffer and in the receive buffer of a process, in a
    /// communicator of `processes`.
    #[must_use]
    pub(super) fn blocks(self, processes: usize) -> [usize; 2] {
        match self {
            Barrier => [0, 0],
            Bcast => [1, 0],
            Reduce | Allreduce | Scan | Exscan => [1, 1],
            Gather | Gatherv | Allgather | Allgatherv => [1, processes],
            Scatter | Scatterv | ReduceScatter | ReduceScatterBlock => [processes, 1],
            Alltoall | Alltoallv | Alltoallw => [processes, processes],
        }
    }

    /// Whether one process has another part than the rest.
    #[must_use]
    pub(super) fn has_root(self) -> bool {
        matches!(self, Bcast | Gather | Gatherv | Scatter | Scatterv | Reduce)
    }

    /// What it does, as a sentence.
    fn text(self) -> &'static str {
        match self {
            Barrier => "Processes wait for one another.",
            Bcast => "One process sends the same to all others.",
            Gather => "One process receives a block from each.",
            Gatherv => "One process receives a block from each, with counts.",
            Scatter => "One process sends a block to each.",
            Scatterv => "One process sends a block to each, with counts.",
            Allgather => "Each process receives a block from each.",
            Allgatherv => "Each process receives a block from each, with counts.",
            Alltoall => "Each process sends a block of its own to each.",
            Alltoallv => "Each process sends a block of its own to each, with counts.",
            Alltoallw => "Each process sends a block of its own to each, with counts and types.",
            Reduce => "One process gets the combination of the values of all.",
            Allreduce => "Each process gets the combination of the values of all.",
            ReduceScatter => "Each process gets a part of the combination of the values of all.",
            ReduceScatterBlock => {
                "Each process gets a part of one length of the combination of the values of all."
            }
            Scan => "Each process gets the combination of its values and those of lower ranks.",
            Exscan => "Each process gets the combination of the values of lower ranks.",
        }
    }

    fn word(self) -> &'static str {
        let found = COLLECTIVES
            .iter()
            .find(|(collective, _)| *collective == self);
        found.map_or("", |(_, word)| word)
    }
}

/// A message to a partner and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PingPong {
    /// `MPI_Send` to `MPI_Recv`.
    Send,
    /// `MPI_Ssend` to `MPI_Recv`.
    Ssend,
    /// `MPI_Bsend` to `MPI_Recv`.
    Bsend,
    /// `MPI_Isend`, completed by `MPI_Wait`, to `MPI_Recv`.
    Isend,
    /// `MPI_Send` to `MPI_Irecv`, completed by `MPI_Wait`.
    Irecv,
    /// `MPI_Send` to `MPI_Iprobe`, repeated until it finds the message, and `MPI_Recv`.
    Iprobe,
    /// `MPI_Send` to `MPI_Recv` with `MPI_ANY_TAG`.
    AnyTag,
    /// `MPI_Sendrecv`.
    Sendrecv,
    /// `MPI_Sendrecv_replace`.
    SendrecvReplace,
}

const PING_PONGS: [(PingPong, &str); 9] = [
    (PingPong::Send, "MPI_Send-MPI_Recv"),
    (PingPong::Ssend, "MPI_Ssend-MPI_Recv"),
    (PingPong::Bsend, "MPI_Bsend-MPI_Recv"),
    (PingPong::Isend, "MPI_Isend-MPI_Recv"),
    (PingPong::Irecv, "MPI_Send-MPI_Irecv"),
    (PingPong::Iprobe, "MPI_Send-MPI_Iprobe"),
    (PingPong::AnyTag, "MPI_Send-MPI_Recv-any-tag"),
    (PingPong::Sendrecv, "MPI_Sendrecv"),
    (PingPong::SendrecvReplace, "MPI_Sendrecv_replace"),
];

/// Process 0 sends pieces of work to all others, which send results back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MasterWorker {
    /// Results are received by `MPI_Waitsome`; each is answered by the next piece.
    Waitsome,
    /// Results are received by `MPI_Waitany`; each is answered by the next piece.
    Waitany,
    /// Results are received from `MPI_ANY_SOURCE`; each is answered by the next piece.
    AnySource,
    /// Pieces are sent by `MPI_Send`; no result is waited for in between.
    Send,
    /// Pieces are sent by `MPI_Ssend`; no result is waited for in between.
    Ssend,
    /// Pieces are sent by `MPI_Bsend`; no result is waited for in between.
    Bsend,
    /// Pieces are sent by `MPI_Isend`, completed together; no result is waited for in between.
    Isend,
}

const MASTER_WORKERS: [(MasterWorker, &str); 7] = [
    (MasterWorker::Waitsome, "master-MPI_Waitsome"),
    (MasterWorker::Waitany, "master-MPI_Waitany"),
    (MasterWorker::AnySource, "master-MPI_Recv-any-source"),
    (MasterWorker::Send, "master-MPI_Send"),
    (MasterWorker::Ssend, "master-MPI_Ssend"),
    (MasterWorker::Bsend, "master-MPI_Bsend"),
    (MasterWorker::Isend, "master-MPI_Isend"),
];

impl MasterWorker {
    /// Whether only the sending of pieces is measured.
    #[must_use]
    pub(super) fn sends_only(self) -> bool {
        matches!(self, Self::Send | Self::Ssend | Self::Bsend | Self::Isend)
    }
}

/// A call without communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Simple {
    /// Nothing: what the measurement itself costs.
    Empty,
    /// `MPI_Wtime`.
    Wtime,
    /// `MPI_Comm_rank`.
    CommRank,
    /// `MPI_Comm_size`.
    CommSize,
    /// `MPI_Iprobe` that finds nothing.
    Iprobe,
    /// `MPI_Buffer_attach` and `MPI_Buffer_detach`.
    Attach,
}

const SIMPLES: [(Simple, &str); 6] = [
    (Simple::Empty, "empty"),
    (Simple::Wtime, "MPI_Wtime"),
    (Simple::CommRank, "MPI_Comm_rank"),
    (Simple::CommSize, "MPI_Comm_size"),
    (Simple::Iprobe, "MPI_Iprobe"),
    (Simple::Attach, "MPI_Buffer_attach"),
];

/// An operation that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    /// The blocking form.
    Blocking(Collective),
    /// The nonblocking form, followed at once by `MPI_Wait`.
    Nonblocking(Collective),
    /// `MPI_Start` and `MPI_Wait` of the persistent form, which is made before.
    Persistent(Collective),
    /// `MPI_Comm_dup`; the communicator is freed after the measurement.
    CommDup,
    /// `MPI_Comm_split` into even and odd ranks; the communicator is freed after the measurement.
    CommSplit,
    /// Between the two processes with the largest latency.
    PingPong(PingPong),
    /// Process 0 is the master of all others.
    MasterWorker(MasterWorker),
    /// In each process by itself.
    Simple(Simple),
}

/// How operations are coordinated.
///
/// # Source
/// Reussner et al. 1999, section 2.1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pattern {
    /// All processes of a communicator call it.
    #[default]
    Collective,
    /// Two processes send to one another.
    PingPong,
    /// One process divides work among the others.
    MasterWorker,
    /// Each process calls it without a partner.
    Simple,
}

impl Pattern {
    /// Its name in JSON, and in words.
    #[must_use]
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Collective => "collective",
            Self::PingPong => "ping-pong",
            Self::MasterWorker => "master-worker",
            Self::Simple => "simple",
        }
    }
}

impl Operation {
    /// All operations, in the order of the lists above.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let collectives = || COLLECTIVES.iter().map(|(collective, _)| *collective);
        collectives()
            .map(Self::Blocking)
            .chain(collectives().map(Self::Nonblocking))
            .chain(collectives().map(Self::Persistent))
            .chain([Self::CommDup, Self::CommSplit])
            .chain(PING_PONGS.iter().map(|(of, _)| Self::PingPong(*of)))
            .chain(MASTER_WORKERS.iter().map(|(of, _)| Self::MasterWorker(*of)))
            .chain(SIMPLES.iter().map(|(of, _)| Self::Simple(*of)))
    }

    /// Its name: as in the MPI standard; of ping-pongs both functions.
    #[must_use]
    pub(super) fn name(self) -> String {
        match self {
            Self::Blocking(collective) => format!("MPI_{}", collective.word()),
            Self::Nonblocking(collective) => {
                format!("MPI_I{}", collective.word().to_ascii_lowercase())
            }
            Self::Persistent(collective) => format!("MPI_{}_init", collective.word()),
            Self::CommDup => "MPI_Comm_dup".to_owned(),
            Self::CommSplit => "MPI_Comm_split".to_owned(),
            Self::PingPong(own) => name_in(&PING_PONGS, own),
            Self::MasterWorker(own) => name_in(&MASTER_WORKERS, own),
            Self::Simple(own) => name_in(&SIMPLES, own),
        }
    }

    /// The operation with this name.
    #[must_use]
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::all().find(|operation| operation.name() == name)
    }

    /// What it does, as a sentence or two.
    #[must_use]
    pub(super) fn text(self) -> String {
        match self {
            Self::Blocking(own) => own.text().to_owned(),
            Self::Nonblocking(own) => format!("{} MPI_Wait follows at once.", own.text()),
            Self::Persistent(own) => format!("{} MPI_Start and MPI_Wait.", own.text()),
            Self::CommDup => "Processes make a communicator like theirs.".to_owned(),
            Self::CommSplit => "Even and odd ranks make communicators of their own.".to_owned(),
            Self::PingPong(PingPong::Sendrecv | PingPong::SendrecvReplace) => {
                "Two processes send to one another at once.".to_owned()
            }
            Self::PingPong(_) => "A message to another process and back.".to_owned(),
            Self::MasterWorker(own) if own.sends_only() => {
                "Process 0 sends pieces to all others in turn.".to_owned()
            }
            Self::MasterWorker(_) => {
                "Process 0 sends pieces to all others, and answers each result by the next."
                    .to_owned()
            }
            Self::Simple(Simple::Empty) => "What the measurement itself takes.".to_owned(),
            Self::Simple(_) => "A call without a partner.".to_owned(),
        }
    }

    /// How it is coordinated.
    #[must_use]
    pub(super) fn pattern(self) -> Pattern {
        match self {
            Self::PingPong(_) => Pattern::PingPong,
            Self::MasterWorker(_) => Pattern::MasterWorker,
            Self::Simple(_) => Pattern::Simple,
            _ => Pattern::Collective,
        }
    }

    /// The collective, of whatever form.
    #[must_use]
    pub(super) fn collective(self) -> Option<Collective> {
        match self {
            Self::Blocking(own) | Self::Nonblocking(own) | Self::Persistent(own) => Some(own),
            _ => None,
        }
    }

    /// Blocks of one message length in the buffers of a process: sent, received.
    #[must_use]
    pub(super) fn blocks(self, processes: usize) -> [usize; 2] {
        match self {
            Self::PingPong(_) => [1, 1],
            Self::MasterWorker(_) => [1, processes],
            _ => self
                .collective()
                .map_or([0, 0], |own| own.blocks(processes)),
        }
    }

    /// Whether its time depends on a message length.
    #[must_use]
    pub(super) fn has_length(self) -> bool {
        self.blocks(1) != [0, 0]
    }
}

fn name_in<T: PartialEq + Copy>(names: &[(T, &str)], own: T) -> String {
    let found = names.iter().find(|(of, _)| *of == own);
    found.map_or(String::new(), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use collbench_formats::Operation as Recorded;

    use super::*;

    #[test]
    fn each_operation_is_found_by_its_name_and_the_collectives_are_those_that_traces_name() {
        let names: HashSet<String> = Operation::all().map(Operation::name).collect();
        assert_eq!(names.len(), 3 * 17 + 2 + 9 + 7 + 6);
        for operation in Operation::all() {
            assert_eq!(Operation::of_name(&operation.name()), Some(operation));
            if operation.collective().is_some() {
                let name = operation.name();
                assert!(Recorded::from_name(&name).is_some(), "{name}");
            }
        }
        assert_eq!(Operation::of_name("MPI_Broadcast"), None);
    }
}
