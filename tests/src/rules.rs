//! Rule files of Open MPI that are made up, run for real, and compared with what `collbench-tune`
//! said of each call.

mod agreement;
mod han;
mod made_up;
mod mpich;
mod written;

pub use agreement::{Agreed, Baseline, RuledLibrary};
pub use han::HanAgreed;
pub use made_up::{Made, Reader, made_up};
pub use mpich::{MpichAgreed, MpichLibrary};
