#!/bin/sh
# Puts commands, library, manual pages and completions below a prefix: install.sh PREFIX. Honours
# DESTDIR. Run by "make install", after the build.
set -eu
cd "$(dirname "$0")/.."

prefix=${DESTDIR:-}$1
release=${CARGO_TARGET_DIR:-target}/release

mkdir -p "$prefix/bin" "$prefix/lib"
# collbench-bench needs MPI to be built, and is installed where "make bench" has built it.
for name in collbench-record collbench-analyze collbench-generate collbench-bench; do
    if [ $name = collbench-bench ] && [ ! -x "$release/$name" ]; then
        continue
    fi
    install -m 755 "$release/$name" "$prefix/bin/$name"
done
install -m 755 "$release/libcollbench_preload.so" "$prefix/lib/"
echo "installed in $prefix"
