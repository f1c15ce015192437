#!/bin/sh
# Makes ready what "make test-strangers" records: Debian packages, some 2.5 GB, and mpi4py. Nothing
# else is fetched. A package that cannot be had is said, and what needs it is left out by the test,
# which counts that.
set -eu
cd "$(dirname "$0")/.."

scripts/programs.sh

packages="g++ quantum-espresso quantum-espresso-data nwchem-openmpi cp2k cp2k-data gromacs
    scalapack-mpi-test examl phyml iqtree abyss ptscotch meep-openmpi netpipe-openmpi
    python3-petsc4py-real python3-slepc4py-real python3-mpi4py-fft r-cran-snow
    libboost-mpi-dev libp4est-dev libpnetcdf-dev"
# The word splitting is meant.
scripts/need.sh $packages && exit 0

# All at once did not do: one by one, as far as they go.
for package in $packages; do
    scripts/need.sh "$package" || left="${left:-} $package"
done
if [ -n "${left:-}" ]; then
    echo "strangers.sh: LEFT OUT, because these packages cannot be installed:$left" >&2
fi
