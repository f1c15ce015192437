#!/usr/bin/env python3
"""Circles of imports, which no crate and no folder may have.

A module is a file or folder below src, with all that is in it. In each folder, from src down, the modules
side by side are looked at: one imports another by a path that begins with crate:: or super::, or by the name
of the other itself. A name that a module hands on (pub use) counts as that of the module it comes from.
Fails where one leads back to itself, but for modules in scripts/circles.known: a circle of those may become
smaller, and not larger.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
USE = re.compile(r"^\s*(?:pub(?:\([a-z ]+\))? )?use ([^;]*);", re.M)
PATH = re.compile(r"\b(crate|self|super(?:::super)*)::(\w+(?:::\w+)*)")
REEXPORT = re.compile(r"^\s*pub(?:\([a-z ]+\))? use ([^;]*);", re.M)


def expand(tree):
    """a::{b, c::{d, e}} to a::b, a::c::d, a::c::e."""
    tree = " ".join(tree.split())
    begin = tree.find("{")
    if begin < 0:
        return [tree.split(" as ")[0].strip()]
    head, inner, depth, part, found = tree[:begin], tree[begin + 1 : tree.rindex("}")], 0, "", []
    for char in inner + ",":
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            if part.strip():
                found += [head + path for path in expand(part.strip())]
            part = ""
        else:
            part += char
    return found


def code_of(path):
    """The text of a module without comments and tests."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    return re.split(r"\n#\[cfg\(test\)\]\s*(?:pub(?:\([a-z ]+\))? )?mod ", text)[0]


class Crate:
    """The modules of a crate, by their path from its root."""

    def __init__(self, source):
        self.files = {}
        for path in sorted(source.rglob("*.rs")):
            parts = path.relative_to(source).with_suffix("").parts
            if "tests" in parts or parts[0] in ("main", "bin"):
                continue
            self.files[() if parts == ("lib",) else parts] = code_of(path)
        self.modules = {parts[:n] for parts in self.files for n in range(len(parts) + 1)}
        self.handed_on = {}
        for module, text in self.files.items():
            for tree in REEXPORT.findall(text):
                for path in expand(tree):
                    target = self.absolute(module, path.split("::"))
                    if target and target[:-1] in self.modules:
                        self.handed_on[module + target[-1:]] = target

    def absolute(self, module, names):
        """The path from the root that names have in a module; None for that of another crate."""
        first, *rest = names
        if first == "crate":
            return tuple(rest)
        if first == "self":
            return module + tuple(rest)
        if first == "super":
            while names and names[0] == "super":
                module, names = module[:-1], names[1:]
            return module + tuple(names)
        return module + tuple(names) if module + (first,) in self.modules else None

    def target(self, path):
        """The module that a path leads to."""
        for _ in range(8):
            for n in range(len(path), 0, -1):
                if path[:n] in self.handed_on:
                    path = self.handed_on[path[:n]] + path[n:]
                    break
            else:
                break
        while path not in self.modules:
            path = path[:-1]
        return path

    def imports(self):
        """Pairs of modules of which one imports the other."""
        for module, text in self.files.items():
            names = [path.split("::") for tree in USE.findall(text) for path in expand(tree)]
            names += [
                f"{root}::{path}".split("::") for root, path in PATH.findall(USE.sub("", text))
            ]
            for path in names:
                path = self.absolute(module, path)
                if path is not None:
                    yield module, self.target(path)


def circles(graph):
    """Sets of modules each of which leads to all others (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
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


def known():
    """By folder the modules that were in a circle when the check was made."""
    lines = (ROOT / "scripts/circles.known").read_text().splitlines()
    pairs = [line.split(": ", 1) for line in lines if line and not line.startswith("#")]
    return {folder: set(modules.split()) for folder, modules in pairs}


def main():
    sys.setrecursionlimit(10000)
    allowed = known()
    n_folders, n_known, failed = 0, 0, False
    for manifest in sorted(ROOT.glob("**/Cargo.toml")):
        source = manifest.parent / "src"
        if "target" in manifest.relative_to(ROOT).parts or not source.is_dir():
            continue
        folders = {}
        for module, other in Crate(source).imports():
            n = 0
            while n < min(len(module), len(other)) and module[n] == other[n]:
                n += 1
            # Of modules side by side; what a folder's own file takes from those in it is no circle.
            if n < len(module) and n < len(other):
                folders.setdefault(module[:n], {}).setdefault(module[n], set()).add(other[n])
        n_folders += len(folders)
        for folder, graph in sorted(folders.items()):
            place = str(source.relative_to(ROOT).joinpath(*folder))
            for circle in circles(graph):
                if set(circle) <= allowed.get(place, set()):
                    n_known += 1
                    continue
                failed = True
                print(f"circles.py: {place}: circular imports: {', '.join(circle)}")
    if failed:
        print("circles.py: move what both need into a module below them")
    else:
        print(f"circles.py: no new circular imports in {n_folders} folders; {n_known} known")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
