//! A rank file as a whole, recorded or compact.

mod chunk;
mod definitions;
mod rank_trace;
mod records;
#[cfg(test)]
pub(crate) mod tests;
mod window;

pub use chunk::Chunk;
pub use definitions::Definitions;
pub use rank_trace::RankTrace;
pub use records::Records;
pub use window::Window;
