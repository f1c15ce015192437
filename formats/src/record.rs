//! One record: what was called, how it was completed, and what else is known about it.

#[cfg(feature = "serde")]
mod codes;
mod completion;
mod gap;
mod message;
mod note;
mod operation;
mod pass;
#[expect(clippy::module_inception, reason = "the record among what it may say")]
mod record;
mod semantics;
mod site_forecast;
mod word;

pub use completion::{
    CompletingCall, Completion, Initiation, PersistentStart, UnsuccessfulTests, phase_words,
};
pub use gap::{Activity, GapTime};
pub use message::{Direction, Message};
pub use note::{
    AlgorithmStart, CallSiteChange, Creation, NO_CALL_SITE, NO_TAG, NextCallSite, Note, Running,
};
pub use operation::Operation;
pub use pass::{CollectorPass, PassedWays};
pub use record::{
    FENCE_NO_PRECEDE, NO_RANK, ROOT_IS_ME, ROOT_NONE, ROOT_OTHER_OF_MY_GROUP, Record,
    UNKNOWN_COMMUNICATOR,
};
pub use semantics::Semantics;
pub use site_forecast::{CallSiteForecast, CallSiteHistory};
pub use word::{
    CODE_FAILED, CODE_INTERNAL, CODE_PAYLOAD_UNKNOWN, CommunicatorWord, MAX_PAYLOAD_BYTES,
    RecordKind, RecordWord,
};
