//! Spanning trees under mpirun: those of MPI libraries, and our own.

mod killed;
mod of_libraries;
mod own;
mod replaced;
mod shorter;
mod sites;
mod woven;
