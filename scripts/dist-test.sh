#!/bin/sh
# Runs what dist.sh and deb.sh have made: on this machine, in a bare Debian 12 and in a bare Debian 11 (the oldest
# that the mirror has), with Open MPI 4 and 5 and MPICH 3, 4 and 5. Each time a program whose rank 2 is late is
# recorded, around the launcher and inside it, and the verdict must name that rank. As root; some minutes, and 1 GB
# of downloads and disk below the target folder.
set -eu
cd "$(dirname "$0")/.."

skip() {
    echo "dist-test.sh: SKIPPED: $1" >&2
    [ -z "${CI:-}" ] || exit 1
}
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
dist=$target/dist
set -- "$dist"/collbench-*-x86_64-linux.tar.zst
[ -f "$1" ] || { echo "dist-test.sh: no archive in $dist; run make deb first" >&2; exit 1; }
archive=${1##*/}
name=${archive%.tar.zst}
deb=collbench_$(echo "$name" | cut -d - -f 2)_amd64.deb
[ "$(id -u)" = 0 ] || { skip "must be run as root"; exit 0; }
scripts/need.sh mmdebstrap zstd openmpi-bin libopenmpi-dev
scripts/mpis.sh

# Programs for glibc 2.28, since a newer compiler's do not start in Debian 11.
work=$dist/test
rm -rf "$work"
mkdir -p "$work"
cp "$dist/$archive" "$work/"
cp "$dist/$deb" "$work/"
build() {
    "$dist/tools/bin/python-zig" cc -target x86_64-linux-gnu.2.28 -O1 -Wl,--allow-shlib-undefined \
        -o "$work/delays.$1" tests/programs/delays.c "$3" -I"$2" -lm
}
lib=/usr/lib/x86_64-linux-gnu
build openmpi $lib/openmpi/include "$(readlink -f $lib/libmpi.so)"
build mpich "$target/mpis/debian-mpich$lib/mpich/include" "$target/mpis/debian-mpich$lib/libmpich.so.12"
build mpich5 "$target/mpis/mpich/include" "$target/mpis/mpich/lib/libmpi.so.12"

cat >"$work/run" <<'END'
#!/bin/sh
# run MPI COMMANDS LAUNCHER...: records delays.MPI in both forms with these commands and this launcher.
set -eu
mpi=$1
commands=$2
shift 2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
folder=$(mktemp -d)
cd "$folder"
mkdir log
trap 'cat record >&2' EXIT
"$commands/collbench-record" -o outer -- "$@" /test/delays.$mpi log late 2 >record 2>&1
"$@" "$commands/collbench-record" -o inner -- /test/delays.$mpi log late 2 >>record 2>&1
for trace in outer inner; do
    "$commands/collbench-analyze" $trace >$trace.txt
    if ! grep -q '^  - rank 2 is late' $trace.txt || ! grep -q '^  ran   4 ranks on 1 host' $trace.txt; then
        cat $trace.txt >&2
        exit 1
    fi
done
sed -n 's/^  ran .*(.*), \(.*\), .*/    \1: late rank named, outer and inner form/p' inner.txt
trap - EXIT
rm -r "$folder"
END
cat >"$work/all" <<'END'
#!/bin/sh
# all NAME ARCHIVE DEB MPIS: the archive with all MPI libraries that are there, and the package.
set -eu
name=$1 archive=$2 deb=$3 mpis=$4
begin=$(date +%s.%N)
cd "$(mktemp -d)"
tar --zstd -xf "/test/$archive"
if command -v mpirun.openmpi >/dev/null; then
    sh /test/run openmpi "$PWD/$name/bin" mpirun.openmpi --oversubscribe -n 4
fi
echo "    from the archive to the first verdicts: $(date +%s.%N | awk -v b="$begin" '{printf "%.1f s", $1 - b}')"
# Another folder, which cannot be written.
mkdir moved
mv "$name" "moved/$name"
mount --bind moved moved
mount -o remount,ro,bind moved
commands=$PWD/moved/$name/bin
if command -v mpiexec.mpich >/dev/null; then
    sh /test/run mpich "$commands" mpiexec.mpich -n 4
fi
LD_LIBRARY_PATH=$mpis/openmpi/lib sh /test/run openmpi "$commands" "$mpis/openmpi/bin/mpirun" --oversubscribe -n 4
LD_LIBRARY_PATH=$mpis/mpich/lib sh /test/run mpich5 "$commands" "$mpis/mpich/bin/mpiexec" -n 4
(cd "moved/$name" && sha256sum --quiet -c SHA256SUMS)
umount moved
[ -e /bare ] || exit 0
# The package: installed, used, installed over an older one, removed.
dpkg -i "/test/$deb" >/dev/null
sh /test/run openmpi /usr/bin mpirun.openmpi --oversubscribe -n 4
dpkg-deb -R "/test/$deb" older
sed -i 's/^Version: .*/Version: 0.0.1/' older/DEBIAN/control
dpkg-deb -b older older.deb >/dev/null
dpkg -r collbench >/dev/null
dpkg -i older.deb >/dev/null
dpkg -i "/test/$deb" >/dev/null
collbench-record --version | head -n 1
dpkg -r collbench >/dev/null
if dpkg -L collbench 2>/dev/null | grep -q . || find / -xdev -path /proc -prune -o -name '*collbench*' \
    ! -path '/tmp/*' -print | grep -v '^/test' | grep .; then
    echo "something is left of the package" >&2
    exit 1
fi
echo "    package: installed, used, upgraded, removed without a rest"
END

# inside ROOT: runs everything there, without a trace of mounts afterwards.
inside() {
    unshare --mount sh -eu -c '
        root=$1 work=$2 target=$3
        shift 3
        mkdir -p "$root/test" "$root$target/mpis"
        mount --bind "$work" "$root/test"
        if [ "$root" != / ]; then
            mount --bind "$target/mpis" "$root$target/mpis"
            mount -t proc proc "$root/proc"
            mount --rbind /dev "$root/dev"
            # MPI libraries look up their own host.
            cp /etc/hosts "$root/etc/hosts"
        fi
        exec chroot "$root" sh /test/all "$@"
    ' sh "$1" "$work" "$target" "$name" "$archive" "$deb" "$target/mpis"
}
# An empty folder for the mount, which stays if others use it.
trap 'rmdir /test 2>/dev/null || true' EXIT
echo "this machine:"
inside /
for suite in bookworm bullseye; do
    root=$dist/roots/$suite
    if [ ! -e "$root/bare" ]; then
        rm -rf "$root"
        mkdir -p "$dist/roots"
        if ! mmdebstrap --quiet --variant=minbase --include=openmpi-bin,mpich,zstd "$suite" "$root"; then
            skip "the mirror has no $suite"
            continue
        fi
        touch "$root/bare"
    fi
    echo "$suite, $(chroot "$root" ldd --version | sed -n '1s/.* /glibc /p'):"
    inside "$root"
done
echo "dist-test.sh: all passed"
