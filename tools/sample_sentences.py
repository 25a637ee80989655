#!/usr/bin/env python3
"""Draws random sentences of one kind of text, so that an editor can find those to be read twice.

tools/sample_sentences.py KIND [COUNT [SEED]]

Prints COUNT sentences (50) with their places. A list item, a comment of one line and a table cell
of six words count as sentences, whether they have a verb or not. The same SEED (1) draws the same
sentences of the same tree. The rate among 50 sentences can be wrong by 10 points.
"""
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lint"))
import prose  # noqa: E402
import tree  # noqa: E402

GENERATED = re.compile(r"docs/(?:reference/|(?:errors|limits|metrics|options|redis-keys)\.md)")
KINDS = {
    "readme": lambda path: str(path) in ("README.md", "docs/README.md", "docs/getting-started.md"),
    "guides": lambda path: path.parts[0] == "docs" and not GENERATED.match(str(path)) and path.parts[1] != "adr",
    "decisions": lambda path: path.parts[:2] == ("docs", "adr"),
    "architecture": lambda path: str(path) in ("ARCHITECTURE.md", "CONTRIBUTING.md"),
    "security": lambda path: str(path) == "SECURITY.md",
    "reliability": lambda path: str(path) == "RELIABILITY.md",
    "openapi": lambda path: path.parts[0] == "openapi",
    "comments": lambda path: path.parts[0] in ("service", "handlers", "lua"),
    "service": lambda path: path.parts[0] == "service",
    "handlers": lambda path: path.parts[0] == "handlers",
    "lua": lambda path: path.parts[0] == "lua",
    "tests": lambda path: path.parts[0] in ("tests", "bench"),
}
CELL_WORDS = 6
DESCRIPTION = re.compile(
    r"^( *)(?:- )?(?:description|summary|x-why): (?:[|>]-?\n((?:\1 +[^\n]*\n|\n)+)|([^\n]*)\n)", re.M
)
ENDS = re.compile(r"(?<=[.?!])(?:\*\*)?\s+(?=[A-Z`*\"'(\[])")


def page_blocks(text):
    """(offset, text) of each paragraph, list item and table cell; not of cells with a few words."""
    text = re.sub(r"^( *)```.*?^\1```$|^<!--.*?-->$", lambda m: tree.blank(m.group()), text, flags=re.M | re.S)
    for row in re.finditer(r"^\|(?! ?[-:]+[-:| ]*\|$)[^\n]*$", text, re.M):
        at = row.start()
        for cell in re.split(r"(?<!\\)\|", row.group()):
            if len(re.findall(r"[A-Za-z]{2,}", re.sub(r"`[^`]*`|\]\([^)]*\)", "", cell))) >= CELL_WORDS:
                yield at, cell
            at += len(cell) + 1
    rest = re.sub(r"^(?:\|| {4}|\t|#)[^\n]*$", lambda m: tree.blank(m.group()), text, flags=re.M)
    for part in re.finditer(r"\S(?:.|\n(?!\s*\n|\s*[-*] |\s*\d+\. ))*", rest):
        yield part.start(), part.group()


def code_blocks(path, text):
    """(offset, text) of each comment."""
    if path.suffix == ".lua":
        runs = re.finditer(r"(?:^[ \t]*--[^\n]*\n)+|--[^\n]*\n", text, re.M)
        return [(m.start(), re.sub(r"^[ \t]*--+ ?", "", m.group(), flags=re.M)) for m in runs]
    comments = (m for m in prose.C_PARTS.finditer(text) if m["comment"])
    return [(m.start(), re.sub(r"\*/|/\*+|//|^\s*\*+ ?", "", m.group(), flags=re.M)) for m in comments]


def blocks(path, text):
    if path.suffix == ".md":
        return page_blocks(text)
    if path.suffix == ".yaml":
        return [(m.start(), m[2] or m[3]) for m in DESCRIPTION.finditer(text)]
    return code_blocks(path, text) if path.suffix in (".c", ".h", ".lua", ".def") else []


def sentences(kind):
    """(place, sentence) of all texts of a kind; a sentence has at least three words."""
    for path in tree.files():
        if not KINDS[kind](path) or path.suffix not in (".md", ".yaml", ".c", ".h", ".lua", ".def"):
            continue
        text = path.read_text()
        for offset, block in blocks(path, text):
            for paragraph in re.split(r"\n\s*\n", block):
                for sentence in ENDS.split(paragraph):
                    words = " ".join(sentence.split()).strip("-*| '\"")
                    if len(re.findall(r"[A-Za-z]{2,}", words)) >= 3 and not words.startswith("--@"):
                        yield f"{path}:{tree.line_of(text, offset)}", words


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in KINDS:
        sys.exit(f"{__doc__}\nKIND is one of: {', '.join(KINDS)}")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    drawn = list(sentences(sys.argv[1]))
    for place, sentence in sorted(random.Random(seed).sample(drawn, min(count, len(drawn)))):
        print(f"{place}: {sentence}")
    print(f"{min(count, len(drawn))} of {len(drawn)} sentences")


if __name__ == "__main__":
    main()
