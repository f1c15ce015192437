#!/usr/bin/env python3
"""The figures of what collbench-analyze printed, drew and wrote, without its words.

    scripts/figures.py FOLDER

Rewrites each file below FOLDER to its figures, so that two folders can be compared by diff where only the
words differ: of JSON all but the sentences, of which the numbers stay; of text, pictures and pages the
numbers with their units, sorted.
"""

import collections
import html
import json
import pathlib
import re
import sys

# A number, its sign and unit; not one that is a part of a name (node12, p10, MPI_INT8, #3-4).
NUMBER = re.compile(r"(?<![\w.#/])[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?:\s?(?:ns|us|µs|ms|s|min|h|d|%|ppm|GiB|MiB|KiB|kB|MB|GB|B)(?!\w))?(?!\w)")
# Names of percentiles say which figure is meant, and are no figures.
PERCENTILE = re.compile(r"\b\d+(?:st|nd|rd|th) percentiles?\b|\bp\d+\b")


def numbers(text):
    """The numbers of a text with how often each is there, one in a line."""
    text = PERCENTILE.sub(" ", text)
    counts = collections.Counter(re.sub(r"\s|,(?=\d{3})", "", match) for match in NUMBER.findall(text))
    return [f"{number} x{count}" for number, count in sorted(counts.items())]


def without_sentences(value):
    """JSON with the numbers of a sentence instead of the sentence."""
    if isinstance(value, dict):
        return {key: without_sentences(member) for key, member in value.items()}
    if isinstance(value, list):
        return [without_sentences(member) for member in value]
    if isinstance(value, str) and value.strip().count(" ") >= 2:
        return numbers(value)
    return value


def figures(path):
    """What to write instead of a file."""
    text = path.read_text(errors="replace")
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.dumps(without_sentences(json.loads(text)), indent=1)
        except ValueError:
            pass
    if path.suffix in (".svg", ".html"):
        text = re.sub(r"<(style|script)\b.*?</\1>", " ", text, flags=re.S)
        text = html.unescape(re.sub(r"<[^>]*>", " ", text))
    return "\n".join(numbers(text)) + "\n"


def main(words):
    if len(words) != 1 or words[0].startswith("-"):
        sys.exit(__doc__)
    for path in sorted(pathlib.Path(words[0]).rglob("*")):
        if path.is_file() and path.suffix != ".trace":
            path.write_text(figures(path))


if __name__ == "__main__":
    main(sys.argv[1:])
