//! Programs and MPI libraries that others wrote: `make test-programs` installs them.

mod han_rules;
mod mpi4py;
mod mpich_rules;
mod mpich_schedules;
mod mpis;
mod programs;
