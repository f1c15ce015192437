#!/usr/bin/env python3
"""Whether README.md and docs/*.md say what is there.

Fails where

- a relative link or an anchor leads nowhere, or a page is not linked in the README;
- a command, long option, layer or make target that is shown does not exist;
- a path of the repository that is named is not there, or the map in docs/architecture.md lacks a
  crate or folder;
- a field of the JSON is not in docs/json.md, or one there is in no source;
- the screen of a generated trace, or of a tree file of the page, says something else;
- the README is longer than MOST_LINES.

It asks the commands themselves, so build first: make build.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MOST_LINES = 220
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
COMMAND = re.compile(r"collbench-[a-z]+")
LONG_OPTION = re.compile(r"--[a-z][a-z-]*")
FOLDERS = "formats|instrument|analyzer|viz|bench|tests|docs|scripts|packaging|fuzz|\\.ci"
PATH = re.compile(rf"(?<![\w/.$-])(?:{FOLDERS})/[\w./*-]*")
SCENARIOS = ROOT / "analyzer/tests/scenarios"
# Objects of the JSON whose keys are names from the trace.
BY_NAME = {"totals", "calls_by_operation", "calls_by_class", "wait_states"}

findings = []


def found(page, line, what):
    findings.append(f"{page.relative_to(ROOT)}:{line}: {what}")


class Page:
    """The lines of a page: its text without code, its pieces of code, and its anchors."""

    def __init__(self, path):
        self.path = path
        self.lines = path.read_text().splitlines()
        self.prose, self.code, self.anchors = [], [], set()
        self.blocks = []  # of code: lists of (line, text)
        self.folders = []  # (line, path) of tables below a heading that names a folder
        fenced, block, folder, seen = False, True, None, {}
        for number, line in enumerate(self.lines, 1):
            if line.startswith("```"):
                fenced = not fenced
                continue
            # Four blanks begin a block of code, but not below the text of a list.
            if fenced or (line.startswith("    ") and block):
                self.code.append((number, line.strip()))
                last = self.blocks[-1][-1][0] if self.blocks else 0
                if last == 0 or any(between.strip() for between in self.lines[last : number - 1]):
                    self.blocks.append([])
                self.blocks[-1].append((number, line if fenced else line[4:]))
                continue
            if line.strip():
                block = False
            else:
                block = True
            heading = re.match(r"#+ +(.*)", line)
            if heading:
                slug = re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-")
                count = seen.get(slug, 0)
                seen[slug] = count + 1
                self.anchors.add(slug if count == 0 else f"{slug}-{count}")
                folder = re.match(r"`(\S+)`$", heading[1])
            row = re.match(r"\| `(\w+/)` \|", line)
            if folder and row:
                self.folders.append((number, f"{folder[1]}/{row[1]}"))
            self.code += [(number, span) for span in re.findall(r"`([^`]+)`", line)]
            self.prose.append((number, re.sub(r"`[^`]*`", "", line)))


def check_links(pages):
    by_path = {page.path: page for page in pages}
    linked = {ROOT / "README.md": set()}
    for page in pages:
        # A link may be broken by the end of a line.
        text, starts = "", []
        for number, line in page.prose:
            starts.append((len(text), number))
            text += line + " "
        for link in re.finditer(r"\]\(([^)\s]*)\)", text):
            number = max(number for start, number in starts if start <= link.start())
            target = link[1]
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (page.path.parent / name).resolve() if name else page.path
            linked.setdefault(page.path, set()).add(path)
            if not path.exists():
                found(page.path, number, f"the link leads nowhere: {target}")
            elif anchor:
                other = by_path.get(path) or Page(path)
                if anchor not in other.anchors:
                    found(page.path, number, f"no heading has this anchor: {target}")
    for page in pages:
        if page.path not in linked[ROOT / "README.md"] | {ROOT / "README.md"}:
            found(page.path, 1, "the README has no link to this page")


def executable(name):
    places = [TARGET / profile / name for profile in ("release", "debug")]
    return next((place for place in places if place.exists()), None)


def help_of(command, cache={}):
    """What --help says of a command (with its subcommand); None if it is not built."""
    if command not in cache:
        name, *rest = command
        program = executable(name)
        ask = program and subprocess.run([program, *rest, "--help"], capture_output=True, text=True)
        cache[command] = ask.stdout if ask and ask.returncode == 0 else None
    return cache[command]


def subcommands(name):
    text = help_of((name,)) or ""
    listed = re.search(r"^Commands:\n((?: .*\n|\n)*)", text, re.M)
    return set(re.findall(r"^  ([a-z-]+)", listed[1], re.M)) - {"help"} if listed else set()


def check_commands(pages, binaries, targets):
    commands = [name for name in binaries if help_of((name,))]
    helps = [help_of((name,)) for name in commands]
    helps += [help_of((name, sub)) for name in commands for sub in subcommands(name)]
    known = {option for text in helps for option in LONG_OPTION.findall(text)}
    unbuilt = set(binaries) - set(commands)
    unasked = set()
    for page in pages:
        for number, code in page.code:
            for target in re.findall(r"(?:^|[;&] *)make ([a-z][\w-]*)", code):
                if target not in targets:
                    found(page.path, number, f"no make target: {target}")
            for layers in re.findall(r"--layers ([a-z,]+)", code):
                text = help_of(("collbench-record",))
                for layer in layers.split(","):
                    if not re.search(rf"- {layer}:", text):
                        found(page.path, number, f"no layer: {layer}")
            words = re.sub(r"\[|\]|\|", " ", code).replace(",", " ").split()
            # Whose options follow: those of a command of ours, of any of ours (None), of nobody.
            foreign = not (words and (words[0].startswith("-") or COMMAND.fullmatch(words[0])))
            command = None
            for before, word in zip([None, *words], words):
                if COMMAND.fullmatch(word):
                    # After -p it is a package of cargo.
                    if word not in binaries and before != "-p":
                        found(page.path, number, f"no command: {word}")
                    command, foreign = (word,), word not in binaries
                elif word == "--":
                    command, foreign = None, True
                elif foreign:
                    continue
                elif command and len(command) == 1 and word in subcommands(command[0]):
                    command = (*command, word)
                elif option := LONG_OPTION.match(word):
                    text = help_of(command) if command else None
                    if command and text is None:
                        unasked.add(command[0])
                    elif not command and unbuilt and option[0] not in known:
                        unasked |= unbuilt
                    elif option[0] not in (LONG_OPTION.findall(text) if command else known):
                        who = " ".join(command) if command else "any command"
                        found(page.path, number, f"not an option of {who}: {option[0]}")
    return unasked


def check_paths(pages, tracked):
    folders = {str(parent) for path in tracked for parent in pathlib.PurePath(path).parents}
    for page in pages:
        named = [(n, path.rstrip(".")) for n, code in page.code for path in PATH.findall(code)]
        for number, name in named + page.folders:
            if "*" in name:
                there = any(pathlib.PurePath(path).match(name) for path in tracked)
            else:
                there = name in tracked or name.rstrip("/") in folders
            if not there:
                found(page.path, number, f"not in the repository: {name}")


def check_map(pages, tracked):
    """Where a table lists folders of a folder, and crates of the workspace, none is missing."""
    for page in pages:
        by_parent = {}
        for number, name in page.folders:
            by_parent.setdefault(name.rstrip("/").rpartition("/")[0], []).append((number, name))
        for parent, rows in by_parent.items():
            inside = {path[len(parent) + 1 :] for path in tracked if path.startswith(f"{parent}/")}
            folders = {f"{parent}/{path.split('/')[0]}/" for path in inside if "/" in path}
            for folder in sorted(folders - {name for _, name in rows} - {f"{parent}/bin/"}):
                found(page.path, rows[0][0], f"the table has no row for {folder}")
    page = ROOT / "docs/architecture.md"
    listed = re.search(r"^members = \[(.*?)\]", (ROOT / "Cargo.toml").read_text(), re.M | re.S)
    for crate in re.findall(r'"([^"]+)"', listed[1]):
        if f"| `{crate}/` |" not in page.read_text():
            found(page, 1, f"the code map has no row for {crate}/")


def check_screens(pages):
    """Blocks that generate a trace and analyze it show lines of what is said of it."""
    shown = re.compile(r"\$ collbench-generate (\S+) (\S+)")
    for page in pages:
        for block in page.blocks:
            first = shown.fullmatch(block[0][1])
            if not first:
                continue
            with tempfile.TemporaryDirectory() as folder:
                generate = [executable("collbench-generate"), ROOT / first[1], first[2]]
                subprocess.run(generate, cwd=folder, check=True, capture_output=True)
                analyze = [executable("collbench-analyze"), first[2]]
                ran = subprocess.run(analyze, cwd=folder, capture_output=True, text=True)
            said = set(ran.stdout.splitlines())
            for number, line in block[1:]:
                if not line.startswith("$ ") and line not in said | {"", "..."}:
                    found(page.path, number, f"the screen does not say: {line.strip()}")


def check_trees(pages):
    """Blocks of tree files begin with a comment of their name, and are right; blocks that begin with a
    command on one of them show all that it prints."""
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            for block in page.blocks:
                (number, first), *rest = block
                if name := re.fullmatch(r"# (\w+\.toml)", first):
                    # A block has no lines that are empty at its end, and those inside are lost.
                    last = rest[-1][0] if rest else number
                    text = [line[4:] for line in page.lines[number - 1 : last]]
                    pathlib.Path(folder, name[1]).write_text("\n".join(text) + "\n")
                    check = [executable("collbench-tree"), "check", name[1]]
                    ran = subprocess.run(check, cwd=folder, capture_output=True, text=True)
                    if ran.returncode != 0:
                        found(page.path, number, f"the tree file is wrong: {ran.stderr.strip()}")
                elif first.startswith("$ collbench-tree "):
                    command, *options = shlex.split(first[2:])
                    ran = subprocess.run(
                        [executable(command), *options], cwd=folder, capture_output=True, text=True
                    )
                    shown = [line for _, line in rest if line.strip()]
                    said = [line for line in ran.stdout.splitlines() if line.strip()]
                    if shown != said:
                        found(page.path, number, f"the command prints: {ran.stdout}{ran.stderr}")


def keys(value, name=None):
    if isinstance(value, dict):
        for key, inner in value.items():
            if name not in BY_NAME:
                yield key
            yield from keys(inner, None if name in BY_NAME else key)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, name)


def check_fields(tracked):
    page = ROOT / "docs/json.md"
    text = page.read_text()
    documented = set(re.findall(r'"([a-z][a-z_0-9]*)"', text))
    documents = []
    with tempfile.TemporaryDirectory() as folder:
        traces = []
        for scenario in sorted(SCENARIOS.glob("*.toml")):
            trace = f"{folder}/{scenario.stem}"
            generate = [executable("collbench-generate"), scenario, trace]
            subprocess.run(generate, check=True, capture_output=True)
            traces.append(trace)
        analyze = [executable("collbench-analyze"), "--format", "json", "--no-pictures", "--full"]
        for given in [*([trace] for trace in traces), traces[:2]]:
            ran = subprocess.run([*analyze, *given], capture_output=True, text=True)
            documents.append(json.loads(ran.stdout))
    for key in sorted({key for document in documents for key in keys(document)} - documented):
        found(page, 1, f"the JSON has a field that is not described: {key}")
    sources = [ROOT / path for path in tracked if re.match(r"(analyzer|bench|formats)/.*\.rs$", path)]
    words = {word for path in sources for word in re.findall(r"\w+", path.read_text())}
    # Values stand in quotes, too; those of enums are spelled otherwise in the source.
    spelled = {re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", word).lower() for word in words}
    for key in sorted(documented - words - spelled):
        found(page, 1, f"no source has this name: {key}")


def repository():
    """The paths of the files of the repository; outside of git, of all that is there."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return set(listed.stdout.split("\n")) - {""}
    paths = set()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in {".git", "target", "node_modules"}]
        paths |= {str(pathlib.Path(folder, name).relative_to(ROOT)) for name in files}
    return paths


