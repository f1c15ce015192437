#!/bin/sh
# Puts commands, library, manual pages and completions below a prefix: install.sh PREFIX [BUILT]. They are
# taken from the folder BUILT, or from the release build. Honours DESTDIR, which goes before the prefix. Run by
# "make install", after the build.
set -eu

if [ $# != 1 ] && [ $# != 2 ]; then
    echo "usage: install.sh PREFIX [BUILT]" >&2
    exit 2
fi
case $1 in
*[\ :]*)
    echo "install.sh: the prefix must have no blanks and colons, since no library can be preloaded from" \
        "there, but is $1; choose another" >&2
    exit 2
    ;;
/*) ;;
*)
    echo "install.sh: the prefix must be an absolute path, not $1" >&2
    exit 2
    ;;
esac
cd "$(dirname "$0")/.."

prefix=${DESTDIR:-}$1
built=${2:-${CARGO_TARGET_DIR:-target}/release}
if [ ! -f "$built/libcollbench_preload.so" ]; then
    echo "install.sh: nothing has been built in $built; run make build first" >&2
    exit 1
fi

share=$prefix/share
mkdir -p "$prefix/bin" "$prefix/lib" "$share/man/man1" "$share/bash-completion/completions" \
    "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
# collbench-bench needs MPI and libclang to be built, and is installed if it has been built.
for name in collbench-record collbench-compact collbench-analyze collbench-generate \
    collbench-tree collbench-tune collbench-export collbench-bench; do
    command=$built/$name
    if [ $name = collbench-bench ] && [ ! -x "$command" ]; then
        [ $# = 2 ] || echo "collbench-bench is not built and so not installed; to add it (needs MPI and" \
            "libclang): cargo build --release -p collbench-bench, then install again"
        continue
    fi
    install -m 755 "$command" "$prefix/bin/$name"
    "$command" --man >"$share/man/man1/$name.1"
    "$command" --completions bash >"$share/bash-completion/completions/$name"
    "$command" --completions zsh >"$share/zsh/site-functions/_$name"
    "$command" --completions fish >"$share/fish/vendor_completions.d/$name.fish"
done
install -m 755 "$built/libcollbench_preload.so" "$prefix/lib/"
echo "installed in $prefix"
