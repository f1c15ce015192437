#!/bin/sh
# Makes ready mpi4py below the target folder, nothing installed: a virtual environment for Debian's
# MPI libraries, and the source package, for its tests and demonstrations.
set -eu
cd "$(dirname "$0")/.."

wheel=4.1.2  # runs
source=4.0.3 # has the tests and the demonstrations

mpi4py=${CARGO_TARGET_DIR:-target}/mpi4py
mkdir -p "$mpi4py"
cd "$mpi4py"
if [ ! -e "environment/has-mpi4py-$wheel" ]; then
    echo "mpi4py.sh: installing mpi4py $wheel into $mpi4py/environment" >&2
    rm -rf environment
    # Debian's Python, not one that happens to come first in PATH.
    /usr/bin/python3 -m venv environment
    environment/bin/pip install --quiet --disable-pip-version-check "mpi4py==$wheel" numpy
    touch "environment/has-mpi4py-$wheel"
fi
if [ ! -d "source-$source" ]; then
    echo "mpi4py.sh: downloading the source of mpi4py $source into $mpi4py/source-$source" >&2
    # pip asks the package for its metadata first. Only mpi4py itself as source: with
    # "--no-binary :all:" its build tools would be compiled as well, for two minutes.
    environment/bin/pip download --quiet --disable-pip-version-check \
        --no-deps --no-binary mpi4py "mpi4py==$source"
    tar -xf "mpi4py-$source.tar.gz"
    mv "mpi4py-$source" "source-$source"
fi
ln -sfn "source-$source" source
