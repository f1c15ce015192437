#!/bin/sh
# Tests the report page in Chromium, with what is installed: node 18 or later, npm, chromium; Debian's
# where one is missing. Two packages come from the npm registry, into tests/browser/node_modules.
# Without them it says that it skips; where CI=true that is a failure. Run by "make test".
set -eu
cd "$(dirname "$0")/.."

skip() {
    echo "browser.sh: the report page was NOT tested in a browser: $1" >&2
    [ "${CI:-}" = true ] && exit 1
    exit 0
}

find_browser() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

lacking=
node --eval 'process.exit(process.versions.node.split(".")[0] < 18)' 2>/dev/null || lacking="nodejs"
command -v npm >/dev/null || lacking="$lacking npm"
find_browser >/dev/null || lacking="$lacking chromium"
# The word splitting of $lacking is meant.
[ -z "$lacking" ] || scripts/need.sh $lacking || skip "$lacking missing"
find_browser >/dev/null || skip "no chromium in PATH"

target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
# Two runs in one clone write the same reports: one after the other.
exec 9>"$target/.browser.lock"
flock 9
cd tests/browser
if ! cmp -s package-lock.json node_modules/.installed; then
    npm ci --no-audit --no-fund --ignore-scripts --prefer-offline \
        --cache "${npm_config_cache:-$target/npm}" || skip "npm could not install its packages"
    cp package-lock.json node_modules/.installed
fi
COLLBENCH_TARGET=$target timeout 900 node --test .
echo "browser.sh: screenshots are in $target/browser"
