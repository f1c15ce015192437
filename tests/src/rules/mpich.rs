//! Selection files of MPICH that are made up, run for real, and compared with what `collbench-tune`
//! said of each call.
//!
//! What runs is not derived from messages: the program is linked with the static library of
//! Debian's package, in which every algorithm is a function of its own, and the linker puts a note
//! before each of them. This tells apart algorithms that send the same messages. Hosts are
//! made up by MPICH itself (`MPIR_CVAR_NUM_CLIQUES`).

mod agreement;
mod made_up;
mod program;

pub use agreement::{MpichAgreed, MpichLibrary};
