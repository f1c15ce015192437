#!/usr/bin/env python3
"""Every sentence that collbench can show to its users.

    scripts/sentences.py [PATH..]          lists them, by file and line
    scripts/sentences.py --help-texts      lists what --help of every command says (build first)
    scripts/sentences.py --check           fails where a text has a word of which there is a plainer one

A sentence is a string of Rust of two words or more outside of tests (its {} are filled in when it is
shown), or a text of the templates of the report. Comments are not listed, but checked. What a word should be
replaced by is in the table RULES below; where a text needs such a word in another sense, ALLOWED says so.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
# Names of tests, benchmarks and programs that are recorded: nobody but a developer reads what they print.
NOT_SHOWN = re.compile(r"(^|/)(tests?|benches|examples|fuzz|programs|stub|accuracy|build\.rs|target)(/|$)|tests?\.rs$|/accuracy\.rs$")
COMMANDS = ["record", "analyze", "compact", "generate", "tree", "tune", "bench"]

# Where a text is read: on screen (strings), in the code (comments), or on a page of docs/.
SHOWN, COMMENT, PAGE = "shown", "comment", "page"
EVERYWHERE = {SHOWN, COMMENT, PAGE}

# (pattern, where, what to say instead)
RULES = [
    (r"^(Likewise|Ditto|As above|The same)\b[^a-z]*$|^(Likewise|Ditto)\b", {COMMENT}, "what it is, in a comment that stands alone"),
    (r"^as (above|before)\.?$", {COMMENT}, "the reason itself"),
    (r"\b(stands?|stood) behind\b", EVERYWHERE, "follows, belongs to"),
    (r"\bcomes? last\b|\bcame last\b|\bcoming last\b", EVERYWHERE, "arrives last"),
    (r"\b(hand|hands|handed|handing) on\b", {SHOWN, PAGE}, "forward"),
    (r"\bway (up|down)\b|\b(up|down)ward way\b", {SHOWN, PAGE}, "path to the root, path from the root"),
    (r"\bway there and back\b", EVERYWHERE, "round trip"),
    (r"\bwait(s|ed|ing)? (for|on) (a|its|their) turns?\b", EVERYWHERE, "serialization"),
    (r"\bfitted to rest\b|\bcame? to rest\b", EVERYWHERE, "converged"),
    (r"\ba tenth (is )?(below|above|of them)\b", EVERYWHERE, "10th percentile, p10, p90"),
    (r"\bin vain\b", EVERYWHERE, "unsuccessful"),
    (r"\bgoes? by until\b|\bgo by until\b", EVERYWHERE, "is spent waiting for"),
    (r"\bculprits?\b", {SHOWN}, "the rank that arrives last"),
    (r"\bdearest\b|\bdear(er|ly|ness)?\b", EVERYWHERE, "most expensive"),
    (r"\b(can|could|cannot|to) be told\b(?! (apart|from|to)\b)|\bis told by\b", EVERYWHERE, "known, seen from"),
    (r"\bwhere it is so\b|\bwhat lands\b", EVERYWHERE, "plain words"),
    (r"^(known|recorded|wanted|shown|counted|meant) (is|are) (what|all|those|only|the)\b", EVERYWHERE, "the subject first"),
    (r"\bhangs? on (it|them)\b", EVERYWHERE, "depends on"),
    (r"\b(thereof|whereof|whither|thither|wherein|therein)\b", EVERYWHERE, "plain words"),
    (r"\bjoining points?\b", {SHOWN}, "join"),
    (r"\(An addition\.?\)", EVERYWHERE, "nothing"),
]

# Texts in which such a word means something else: (file, piece of the text).
ALLOWED = [
    # Classes of SVG and names of fields, which scripts may rely on.
    ("viz/src/imbalance/draw.rs", "node culprit"),
    ("viz/src/style.rs", ".culprit{"),
    ("docs/json.md", "`dearest`"),
    ("docs/json.md", '"dearest"'),
]


def tokens(source):
    """(kind, line, text) of the strings and comments of Rust, with what stands between as kind 'code'."""
    at, line = 0, 1
    end = len(source)
    pattern = re.compile(
        r'(?P<comment>//[^\n]*)|(?P<block>/\*)|(?P<raw>\bb?c?r(?P<hashes>#*)")|(?P<string>\b[bc]?"|")'
        r"|(?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F_]+\}|.)|[^'\\\n])')"
    )
    while at < end:
        match = pattern.search(source, at)
        if not match:
            yield "code", line, source[at:]
            return
        if match.start() > at:
            yield "code", line, source[at : match.start()]
        line += source.count("\n", at, match.start())
        kind = match.lastgroup if match.lastgroup != "hashes" else "raw"
        stop = match.end()
        if kind == "comment":
            yield "comment", line, match.group()
        elif kind == "block":
            depth, stop = 1, match.end()
            while depth and stop < end:
                if source.startswith("/*", stop):
                    depth, stop = depth + 1, stop + 2
                elif source.startswith("*/", stop):
                    depth, stop = depth - 1, stop + 2
                else:
                    stop += 1
            yield "comment", line, source[match.start() : stop]
        elif kind == "raw":
            close = '"' + match.group("hashes")
            stop = source.index(close, match.end())
            yield "string", line, source[match.end() : stop]
            stop += len(close)
        elif kind == "string":
            while source[stop] != '"':
                stop += 2 if source[stop] == "\\" else 1
            text = source[match.end() : stop]
            text = re.sub(r"\\\n\s*", "", text).replace('\\"', '"').replace("\\n", " ")
            yield "string", line, text
            stop += 1
        else:
            yield "code", line, match.group()
        line += source.count("\n", match.start(), stop)
        at = stop


def without_tests(stream):
    """What is not below #[cfg(test)]."""
    skip, depth = False, 0
    for kind, line, text in stream:
        if kind == "code":
            rest = text
            while rest:
                if skip:
                    for index, char in enumerate(rest):
                        depth += (char == "{") - (char == "}")
                        if (char == "}" and depth == 0) or (char == ";" and depth == 0):
                            skip, rest = False, rest[index + 1 :]
                            break
                    else:
                        rest = ""
                    continue
                match = re.search(r"#\[cfg\((all\()?test\b[^\]]*\]", rest)
                if not match:
                    yield kind, line, rest
                    break
                yield kind, line, rest[: match.start()]
                skip, depth, rest = True, 0, rest[match.end() :]
        elif not skip:
            yield kind, line, text


