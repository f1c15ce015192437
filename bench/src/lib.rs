//! Measurement programs for MPI collectives.
