#!/bin/sh
# Makes ready what "make test-programs" records: Debian packages, and mpi4py.
set -eu
cd "$(dirname "$0")/.."

scripts/need.sh openmpi-bin libopenmpi-dev gcc libc6-dev gfortran \
    lammps hpcc mumps-test mpb-mpi r-cran-rmpi ruby-mpi python3-h5py-mpi python3-venv
scripts/mpi4py.sh
