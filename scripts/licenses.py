#!/usr/bin/env python3
"""Prints the licenses of all crates that are linked into the commands and the preloaded library.

Each text is printed once, with the crates that have it in front. Fails if a crate states no license. Asks
cargo, which must have downloaded the crates: run it in the workspace after a build.
"""

import json
import pathlib
import subprocess
import sys

COMMANDS = ["collbench-record", "collbench-report", "collbench-generate", "collbench-tune", "collbench-convert", "collbench-preload"]
FILES = ("license", "licence", "copying", "notice", "unlicense")


def metadata():
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--offline"]
    command.append("--filter-platform=x86_64-unknown-linux-gnu")
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def linked(metadata):
    """The packages of others that the commands depend on, but not to build or test them."""
    # Not by what cargo metadata resolves, which has the features that only tests switch on.
    command = ["cargo", "tree", "--locked", "--offline", "--target=x86_64-unknown-linux-gnu"]
    command += ["--edges=normal", "--prefix=none", *(f"--package={name}" for name in COMMANDS)]
    tree = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    names = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    packages = [package for package in metadata["packages"] if package["source"]]
    found = [of for of in packages if (of["name"], f"v{of['version']}") in names]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def main():
    texts = {}
    print("collbench is linked with Rust's standard library (MIT OR Apache-2.0) and these crates:\n")
    for package in linked(metadata()):
        name = f"{package['name']} {package['version']}"
        if not package["license"]:
            sys.exit(f"licenses.py: {name} states no license in its Cargo.toml; look at its repository")
        print(f"  {name}: {package['license']}, {package['repository'] or 'no repository'}")
        folder = pathlib.Path(package["manifest_path"]).parent
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.name.lower().startswith(FILES):
                text = path.read_text(errors="replace").strip()
                texts.setdefault(text, []).append(name)
    for text, names in texts.items():
        print("\n" + "=" * 100 + "\n" + ", ".join(names) + ":\n\n" + text)


main()
