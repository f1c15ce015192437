#!/usr/bin/env python3
"""Circles of imports between the modules at the root of each crate.

A module is a file or folder directly below src; it imports another one by a path that begins with
crate:: (or with super:: where that leads to the root). Fails where a circle has a module that
scripts/circles.known does not name: circles that were there when this check was made may only
become smaller. With --known it prints what such a file would have now.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATH = re.compile(r"\b(crate|(?:super::)+super|super)::(\{[^;]*?\}|\w+)", re.S)


def names(after):
    """The first parts of what stands behind crate::."""
    if not after.startswith("{"):
        return [after]
    parts, depth, part = [], 0, ""
    for char in after[1:-1]:
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += char
    parts.append(part)
    return [re.match(r"\s*(\w*)", part)[1] for part in parts]


def reexports(lib, modules):
    """Which module a name at the root of the crate comes from."""
    found = {}
    for use in re.findall(r"^\s*pub(?:\(crate\))? use ([^;]*);", lib, re.M):
        module = use.removeprefix("crate::").removeprefix("self::").split("::")[0].strip()
        if module in modules:
            for name in re.findall(r"\w+", use.split("::", 1)[-1]):
                found.setdefault(name, module)
    return found


def imports(source):
    """For each module of a crate those that it imports."""
    modules = {
        path.stem
        for path in source.iterdir()
        if (path.suffix == ".rs" or path.is_dir()) and path.stem not in ("lib", "main", "bin")
    }
    lib = (source / "lib.rs").read_text() if (source / "lib.rs").exists() else ""
    known = reexports(lib, modules)
    graph = {module: set() for module in modules}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        # What only tests import is no part of the program.
        if parts[0] not in modules or "tests" in parts:
            continue
        text = re.sub(r"//[^\n]*", "", path.read_text())
        text = text.split("\n#[cfg(test)]\nmod ")[0]
        for root, after in PATH.findall(text):
            n_up = root.count("super")
            if n_up and n_up != len(parts):
                continue
            for name in names(after):
                name = name if name in modules else known.get(name)
                if name and name != parts[0]:
                    graph[parts[0]].add(name)
    return graph


def circles(graph):
    """Sets of modules each of which leads to all others (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            circle = []
            while True:
                circle.append(stack.pop())
                if circle[-1] == node:
                    break
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def main():
    sys.setrecursionlimit(10000)
    found = []
    for manifest in sorted(ROOT.glob("**/Cargo.toml")):
        source = manifest.parent / "src"
        crate = str(manifest.parent.relative_to(ROOT))
        if "target" in manifest.parts or not source.is_dir():
            continue
        found += [(crate, circle) for circle in circles(imports(source))]
    lines = [f"{crate}: {' '.join(circle)}" for crate, circle in found]
    if "--known" in sys.argv:
        print("\n".join(lines))
        return 0
    known = {}
    for line in (ROOT / "scripts/circles.known").read_text().splitlines():
        if line and not line.startswith("#"):
            crate, modules = line.split(": ", 1)
            known.setdefault(crate, []).append(set(modules.split()))
    failed = False
    for crate, circle in found:
        if not any(set(circle) <= one for one in known.get(crate, [])):
            failed = True
            print(f"circles.py: {crate}/src: a circle of imports: {', '.join(circle)}")
    if failed:
        print("circles.py: break it, by moving what both need below both (house rule: no circles)")
    else:
        print(f"circles.py: no new circle; {len(found)} of those known are left")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
