//! Events of a location.

use bincode::{Decode, Encode};

use crate::definitions::{
    AttributeType, CommRef, MetricRef, MetricType, RegionRef, SourceCodeRef, StringRef, WindowRef,
};

/// What happened on a location. The names are those of OTF2's event records.
#[derive(Debug, Clone, Copy, PartialEq, Encode, Decode)]
pub enum Event {
    /// A region was entered.
    Enter(RegionRef),
    /// A region was left.
    Leave(RegionRef),
    /// A blocking collective operation began.
    MpiCollectiveBegin,
    /// A blocking collective operation ended.
    MpiCollectiveEnd(Collective),
    /// A nonblocking collective operation was initiated.
    NonBlockingCollectiveRequest {
        /// Number of the request, not used by another request of this location at the same time.
        request: u64,
    },
    /// A nonblocking collective operation was completed.
    NonBlockingCollectiveComplete {
        /// The operation.
        collective: Collective,
        /// Number of the request.
        request: u64,
    },
    /// The value of a metric.
    Metric(MetricRef, MetricValue),
    /// Data were sent to another process of the window.
    RmaPut(Transfer),
    /// Data were fetched from another process of the window.
    RmaGet(Transfer),
    /// A transfer was completed by the call that began it.
    RmaOpCompleteBlocking {
        /// The window.
        window: WindowRef,
        /// Number of the transfer.
        matching_id: u64,
    },
    /// A transfer was completed by a later call.
    RmaOpCompleteNonBlocking {
        /// The window.
        window: WindowRef,
        /// Number of the transfer.
        matching_id: u64,
    },
}

/// One process's part in a collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Collective {
    /// The operation.
    pub op: CollectiveOp,
    /// The communicator.
    pub comm: CommRef,
    /// The root, of operations that have one.
    pub root: Root,
    /// Bytes that this process sends.
    pub bytes_sent: u64,
    /// Bytes that this process receives.
    pub bytes_received: u64,
}

/// The root of a collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Root {
    /// The operation has none.
    None,
    /// A rank of the communicator; of an intercommunicator, of the other group.
    Rank(u32),
    /// This process, on an intercommunicator (`MPI_ROOT`).
    This,
    /// Another process of this process's group, on an intercommunicator (`MPI_PROC_NULL`).
    ThisGroup,
}

/// A transfer of data between this process and another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Transfer {
    /// The window.
    pub window: WindowRef,
    /// Rank of the other process in the communicator of the window.
    pub remote: u32,
    /// Bytes that were transferred.
    pub bytes: u64,
    /// Number by which the completion refers to the transfer.
    pub matching_id: u64,
}

/// A collective operation; their order is that of their numbers in OTF2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum CollectiveOp {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Allreduce,
    Reduce,
    ReduceScatter,
    Scan,
    Exscan,
    ReduceScatterBlock,
    CreateHandle,
    DestroyHandle,
    Allocate,
    Deallocate,
    CreateHandleAndAllocate,
    DestroyHandleAndDeallocate,
}

/// The value of a metric, of the type in its definition.
#[derive(Debug, Clone, Copy, PartialEq, Encode, Decode)]
pub enum MetricValue {
    /// An integer of either sign.
    Signed(i64),
    /// An integer that is not negative.
    Unsigned(u64),
    /// A floating-point number.
    Float(f64),
}

impl MetricValue {
    pub(crate) fn value_type(self) -> MetricType {
        match self {
            Self::Signed(_) => MetricType::Signed,
            Self::Unsigned(_) => MetricType::Unsigned,
            Self::Float(_) => MetricType::Float,
        }
    }
}

/// The value of an attribute, of the type in its definition.
#[derive(Debug, Clone, Copy, PartialEq, Encode, Decode)]
pub enum AttributeValue {
    /// An integer that is not negative.
    Unsigned(u64),
    /// An integer of either sign.
    Signed(i64),
    /// A floating-point number.
    Float(f64),
    /// A text.
    String(StringRef),
    /// A line of a source file.
    SourceCode(SourceCodeRef),
}

impl AttributeValue {
    pub(crate) fn value_type(self) -> AttributeType {
        match self {
            Self::Unsigned(_) => AttributeType::Unsigned,
            Self::Signed(_) => AttributeType::Signed,
            Self::Float(_) => AttributeType::Float,
            Self::String(_) => AttributeType::String,
            Self::SourceCode(_) => AttributeType::SourceCode,
        }
    }
}
