#!/bin/sh
# Puts commands, library, manual pages and completions below a prefix: install.sh PREFIX. Honours
# DESTDIR. Run by "make install", after the build.
set -eu
cd "$(dirname "$0")/.."

prefix=${DESTDIR:-}$1
release=${CARGO_TARGET_DIR:-target}/release

share=$prefix/share
mkdir -p "$prefix/bin" "$prefix/lib" "$share/man/man1" "$share/bash-completion/completions" \
    "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
# collbench-bench needs MPI to be built, and is installed where "make bench" has built it.
for name in collbench-record collbench-compact collbench-analyze collbench-generate \
    collbench-bench; do
    command=$release/$name
    if [ $name = collbench-bench ] && [ ! -x "$command" ]; then
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
