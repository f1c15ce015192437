//! From where in the program calls were made: ways up the stack, as addresses in modules.

use bincode::{Decode, Encode};

/// In [`SiteFrame::module`]: code in no file, such as code that was generated at run time.
pub const NO_MODULE: u32 = u32::MAX;

/// In [`SiteFrame::module`]: a line of a script, which an interpreter runs.
pub const SCRIPT: u32 = u32::MAX - 1;

/// A function of a script, which an interpreter runs.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ScriptFunction {
    /// The number that the [`SiteFrame`]s of this process use.
    pub index: u32,
    /// The file of the script, as the interpreter names it; empty if it is not known.
    pub file: String,
    /// The name of the function; empty if it is not known.
    pub name: String,
}

/// An executable or library that the loader has mapped into the process.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Module {
    /// The number that the [`SiteFrame`]s of this process use.
    pub index: u32,
    /// Path of its file, as the process saw it; empty if it is not known.
    pub path: String,
    /// Its build id (of the note of the linker in the file); empty if it has none.
    pub build_id: Vec<u8>,
}

/// One function on a way up the stack: where it goes on when the call inside it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct SiteFrame {
    /// Index of its [`Module`], [`NO_MODULE`], or [`SCRIPT`].
    pub module: u32,
    /// The return address, as an address in the file of the module (where the linker put it); in no
    /// module, the address itself. The call instruction ends right before it. In a script: in the upper
    /// half the index of its [`ScriptFunction`], in the lower half the line, 0 where it is not known.
    pub address: u64,
}

/// A place in the program from which calls of MPI are made: a way up the stack.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CallSite {
    /// The number that [`CallSiteChange`](crate::CallSiteChange) has.
    pub index: u32,
    /// The functions on the way, the innermost first. The last one is the first that is neither of
    /// the MPI library and its bindings nor of a library that only wraps MPI; unless the way could
    /// not be followed that far.
    pub frames: Vec<SiteFrame>,
    /// Whether the way could be followed that far.
    pub is_whole: bool,
}
