#!/usr/bin/env python3
"""Lint: the words that we write. Pages, comments, docstrings, the contract, and the texts of the
program: plain English, by terms of docs/glossary.md.

A word of WORDS is replaced by the one beside it. A sentence of a page has at most LONGEST words.
What is in code marks (`...`) or quotation marks is not ours.
"""
import re
import sys

import prose
import tree

# What is not written, and what is instead.
WORDS = [
    (r"who(?:ever|m|mever)?", "name the actor: the client, worker, caller, waiter, daemon"),
    (r"nobody|somebody|anybody|everybody|those who", "name the actor: no client, another program"),
    (r"he|him|his|himself", "they, or the noun"),
    (r"tells?|told|telling", "returns, reports, logs, states"),
    (r"says?|said|saying", "returns, reports, logs, states"),
    (r"hears?|heard|hearing", "learns, receives, is subscribed to"),
    (r"stands?|stood|standing(?! for)", "is, belongs, must be"),
    (r"anew", "again"),
    (r"(?:is|are|was|were) over", "expires, times out, ends, has ended"),
    (r"(?:give|gives|gave|given|giving|hand|handed|hands)(?: it| them)? back", "release, return, refund"),
    (r"lets? (?:it |them )?go", "release"),
    (r"prolongs?|prolonged", "extend, renew"),
    (r"hangs? up|hung up", "close the connection"),
]
FOUND = re.compile(
    rf"(?<![\w'-])(?=\w)(?:{'|'.join(f'(?P<w{i}>{word})' for i, (word, _) in enumerate(WORDS))})(?![\w-])", re.I
)
LONGEST = 25

lint = tree.Lint("Write it as the finding asks. The rules: WORDS and LONGEST of tools/lint/words.py, CODE of tools/lint/prose.py.")
for path in tree.files():
    if path.suffix in (".json", ".svg", ".png", ".ico") or path == tree.pathlib.Path(sys.argv[0]):
        continue
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        continue
    written = prose.prose_of(path, text)
    if written is None:
        continue
    if path.suffix == ".md":
        written = re.sub(r"^( *)```.*?^\1```$", lambda m: tree.blank(m.group()), written, flags=re.M | re.S)
    if path.suffix in (".md", ".yaml", ".lua") or prose.is_python(path, text):
        written = prose.unquoted(written)
    for match in FOUND.finditer(written):
        lint.finding(
            path, tree.line_of(written, match.start()), f"'{match.group()}': {WORDS[int(match.lastgroup[1:])][1]}"
        )
    if path.suffix == ".md":
        for offset, words in prose.sentences(written):
            if len(words) > LONGEST:
                lint.finding(
                    path,
                    tree.line_of(written, offset),
                    f"{len(words)} words: '{' '.join(words[:6])} ...'; at most {LONGEST}",
                )
lint.done()
