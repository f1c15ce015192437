#!/bin/sh
# Makes target/dist/collbench-VERSION-x86_64-linux.tar.zst: commands, preloaded library, man pages, completions,
# documentation and licenses, for every Linux with glibc 2.28 or later. Builds the commit that is checked out
# (or, without git, this folder) twice, in two folders, and fails if the builds differ, if dist-check.py finds
# something, or if the archive is too large. Run by "make dist", after the normal build.
set -eu
cd "$(dirname "$0")/.."

glibc=2.28
most_bytes=15000000
commands="collbench-record collbench-compact collbench-analyze collbench-generate collbench-tree collbench-tune collbench-export"

target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
dist=$target/dist
normal=$target/release/libcollbench_preload.so
mkdir -p "$dist"
unset CARGO_TARGET_DIR
scripts/need.sh python3-venv binutils zstd
if [ ! -f "$normal" ]; then
    echo "dist.sh: nothing has been built in $target/release; run make build first" >&2
    exit 1
fi

# Zig brings the linker and a glibc of every version.
tools="cargo-zigbuild==0.24.1 ziglang==0.17.1"
if [ ! -e "$dist/tools/has $tools" ]; then
    rm -rf "$dist/tools"
    python3 -m venv "$dist/tools"
    "$dist/tools/bin/pip" install --quiet --disable-pip-version-check $tools
    touch "$dist/tools/has $tools"
fi
export PATH="$dist/tools/bin:$PATH"

commit=
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
    commit=$(git rev-parse HEAD)
    git diff --quiet HEAD || echo "dist.sh: changes that are not committed are not built" >&2
fi

# source FOLDER: the source files of the commit.
source() {
    rm -rf "$1"
    mkdir -p "$1"
    if [ -n "$commit" ]; then
        git archive "$commit"
    else
        tar -c --exclude ./target .
    fi | tar -x -m -C "$1"
}

# Zig would link its own unwinder, which cannot pass on the exceptions of a program through the recorder. This
# is libgcc_s as the linker sees it: names and versions.
libgcc() {
    python3 - <<'END' >"$1/libgcc.c"
for version, names in {
    "GCC_3.0": "DeleteException ForcedUnwind GetDataRelBase GetGR GetIP GetLanguageSpecificData GetRegionStart "
    "GetTextRelBase RaiseException Resume SetGR SetIP",
    "GCC_3.3": "Backtrace FindEnclosingFunction GetCFA Resume_or_Rethrow",
    "GCC_4.2.0": "GetIPInfo",
}.items():
    for name in names.split():
        print(f'__asm__(".symver v_{name}, _Unwind_{name}@@{version}"); void v_{name}(void) {{}}')
END
    echo 'GCC_3.0 {}; GCC_3.3 {}; GCC_4.2.0 {};' >"$1/libgcc.map"
    python3 -m ziglang cc -target x86_64-linux-gnu.$glibc -shared -nostdlib -Wl,-soname,libgcc_s.so.1 \
        -Wl,--version-script="$1/libgcc.map" -o "$1/libgcc_s.so.1" "$1/libgcc.c"
}

# build FOLDER: builds in FOLDER/source; commands and library are then in FOLDER/built.
build() {
    source "$1/source"
    libgcc "$1"
    (
        cd "$1/source"
        export RUSTFLAGS="-Clink-arg=../libgcc_s.so.1 --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
        export CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_INCREMENTAL=0
        cargo zigbuild --quiet --locked --release --target x86_64-unknown-linux-gnu.$glibc --target-dir ../target
    )
    rm -rf "$1/built"
    mkdir "$1/built"
    for name in $commands libcollbench_preload.so; do
        cp "$1/target/x86_64-unknown-linux-gnu/release/$name" "$1/built/"
    done
}

echo "dist.sh: building for glibc $glibc, twice"
build "$dist/first"
rm -rf "$dist/second"
build "$dist/second"
if ! diff -r "$dist/first/built" "$dist/second/built"; then
    echo "dist.sh: two builds of one commit differ; their folders are $dist/first and $dist/second" >&2
    exit 1
fi
rm -rf "$dist/second"

version=$("$dist/first/built/collbench-record" -V | cut -d ' ' -f 2)
date=$("$dist/first/built/collbench-record" --version | sed -n 's/.* of \([-0-9]*\))$/\1/p')
name=collbench-$version-x86_64-linux
root=$dist/$name
rm -rf "$root"
mkdir -p "$root"
"$dist/first/source/scripts/install.sh" "$root" "$dist/first/built"
doc=$root/share/doc/collbench
mkdir -p "$doc/formats"
cp "$dist/first/source/formats/FORMAT.md" "$doc/formats/"
(cd "$dist/first/source" && cp -r README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT docs "$doc/")
(cd "$dist/first/source" && python3 scripts/licenses.py) >"$doc/THIRD-PARTY-LICENSES"
install -D -m 644 "$dist/first/source/packaging/modulefiles/collbench" "$root/share/modulefiles/collbench/$version"
python3 scripts/dist-check.py "$root" $glibc "$normal"

cd "$root"
find . -type f ! -name SHA256SUMS -print0 | LC_ALL=C sort -z | xargs -0 sha256sum >SHA256SUMS
cd "$dist"
chmod -R u=rwX,go=rX "$name"
tar -c --sort=name --owner=0 --group=0 --numeric-owner --mtime="${date:-1970-01-01} 00:00Z" "$name" |
    zstd -q -19 --long=27 -T1 -f -o "$name.tar.zst"
sha256sum "$name.tar.zst" >"$name.tar.zst.sha256"
bytes=$(stat -c %s "$name.tar.zst")
echo "dist.sh: $dist/$name.tar.zst, $bytes bytes"
if [ "$bytes" -gt $most_bytes ]; then
    echo "dist.sh: the archive has more than $most_bytes bytes" >&2
    exit 1
fi
