#!/bin/sh
# Checks the recipes in packaging/ with what dist.sh has made: the module file with Lmod and with
# environment-modules, the EasyBuild recipe by installing with it, the syntax of the Spack recipe. Installs
# nothing but EasyBuild and the two module systems below the target folder, and tclsh and Lua with apt.
set -eu
cd "$(dirname "$0")/.."
scripts/need.sh tcl lua5.3 lua-posix python3-venv zstd

dist=$(cd "${CARGO_TARGET_DIR:-target}/dist" && pwd)
set -- "$dist"/collbench-*-x86_64-linux
[ -d "$1" ] || { echo "recipes-test.sh: no unpacked archive in $dist; run make dist first" >&2; exit 1; }
unpacked=$1

python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' packaging/spack/packages/collbench/package.py
echo "recipes-test.sh: syntax of the Spack recipe: passed"

# They exclude each other as packages.
tools=$dist/modules
if [ ! -d "$tools" ]; then
    mkdir "$tools"
    (
        cd "$tools"
        apt-get -q download lmod environment-modules >&2
        for package in *.deb; do
            dpkg -x "$package" .
        done
    )
fi
# module_works NAME COMMAND...: whether COMMAND, which prints commands for a shell, loads and unloads the module.
module_works() {
    name=$1
    shift
    MODULEPATH=$unpacked/share/modulefiles
    export MODULEPATH
    eval "$("$@" bash load collbench)"
    [ "$(command -v collbench-record)" = "$unpacked/bin/collbench-record" ]
    eval "$("$@" bash unload collbench)"
    case $PATH in *"$unpacked"*) exit 1 ;; esac
    echo "recipes-test.sh: module file with $name: passed"
}
(module_works environment-modules tclsh "$tools/usr/lib/x86_64-linux-gnu/modulecmd.tcl")
(module_works Lmod "$tools/usr/share/lmod/lmod/libexec/lmod")

if [ ! -x "$dist/easybuild/bin/eb" ]; then
    python3 -m venv "$dist/easybuild"
    "$dist/easybuild/bin/pip" install --quiet --disable-pip-version-check easybuild==5.4.1 pycodestyle==2.14.0
fi
PATH=$dist/easybuild/bin:$PATH
as_root=
[ "$(id -u)" != 0 ] || as_root=--allow-use-as-root-and-accept-consequences
recipe=packaging/easybuild/collbench-0.1.0.eb
eb() {
    command eb $as_root --modules-tool=EnvironmentModules --module-syntax=Tcl --prefix="$dist/easybuild/prefix" \
        --sourcepath="$dist" "$@" $recipe >"$dist/easybuild/log" 2>&1 || {
        cat "$dist/easybuild/log" >&2
        exit 1
    }
}
# EasyBuild looks for the module system by its variable.
MODULES_CMD=$tools/usr/lib/x86_64-linux-gnu/modulecmd.tcl
export MODULES_CMD
eb --check-style
eb --rebuild
"$dist/easybuild/prefix/software/collbench/0.1.0/bin/collbench-record" --version | head -n 1
echo "recipes-test.sh: EasyBuild recipe: passed"
