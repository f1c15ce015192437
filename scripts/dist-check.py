#!/usr/bin/env python3
"""Whether the files of an unpacked archive run where they must: dist-check.py ROOT GLIBC NORMAL.

Fails where

- an ELF file below ROOT needs a symbol of a newer glibc than GLIBC, or one that nothing may define;
- a command says another glibc in --version than its file needs;
- the preloaded library exports other names than NORMAL, the one of the normal build, needs other libraries,
  cannot be unwound by a program's own unwinder, or needs room in the static block for thread-local storage.
"""

import pathlib
import re
import subprocess
import sys

# What every system with glibc has; the last two are part of libc.so.6 since 2.34.
LIBRARIES = {"libc.so.6", "ld-linux-x86-64.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libdl.so.2"}


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def numbers(version):
    return tuple(int(number) for number in version.split("."))


def needed_glibc(path):
    versions = set(re.findall(r"Name: GLIBC_(\S+)", output("readelf", "-VW", path)))
    unknown = {version for version in versions if not re.fullmatch(r"[0-9.]+", version)}
    return max(versions - unknown, key=numbers), unknown


def needed_libraries(path):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", path)))


def exported(path):
    return {line.split()[-1].split("@")[0] for line in output("nm", "-D", "--defined-only", path).splitlines()}


def undefined(path):
    """Names without a version that are not weak: nobody has promised to define them."""
    lines = [line.split() for line in output("nm", "-D", "--undefined-only", path).splitlines()]
    return {name for kind, name in lines if kind == "U" and "@" not in name}


def findings(root, glibc, normal):
    elf = [path for path in sorted(root.rglob("*")) if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    if len(elf) < 7:
        yield f"only {len(elf)} ELF files: {elf}"
    for path in elf:
        needs, unknown = needed_glibc(path)
        print(f"dist-check.py: {path.relative_to(root)} needs glibc {needs}")
        if numbers(needs) > numbers(glibc) or unknown:
            yield f"{path} needs glibc {needs} {unknown or ''}, not {glibc}"
        if undefined(path):
            yield f"{path} needs symbols without a version: {undefined(path)}"
        if not needed_libraries(path) <= LIBRARIES:
            yield f"{path} needs {needed_libraries(path) - LIBRARIES}"
        if path.parent.name == "bin" and f"needs glibc: {needs}\n" not in output(path, "--version"):
            yield f"{path} --version does not say that it needs glibc {needs}"
    library = root / "lib/libcollbench_preload.so"
    if exported(library) != exported(normal):
        yield f"exported names differ from those of {normal}: {sorted(exported(library) ^ exported(normal))}"
    if "libgcc_s.so.1" not in needed_libraries(library) or "_Unwind_Resume" in exported(library):
        yield f"{library} has an unwinder of its own"
    if "clock_gettime@" not in output("nm", "-D", "--undefined-only", library):
        yield f"{library} does not read clocks through the C library, which asks the kernel without a system call"
    dynamic = output("readelf", "-dW", library)
    if "GNU_EH_FRAME" not in output("readelf", "-lW", library):
        yield f"{library} has no table that finds unwind information"
    for word in ("STATIC_TLS", "TEXTREL", "RUNPATH", "RPATH"):
        if word in dynamic:
            yield f"{library} has {word}"


def main():
    root, glibc, normal = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    found = list(findings(root, glibc, normal))
    for finding in found:
        print(f"dist-check.py: {finding}", file=sys.stderr)
    sys.exit(bool(found))


main()
