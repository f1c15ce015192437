//! One record: what was called, what became of it, and what more is known of it.

#[cfg(feature = "serde")]
mod codes;
mod completion;
mod message;
mod note;
mod operation;
#[expect(clippy::module_inception, reason = "the record among what it may say")]
mod record;
mod semantics;

pub use completion::{
    CompletingCall, Completion, Initiation, PersistentStart, TestsInVain, phase_words,
};
pub use message::{Direction, MESSAGE_BYTES, MESSAGE_TAG_SHIFT, Message, message_direction};
pub use note::{AlgorithmBegun, Making, NO_TAG, Note, Running};
pub use operation::Operation;
pub use record::{
    CODE_FAILED, CODE_INTERNAL, CODE_PAYLOAD_UNKNOWN, FENCE_NO_PRECEDE, MAX_PAYLOAD_BYTES, NO_RANK,
    ROOT_IS_ME, ROOT_NONE, ROOT_OTHER_OF_MY_GROUP, Record, RecordKind, UNKNOWN_COMMUNICATOR,
    pack_call_word, payload_of_word, split_call_word,
};
pub use semantics::Semantics;
