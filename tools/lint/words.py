#!/usr/bin/env python3
"""Lint: pages, comments, docstrings, the contract, the texts of the program and of drawings are in
plain English, with the terms of docs/glossary.md.

Replace a word of WORDS by the one beside it, and write a phrase of PHRASES as its row has it. A
sentence of a page has at most LONGEST words, and a cell of a table at most LONGEST_CELL. Text in
code marks (`...`) or quotation marks is not checked, but its words count.
"""
import re
import sys

import prose
import tree

# Words to avoid, and what to write instead.
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
AMOUNT = (
    r"\d+|(?:a )?few|ones?|lines?|words|instructions|[KMG]iB|bits?|bytes?|messages|requests|calls?|commands|decisions|"
    "items|pairs|operations|scripts|wake-ups"
)
EACH = (
    "second|minute|hour|day|week|month|item|page|node|server|key|name|request|message|call|step|slot|user|sentence|"
    "pattern|path|operation"
)
# What follows "of its own" where its noun is before it.
NO_NOUN = "as|at|by|for|from|in|on|only|or|and|than|that|to|until|when|which|with|is|are|has|have|can|may|must|never|not"
# Phrases that have to be read twice, and how to write them. A capital letter begins a sentence.
PHRASES = [
    (r"\b[Oo]f (?:ours|yours|theirs)\b", "our, your, their, or the noun"),
    (rf"\b[Oo]f (?:its|their|your|our) own(?=\s*(?:[^\w\s`'\"]|$|(?:{NO_NOUN})\b))", "its own ..., or a separate ..."),
    (r"\b(?:is|are|was|were) no (?!longer|more|less|other|worse|better|way|need|reason)(?=\w)", "is not a ..."),
    (r"\b(?:[Tt]hat|[Tt]hose) of\b", "repeat the noun: the key of ..., the messages of ..."),
    (r"\b[Oo]nes? by (?!one\b)", "repeat the noun: a decision by ..."),
    (r"\b(?:Absent|Given|Unset|Null)[,:] ", "When absent, ..."),
    (r"\b(?:reckon\w*|mend(?:s|ed|ing)?)\b", "compute, expect; fix, correct"),
    (rf"\b(?:{AMOUNT}) an? (?:{EACH})\b(?! (?:is|are|can|may|has|time)\b)", "per: bits per item, 500 per call"),
    (r"\b(?:Not (?:for|by|with|in|to|of)|Nor|The same (?:of|with|for|as))(?=[ *])", "a sentence with a verb"),
    (r"\b[Mm]eanwhile\b", "name the time: until then, during the call, since it was read"),
    (r"\b(?:go(?:es)?|going) on\b(?! (?:the|a|an|this|that|these)\b)", "continue, also ..., still ..."),
]
PHRASED = [(re.compile(phrase.replace(" ", " +")), how) for phrase, how in PHRASES]
LEADER = re.compile(r"\n[ \t]*(?:\*+|--|#|//)?")  # between two lines of a comment or a paragraph
LONGEST, LONGEST_CELL = 25, 45
DRAWN = re.compile(r"<[^>]*>")  # without these, only the texts of a drawing are left
NO_PROSE = re.compile(r"^( *)```.*?^\1```$|^<!-- bench: written.*?^<!-- bench: end -->$", re.M | re.S)
ROW = re.compile(r"^ *\|[^\n]*$", re.M)


def phrases(text):
    """(offset, phrase, how to write it) of each of PHRASES."""
    flat = LEADER.sub(lambda m: " " * len(m.group()), text)
    short = " ".join(flat.split())  # most of a file of code is blank
    for pattern, how in PHRASED:
        for match in pattern.finditer(flat) if pattern.search(short) else ():
            if not (re.search(r" no +$", match.group()) and flat[: match.start()].rstrip().lower().endswith("there")):
                yield match.start(), " ".join(match.group().split()), how


def long_cells(text):
    """(offset, words) of each cell of a table that has too many words."""
    for row in ROW.finditer(text):
        for cell in re.split(r"(?<!\\)\|", row.group()):
            if len(cell.split()) > LONGEST_CELL:
                yield row.start(), cell.split()


lint = tree.Lint(
    "Write it as the finding asks. The rules: WORDS, PHRASES, LONGEST and LONGEST_CELL of tools/lint/words.py, CODE of "
    "tools/lint/prose.py."
)
for path in tree.given():
    if path.suffix in (".json", ".png", ".ico") or path == tree.pathlib.Path(sys.argv[0]):
        continue
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        continue
    written = DRAWN.sub(lambda m: tree.blank(m.group()), text) if path.suffix == ".svg" else prose.prose_of(path, text)
    if written is None:
        continue
    if path.suffix == ".md":
        written = NO_PROSE.sub(lambda m: tree.blank(m.group()), written)
        for offset, words in long_cells(written):
            what = f"a cell of {len(words)} words: '{' '.join(words[:6])} ...'; at most {LONGEST_CELL}"
            lint.finding(path, tree.line_of(written, offset), f"{what}: shorten it, or put a list below the table")
    if path.suffix in (".md", ".yaml", ".lua") or prose.is_python(path, text):
        written = prose.unquoted(written)
    for match in FOUND.finditer(written):
        lint.finding(
            path, tree.line_of(written, match.start()), f"'{match.group()}': {WORDS[int(match.lastgroup[1:])][1]}"
        )
    for offset, phrase, how in phrases(written):
        lint.finding(path, tree.line_of(written, offset), f"'{phrase}': {how}")
    if path.suffix == ".md":
        for offset, words in prose.sentences(written):
            if len(words) > LONGEST:
                lint.finding(
                    path,
                    tree.line_of(written, offset),
                    f"{len(words)} words: '{' '.join(words[:6])} ...'; at most {LONGEST}",
                )
lint.done()
