#!/bin/sh
# Puts commands, library, manual pages and completions below a prefix: install.sh PREFIX. Honours
# DESTDIR, which goes before the prefix. Run by "make install", after the build.
set -eu

if [ $# != 1 ]; then
    echo "usage: install.sh PREFIX" >&2
    exit 2
fi
case $1 in
/*) ;;
*)
    echo "install.sh: the prefix must be an absolute path, not $1" >&2
    exit 2
    ;;
esac
cd "$(dirname "$0")/.."

prefix=${DESTDIR:-}$1
release=${CARGO_TARGET_DIR:-target}/release
if [ ! -f "$release/libcollbench_preload.so" ]; then
    echo "install.sh: nothing has been built in $release; run make build first" >&2
    exit 1
fi

share=$prefix/share
mkdir -p "$prefix/bin" "$prefix/lib" "$share/man/man1" "$share/bash-completion/completions" \
    "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
# collbench-bench needs MPI and libclang to be built, and is installed if it has been built.
for name in collbench-record collbench-compact collbench-analyze collbench-generate \
    collbench-tree collbench-tune collbench-bench; do
    command=$release/$name
    if [ $name = collbench-bench ] && [ ! -x "$command" ]; then
        echo "collbench-bench is not built and so not installed; to add it (needs MPI and libclang):" \
            "cargo build --release -p collbench-bench, then install again"
        continue
    fi
    install -m 755 "$command" "$prefix/bin/$name"
    "$command" --man >"$share/man/man1/$name.1"
    "$command" --completions bash >"$share/bash-completion/completions/$name"
    "$command" --completions zsh >"$share/zsh/site-functions/_$name"
    "$command" --completions fish >"$share/fish/vendor_completions.d/$name.fish"
done
install -m 755 "$release/libcollbench_preload.so" "$prefix/lib/"
echo "installed in $prefix"
