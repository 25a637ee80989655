"""Shared by the lint of words and tools/sample_sentences.py: finds the parts of a file that are
prose of this project, and the sentences of a text. It has no rules about words.
"""
import io
import re
import tokenize

import tree

# Folders whose comments are checked; pages are checked everywhere.
CODE = "service handlers lua openapi tools packaging web examples docker bench clients tests".split()
TEXTS = ("service", "handlers")  # folders whose string literals are texts of the program
NAMED = {"Makefile", "CMakeLists.txt"}
QUOTED = re.compile(r'`[^`\n]*`|"[^"\n]*"|\u201c[^\u201d]*\u201d|https?://\S+')
C_PARTS = re.compile(r'(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<literal>"(?:\\.|[^"\\\n])*")|\'(?:\\.|[^\'\\\n])*\'', re.S)
C_FUNCTION = re.compile(r"^[a-z][\w *]*?(?P<name>\w+)\([^;]*?\)\n\{", re.M)
HASH = re.compile(r"(?:^|(?<=\s))#(?!!)[^\n]*", re.M)
LUA = re.compile(r"--[^\n]*")
SKIPPED = re.compile(r"^(?: {4}|\t)[^\n]*$|^<!--.*?-->$|^#+ [^\n]*$|^\|[^\n]*$", re.M | re.S)


def blanked(text, keep):
    """The text in which everything except the matches of `keep` is blank."""
    out, at = [], 0
    for match in keep:
        out += [tree.blank(text[at : match[0]]), text[match[0] : match[1]]]
        at = match[1]
    return "".join(out) + tree.blank(text[at:])


def is_python(path, text):
    return path.suffix == ".py" or text.startswith("#!/usr/bin/env python3")


def unquoted(text):
    """The text without its quotations; the quotes of a docstring do not count."""
    return QUOTED.sub(lambda m: tree.blank(m.group()), text.replace('"""', "   "))


def python_prose(text):
    """Spans of comments and docstrings."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_doc = token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.NL)
        if token.type == tokenize.COMMENT or is_doc:
            yield starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1]
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type


def prose_of(path, text):
    """The prose of a file, on its original lines, or None if it has no prose of this project."""
    is_code = path.parts[0] in CODE or str(path) in NAMED
    if path.suffix == ".md":
        return text
    if not is_code or "#!/bin" in text[:7] and path.suffix == ".json":
        return None
    if path.suffix in (".c", ".h", ".def", ".js", ".mjs", ".css"):
        literals = path.parts[0] in TEXTS
        parts = list(C_PARTS.finditer(text))
        spans = [m.span() for m in parts if m["comment"] or (literals and m["literal"] and " " in m["literal"])]
        spans += [m.span("name") for m in C_FUNCTION.finditer(text)]
        text = C_FUNCTION.sub(lambda m: m.group().replace("_", " "), text)
        return blanked(C_PARTS.sub(lambda m: unquoted(m.group()) if m["comment"] else m.group(), text), sorted(spans))
    if path.suffix == ".lua":
        return blanked(text, [m.span() for m in LUA.finditer(text)])
    if is_python(path, text):
        return blanked(text, list(python_prose(text)))
    if path.suffix == ".yaml" and path.parts[0] == "openapi":
        return text
    if path.suffix in (".yaml", ".yml", ".conf", ".cfg", ".sh", ".cmake", ".txt", "") or text.startswith("#!"):
        return blanked(text, [m.span() for m in HASH.finditer(text)])
    return None


def sentences(text):
    """(offset, words) of each sentence of a page's paragraphs and list items. A clause after a
    colon or a semicolon counts as a separate sentence.
    """
    text = SKIPPED.sub(lambda m: tree.blank(m.group()), text)
    for part in re.finditer(r"\S(?:.|\n(?!\s*\n|\s*[-*] |\s*\d+\. ))*", text):
        at = part.start()
        for sentence in re.split(r"(?<=[.?!:;])\s", part.group()):
            yield at, sentence.split()
            at += len(sentence) + 1
