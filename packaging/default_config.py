#!/usr/bin/env python3
"""packaging/default_config.py PROGRAM FILE: writes the configuration file of an installation, made of `PROGRAM --help`:
every option with its default, commented out.
"""
import pathlib
import re
import subprocess
import sys
import textwrap

HEAD = """\
# Options of patternd, each as `name = value`; those that are commented out show the default. A variable of the
# environment (PATTERND_POOL_SIZE) goes over a line of this file, a flag over both. `patternd --config FILE --print-config`
# shows what holds and where it came from. Passwords belong into files of their own: see redis-password-file.
"""
OPTION = re.compile(r"  --([a-z-]+)(?:(?:\[=|[ ])([^\]]+)\]?)?$")
HELP = re.compile(r"(.*?) *(?:\[([^\[\]]*)\])?$")
NOT_IN_A_FILE = "Other"  # the group of what only a command line can ask for


def entry(option, text):
    """What the file says of an option: its help, then the option with its default."""
    about, default = HELP.match(text).groups()
    yield from ("", *textwrap.wrap(about, 116, initial_indent="# ", subsequent_indent="# "))
    yield f"#{option[1]} = {default or option[2] or 'false'}"


def lines_of(help_text):
    """The file's lines, from the groups, options and helps of the text. A help may take several lines."""
    option, text = None, ""
    for line in help_text.split("\n\n", 2)[2].split("\n"):
        if option and line.startswith(" " * 8):
            text = f"{text} {line.strip()}".strip()
            continue
        if option:
            yield from entry(option, text)
        option, text = OPTION.match(line), ""
        if line == NOT_IN_A_FILE:
            return
        if line and not option:
            yield from ("", f"# ---- {line}")


def main():
    program, path = sys.argv[1:]
    said = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    text = "\n".join([HEAD.rstrip(), *lines_of(said)]) + "\n"
    if text.count("\n#") < 20:
        sys.exit(f"default_config.py: `{program} --help` is not laid out as expected")
    pathlib.Path(path).write_text(text)


main()
