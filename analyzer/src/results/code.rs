//! Codes and names of fixed sets, as other programs read them.

use std::borrow::Cow;

/// A code or a name that is one of a fixed set: an operation of the standard, a kind of stage, a reason.
///
/// Text, and not an enum, wherever nothing is decided by it: so a document of a newer version, with codes
/// that this one does not know, is read as it is. Enums that results hold have a variant for these.
pub type Code = Cow<'static, str>;
