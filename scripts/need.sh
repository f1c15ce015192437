#!/bin/sh
# Sees to it that Debian packages are installed: need.sh PACKAGE...
# Silent where nothing is missing. Elsewhere than on Debian and Ubuntu it only says what to install.
set -eu

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    echo "need.sh: apt not found; make sure that the contents of these Debian packages are installed: $*" >&2
    exit 0
fi

missing=
for package in "$@"; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "need.sh: missing packages; as root, run: apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

# The word splitting of $missing and $as_root is meant.
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}
install() {
    apt install --no-install-recommends $missing
}

echo "need.sh: installing$missing${as_root:+ (with sudo)}" >&2
known=yes
for package in $missing; do
    [ -n "$(apt-cache madison "$package" 2>/dev/null)" ] || known=no
done
if [ $known = yes ] && install >&2; then
    exit 0
fi
# No package lists yet, or they are out of date.
apt update >&2
install >&2
