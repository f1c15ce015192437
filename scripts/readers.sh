#!/bin/sh
# Makes ready what reads exports in tests, below the target folder, nothing installed: a virtual environment with pandas,
# polars, DuckDB, Perfetto's definition of its format, and the reader of OTF2.
set -eu
cd "$(dirname "$0")/.."

scripts/need.sh python3-venv
packages="pandas==3.1.1 pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1 perfetto==0.59.1 protobuf==7.36.2 otf2==3.2"
readers=${CARGO_TARGET_DIR:-target}/readers
if [ "$(cat "$readers/has" 2>/dev/null)" != "$packages" ]; then
    echo "readers.sh: installing readers of exports into $readers" >&2
    rm -rf "$readers"
    /usr/bin/python3 -m venv "$readers"
    # shellcheck disable=SC2086 # Several words.
    "$readers/bin/pip" install --quiet --disable-pip-version-check $packages
    echo "$packages" >"$readers/has"
fi
