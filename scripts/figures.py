#!/usr/bin/env python3
"""Whether two versions print, draw and write the same figures, whatever their words.

    scripts/figures.py OLD NEW

Compares the files of two folders. JSON must be equal but for its sentences, and these must have the same
numbers. Of text, pictures and pages each number but 0 must still be there as often (the 0 of an axis is also
in its name). Numbers that are there more often are printed with VERBOSE=1: a caption may have a new one.
"""

import collections
import html
import json
import os
import pathlib
import re
import sys

# A number; not one that is a part of a name (node12, p10, MPI_INT8, 3-4, v4.1.4).
NUMBER = re.compile(r"(?<![\w.#/,-])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
# Names of percentiles say which figure is meant, and are no figures.
PERCENTILE = re.compile(r"\b\d+(?:st|nd|rd|th) percentiles?\b|\bp\d+\b")


def numbers(text):
    """The numbers of a text but 0, without plus signs and commas, with how often each is there."""
    found = NUMBER.findall(PERCENTILE.sub(" ", text))
    return collections.Counter(number.replace(",", "").lstrip("+") for number in found if number != "0")


def differences(old, new, place=""):
    """Places at which two documents differ in more than words."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            if key not in old or key not in new:
                yield f"{place}/{key} is in one of them only"
            else:
                yield from differences(old[key], new[key], f"{place}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new)):
            yield from differences(one, other, f"{place}/{index}")
    elif isinstance(old, str) and isinstance(new, str) and " " in old.strip():
        if numbers(old) != numbers(new):
            yield f"{place}: {old!r} and {new!r}"
    elif old != new:
        yield f"{place}: {old!r} and {new!r}"


def visible(path):
    """The text of a file that a reader sees."""
    text = path.read_text(errors="replace")
    if path.suffix in (".svg", ".html"):
        text = re.sub(r"<(style|script)\b.*?</\1>", " ", text, flags=re.S)
        text = html.unescape(re.sub(r"<[^>]*>", " ", text))
    return text


def compare(old, new):
    """(what is missing or differs, what is new) of two files."""
    text = old.read_text(errors="replace")
    if text.lstrip().startswith(("{", "[")):
        try:
            return list(differences(json.loads(text), json.loads(new.read_text()))), collections.Counter()
        except ValueError:
            pass
    before, after = numbers(visible(old)), numbers(visible(new))
    return [f"{number} is there {count} times less" for number, count in sorted((before - after).items())], after - before


def main(words):
    if len(words) != 2 or words[0].startswith("-"):
        sys.exit(__doc__)
    old, new = map(pathlib.Path, words)
    files = {path.relative_to(root) for root in (old, new) for path in root.rglob("*") if path.is_file()}
    wrong = 0
    for name in sorted(files):
        if not (old / name).exists() or not (new / name).exists():
            wrong += 1
            print(f"{name}: in one of them only")
            continue
        if name.suffix == ".trace":
            missing, added = ([] if (old / name).read_bytes() == (new / name).read_bytes() else ["other bytes"]), {}
        else:
            missing, added = compare(old / name, new / name)
        for what in missing:
            wrong += 1
            print(f"{name}: {what}")
        if added and os.environ.get("VERBOSE"):
            print(f"{name}: new: {dict(added)}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(sys.argv[1:])
