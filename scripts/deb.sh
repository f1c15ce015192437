#!/bin/sh
# Makes target/dist/collbench_VERSION_amd64.deb of the files of the archive that dist.sh has made, and checks it
# with lintian. The maintainer is DEBFULLNAME <DEBEMAIL>, or else the author of the commit. Run by "make deb".
set -eu
cd "$(dirname "$0")/.."
scripts/need.sh dpkg-dev fakeroot lintian

dist=$(cd "${CARGO_TARGET_DIR:-target}/dist" && pwd)
set -- "$dist"/collbench-*-x86_64-linux
if [ ! -d "$1" ] || [ $# != 1 ]; then
    echo "deb.sh: expected one unpacked archive in $dist; run make dist first" >&2
    exit 1
fi
files=$1
described=$("$files/bin/collbench-record" --version)
version=$(echo "$described" | sed -n '1s/^[^ ]* \([^ ]*\).*/\1/p')
date=$(echo "$described" | sed -n '1s/.* of \([-0-9]*\))$/\1/p')
: "${date:=1970-01-01}"
maintainer=$(git log -1 --format='%an <%ae>' 2>/dev/null || true)
[ -z "${DEBEMAIL:-}" ] || maintainer="${DEBFULLNAME:-collbench} <$DEBEMAIL>"
if [ -z "$maintainer" ]; then
    echo "deb.sh: no maintainer; set DEBFULLNAME and DEBEMAIL" >&2
    exit 1
fi

root=$dist/deb
rm -rf "$root"
doc=$root/usr/share/doc/collbench
mkdir -p "$root/DEBIAN" "$root/usr/lib/collbench" "$root/usr/bin"
# The library is looked for in ../lib: a folder of its own, since it is for nobody else to link.
cp -r "$files/bin" "$files/lib" "$root/usr/lib/collbench/"
cp -r "$files/share" "$root/usr/"
for command in "$files"/bin/*; do
    ln -s "../lib/collbench/bin/${command##*/}" "$root/usr/bin/"
done
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
rm -r "$doc"/LICENSE-* "$root/usr/share/modulefiles"
{
    cat packaging/debian/copyright
    sed -n '/^Permission/,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /'
} >"$doc/copyright"
cat >"$doc/changelog" <<END
collbench ($version) unstable; urgency=low

  * See CHANGELOG.md.

 -- $maintainer  $(LC_ALL=C date -u -R -d "$date")
END
gzip -9 -n "$doc/changelog" "$root"/usr/share/man/man1/*
sed -e "s/@VERSION@/$version/" -e "s/@MAINTAINER@/$maintainer/" \
    -e "s/@SIZE@/$(du -ks --apparent-size "$root/usr" | cut -f 1)/" packaging/debian/control >"$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
chmod -R u=rwX,go=rX "$root"

deb=$dist/collbench_${version}_amd64.deb
SOURCE_DATE_EPOCH=$(date -u -d "$date" +%s) dpkg-deb --root-owner-group -Zxz --build "$root" "$deb"
lintian --fail-on error --tag-display-limit 0 "$deb"
