//! Programs and MPI libraries that others wrote: `make test-programs` installs them.

mod mpi4py;
mod mpis;
mod programs;
