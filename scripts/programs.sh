#!/bin/sh
# Makes ready what "make test-programs" records: Debian packages, and mpi4py in a virtual
# environment of its own with the demonstrations of its source package.
set -eu
cd "$(dirname "$0")/.."

scripts/need.sh openmpi-bin libopenmpi-dev gcc libc6-dev gfortran \
    lammps hpcc mumps-test r-cran-rmpi ruby-mpi python3-h5py-mpi python3-venv

wheel=4.1.2  # runs
source=4.0.3 # has the demonstrations

programs=${CARGO_TARGET_DIR:-target}/programs
mkdir -p "$programs"
cd "$programs"
if [ ! -e "venv/has-mpi4py-$wheel" ]; then
    echo "programs.sh: mpi4py $wheel into $programs/venv" >&2
    rm -rf venv
    # Debian's Python, not one that happens to come first in PATH.
    /usr/bin/python3 -m venv venv
    venv/bin/pip install --quiet --disable-pip-version-check "mpi4py==$wheel" numpy
    touch "venv/has-mpi4py-$wheel"
fi
if [ ! -d mpi4py-demos ]; then
    echo "programs.sh: the demonstrations of mpi4py $source into $programs/mpi4py-demos" >&2
    # pip asks the package for its metadata first. Only mpi4py itself as source: with
    # "--no-binary :all:" its build tools would be compiled as well, for two minutes.
    venv/bin/pip download --quiet --disable-pip-version-check \
        --no-deps --no-binary mpi4py "mpi4py==$source"
    tar -xf "mpi4py-$source.tar.gz"
    mv "mpi4py-$source" mpi4py-demos
fi