def main():
    tracked = repository()
    binaries = {
        program[1]
        for path in tracked
        if (program := re.search(r"/src/bin/([^/]*?)(?:/main)?\.rs$", path))
    }
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][\w-]*):(?!=)", makefile, re.M))

    needed = ["record", "compact", "analyze", "generate", "tree", "tune"]
    needed = [f"collbench-{name}" for name in needed]
    missing = [name for name in needed if not help_of((name,))]
    if missing:
        sys.exit(f"check-docs: not built: {', '.join(missing)}; run make build first")

    pages = [Page(path) for path in PAGES]
    check_links(pages)
    unasked = check_commands(pages, binaries, targets)
    check_paths(pages, tracked)
    check_map(pages, tracked)
    check_screens(pages)
    check_trees(pages)
    check_fields(tracked)
    lines = len(pages[0].lines)
    if lines > MOST_LINES:
        found(ROOT / "README.md", lines, f"has {lines} lines, {MOST_LINES} are allowed")

    for name in sorted(unasked):
        hint = f"cargo build --release -p {name}"
        if os.environ.get("CI"):
            findings.append(f"options of {name} cannot be checked: it is not built; {hint}")
        else:
            print(f"check-docs: options of {name} are not checked, since it is not built; {hint}")
    for finding in findings:
        print(finding)
    if findings:
        sys.exit(f"check-docs: {len(findings)} findings")
    print(f"check-docs: {len(pages)} pages, README of {lines} lines: nothing is missing")


if __name__ == "__main__":
    main()
