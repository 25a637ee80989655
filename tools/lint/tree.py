"""Shared by the lints: the files of the tree, C without its comments and literals, and the report
of findings.
"""
import os
import pathlib
import re
import sys

# Names that no lint reads, in any folder; `corpus` has the inputs of fuzzing.
NOT_OURS = {".git", "node_modules", ".packages", "__pycache__", "compile_commands.json", "corpus"}
COMMENT_OR_LITERAL = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


def files(folder=".", *endings):
    """The files below `folder` whose names have one of the endings, or all files if none is given.
    Files of git and of builds are left out.
    """
    found = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(
            f for f in folders if f not in NOT_OURS and not (where == "." and re.match(r"build(-|$)", f))
        )
        found += [
            pathlib.Path(where, name) for name in sorted(names) if name not in NOT_OURS and name.endswith(endings or "")
        ]
    return found


def given(folder=".", *endings):
    """The files that the command line names, or all files if it names none. tools/lint/run gives a
    lint the changed files.
    """
    return [path for path in files(folder, *endings) if len(sys.argv) < 2 or str(path) in sys.argv[1:]]


def is_shell(path):
    """Whether the file is a shell script, by its first line or its name."""
    with path.open("rb") as file:
        return path.suffix == ".sh" or bool(re.match(rb"#!.*\b(?:ba|da)?sh\b", file.readline(200)))


def blank(text):
    """Spaces with the same lines and columns as the text."""
    return re.sub(r"[^\n]", " ", text)


def code_of(text):
    """C with comments and the inside of literals blanked; #include lines stay whole."""

    def hide(match):
        found = match.group()
        line_start = text.rfind("\n", 0, match.start()) + 1
        if found[0] == '"' and re.match(r"\s*#\s*include", text[line_start : match.start()]):
            return found
        return found[0] + blank(found[1:-1]) + found[-1] if found[0] in "\"'" else blank(found)

    return COMMENT_OR_LITERAL.sub(hide, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


class Lint:
    """Collects findings; done() ends the lint: after findings, with how to comply and where the
    rule is changed.
    """

    def __init__(self, how):
        self.findings, self.how = 0, how

    def finding(self, path, line, what):
        print(f"{path}:{line}: {what}")
        self.findings += 1

    def done(self):
        if self.findings:
            print(f"To comply: {self.how}")
        sys.exit(1 if self.findings else 0)
