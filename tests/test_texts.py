#!/usr/bin/env python3
"""Tests the manual page and the completions. The page is complete and without errors, and shells
complete the options.

tests/test_texts.py PROGRAM FOLDER PART: PROGRAM is the daemon, FOLDER has what packaging/texts.py
wrote, PART is manual, bash, zsh or fish. Exit status 77: a program that it needs is missing.
"""
import pathlib
import re
import shutil
import subprocess
import sys

PROGRAM, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
SECTIONS = [
    "NAME",
    "SYNOPSIS",
    "DESCRIPTION",
    "OPTIONS",
    "FILES",
    "ENVIRONMENT",
    "SIGNALS",
    "EXIT STATUS",
    "EXAMPLES",
    "SEE ALSO",
]
# The typed text and the completions offered; None: every option.
TYPED = [
    ("patternd --", None),
    ("patternd --log-f", ["--log-format"]),
    ("patternd --strict --log-f", ["--log-format"]),
    ("patternd --log-format ", ["json", "text"]),
    ("patternd --log-format=t", ["text"]),
    ("patternd --log-level ", ["debug", "error", "info", "warn"]),
    ("patternd --config patternd.c", ["patternd.conf"]),
    ("patternd --pool-size ", []),
    ("patternd --embedded --log-f", ["--log-format"]),
    ("patternd --zz", []),
]


def run(*command):
    """Returns the output of a command. Fails if the command fails or writes to stderr."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=FOLDER)
    assert (
        done.returncode == 0 and not done.stderr
    ), f"{command} ends with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def flags():
    return sorted(re.findall(r"^  (--[a-z-]+)", run(PROGRAM, "--help"), re.M))


def manual():
    page, dated = FOLDER / "patternd.8", FOLDER / "patternd-dated.8"
    text = page.read_text()
    # mandoc warns that the page has no date. A date would be wrong, or would make builds differ.
    dated.write_text(text.replace('.TH PATTERND 8 ""', ".TH PATTERND 8 2000-01-01"))
    checks = [("mandoc", "-Tlint"), ("groff", "-man", "-ww", "-z"), ("man", "--warnings", "-l")]
    checks = [c for c in checks if shutil.which(c[0])]
    for check in checks:
        said = run(*check, dated if check[0] == "mandoc" else page)
        assert check[0] == "man" or not said, said
    assert re.findall(r"^\.SH (.*)$", text, re.M) == SECTIONS, "sections"
    told = re.findall(r"^\.TP\n\\fB(\\-\\-.*?)\\fR", text, re.M)
    assert sorted(t.replace("\\-", "-") for t in told) == flags(), "options"
    assert not re.search("@[A-Z_]+@", text), "a name was not filled in"
    return bool(checks)


def offered_by_bash(line):
    """Calls the completion function as bash does, for which the sign in --option=value is a
    separate word.
    """
    words = [w for w in re.split(r"(=)|\s", line) if w is not None]
    words = [w for i, w in enumerate(words) if w or i == len(words) - 1]
    script = (
        'source patternd.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _patternd; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return run("bash", "--norc", "--noprofile", "-c", script, "bash", *words).split()


def offered_by_fish(line):
    said = run("fish", "--no-config", "-c", f"source patternd.fish; complete -C '{line}'")
    return [row.split("\t")[0].split("=")[-1] for row in said.splitlines()]


def completion(shell, offered):
    if not shutil.which(shell):
        return False
    for line, wanted in TYPED:
        got = sorted(offered(line))
        assert got == (flags() if wanted is None else wanted), f"{shell}: {line!r} offers {got}"
    return True


def zsh():
    if not shutil.which("zsh"):
        return False
    run("zsh", "-n", "_patternd")
    assert sorted(re.findall(r"^\t'(--[a-z-]+)", (FOLDER / "_patternd").read_text(), re.M)) == flags(), "zsh: options"
    return True


PARTS = {
    "manual": manual,
    "zsh": zsh,
    "bash": lambda: completion("bash", offered_by_bash),
    "fish": lambda: completion("fish", offered_by_fish),
}
if not PARTS[sys.argv[3]]():
    print(f"{sys.argv[3]}: not tried, because the program for it is not installed")
    sys.exit(77)