def sources(paths):
    """The files of Rust that make up the commands and libraries."""
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *paths],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()
    return [ROOT / file for file in files if (ROOT / file).is_file()]


def is_sentence(text):
    """Two words or more, one of them of three letters: no path, no format of columns, no markup alone."""
    words = re.sub(r"\{[^{}]*\}|<[^<>]*>|&\w+;", " ", text)
    return len(re.findall(r"[A-Za-z][A-Za-z'-]*", words)) >= 2 and re.search(r"[a-z]{3}", words) and " " in words.strip()


def texts(paths):
    """(where, file, line, text) of all that is shown or commented below the paths."""
    for file in sources(paths):
        name = str(file.relative_to(ROOT))
        hidden = bool(NOT_SHOWN.search(name))
        if file.suffix == ".rs":
            comment = None  # (line, last line, kind of marker, text): lines that belong together
            stream = tokens(file.read_text())
            for kind, line, text in stream if hidden else without_tests(stream):
                if kind == "comment":
                    marker, body = re.match(r"(//[/!]?|/\*)\s?(.*)", text, re.S).groups()
                    if comment and comment[1] == line - 1 and comment[2] == marker and body.strip():
                        comment = (comment[0], line, marker, comment[3] + " " + body.strip())
                        continue
                    if comment:
                        yield COMMENT, name, comment[0], comment[3]
                    comment = (line, line, marker, body.strip())
                elif kind == "string" and not hidden and is_sentence(text):
                    yield SHOWN, name, line, " ".join(text.split())
            if comment:
                yield COMMENT, name, comment[0], comment[3]
        elif file.suffix in (".html", ".js") and "templates" in name:
            source = re.sub(r"/\*.*?\*/|<!--.*?-->|\{#.*?#\}", lambda m: "\n" * m.group().count("\n"), file.read_text(), flags=re.S)
            pieces = r">([^<>{}]+)<" if file.suffix == ".html" else r"[\"'`]([^\"'`\n]+)[\"'`]"
            for match in re.finditer(pieces, source):
                if is_sentence(match.group(1)):
                    yield SHOWN, name, source.count("\n", 0, match.start()) + 1, " ".join(match.group(1).split())
        elif file.suffix == ".md":
            paragraph, first, fenced = [], 1, False
            for number, text in enumerate([*file.read_text().splitlines(), ""], 1):
                fenced ^= text.startswith("```")
                if text.strip() and not fenced:
                    first = first if paragraph else number
                    paragraph.append(text.strip())
                elif paragraph:
                    yield PAGE, name, first, " ".join(paragraph)
                    paragraph = []


def check():
    """Whether no text has a word that RULES replaces."""
    broken = 0
    for where, file, line, text in texts([]):
        if where == PAGE and file != "README.md" and not file.startswith("docs/"):
            continue
        for pattern, places, instead in RULES:
            match = where in places and re.search(pattern, text, re.I)
            if match and not any(name == file and piece in text for name, piece in ALLOWED):
                broken += 1
                print(f"{file}:{line}: {match.group()!r}; better: {instead}")
    print(f"sentences: {broken} to be said better")
    return broken == 0


def help_texts():
    """What --help of each command and of its subcommands says."""
    for command in COMMANDS:
        program = TARGET / "release" / f"collbench-{command}"
        if not program.exists():
            sys.exit(f"{program} is not there; build it first: make build (make bench for collbench-bench)")
        todo = [[]]
        while todo:
            words = todo.pop(0)
            text = subprocess.run([program, *words, "--help"], capture_output=True, text=True).stdout
            print(f"$ collbench-{' '.join([command, *words])} --help\n\n{text}")
            listed = re.search(r"^Commands:\n((?:  .*\n|\n)+)", text, re.M)
            names = re.findall(r"^  ([a-z][a-z-]*)\s", listed.group(1), re.M) if listed else []
            todo += [[*words, name] for name in names if name != "help"]


def main(words):
    if words == ["--check"]:
        sys.exit(not check())
    if words == ["--help-texts"]:
        help_texts()
    elif any(word.startswith("-") for word in words):
        sys.exit(__doc__)
    else:
        for where, file, line, text in texts(words):
            if where == SHOWN:
                print(f"{file}:{line}: {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
