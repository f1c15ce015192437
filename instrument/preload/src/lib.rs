//! The preloaded library with the MPI_* symbols.
