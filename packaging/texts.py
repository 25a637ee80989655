#!/usr/bin/env python3
"""packaging/texts.py TEMPLATE FOLDER NAME=VALUE...: the texts of an installation about the options,
all of it made of service/process/options.def: the configuration file, the manual page (TEMPLATE,
with the names put in) and the completions of bash, zsh and fish.
"""
import pathlib
import re
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tools"))
import options  # noqa: E402

HEAD = """\
# Options of patternd, each as `name = value`; those that are commented out show the default. A
# variable of the environment (PATTERND_POOL_SIZE) overrides a line of this file, a flag overrides
# both. `patternd --config FILE --check-config` shows the options in force and each fault. Put
# passwords into files of their own: redis-password-file.
"""


def in_groups(once=True):
    """[(title, [Option])]; without options of the command line alone."""
    kept = [(title, [o for o in group if once or o.kind != "ONCE"]) for title, group in options.groups()]
    return [(title, group) for title, group in kept if group]


def all_options():
    return [option for _, group in in_groups() for option in group]


def takes(option):
    """What its value is, as the shell completes it: a file, a folder, one of a list, anything, or
    nothing.
    """
    if option.kind == "CHOICE":
        return "choice"
    if option.argument in ("FILE", "DIR", "PROGRAM"):
        return option.argument.lower()
    return "anything" if option.argument else "nothing"


def config_file():
    lines = [HEAD.rstrip()]
    for title, group in in_groups(once=False):
        lines += ["", f"# ---- {title}"]
        for option in group:
            span = f" ({option.low} to {option.high})" if option.kind == "INT" else ""
            lines += ["", *textwrap.wrap(option.help + span, 116, initial_indent="# ", subsequent_indent="# ")]
            lines.append(f"#{option.flag} = {option.default if option.default != '' else option.argument or 'false'}")
    return "\n".join(lines) + "\n"


# ---- The manual page


def roff(text):
    """Text as troff takes it: a hyphen that may be copied is a minus, no line begins with a
    request.
    """
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + text if text.startswith(".") else text


def size_of(number):
    for unit, bytes_ in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if number >= bytes_ and number % bytes_ == 0:
            return f"{number // bytes_} {unit}"
    return str(number)


def facts(option):
    """Lines of its default and its range."""
    told = size_of if option.argument == "BYTES" else str
    if option.default != "":
        shown = told(option.default)
        yield rf"Default: \fB{roff(str(option.default))}\fR{f' ({shown})' if shown != str(option.default) else ''}."
    if option.kind == "INT":
        yield f"From {told(option.low)} to {told(option.high)}."


def manual_usage(option):
    argument = option.argument.replace("[", "").replace("]", "")
    if option.kind == "CHOICE":
        return rf"\fB\-\-{roff(option.flag)}\fR " + "|".join(rf"\fB{choice}\fR" for choice in argument.split("|"))
    shown = rf"\fI{roff(argument)}\fR"
    if option.kind == "OPTIONAL":
        shown = f"[={shown}]"
    elif argument:
        shown = f" [{shown}]" if "[" in option.argument else f" {shown}"
    else:
        shown = ""
    return rf"\fB\-\-{roff(option.flag)}\fR{shown}"


def manual_options():
    lines = []
    for title, group in in_groups():
        lines.append(f".SS {title}")
        for option in group:
            text = option.help[0].upper() + option.help[1:] if re.match("[a-z]+[ ,]", option.help) else option.help
            wrapped = textwrap.wrap(f"{text}.", 72, break_long_words=False, break_on_hyphens=False)
            lines += [".TP", manual_usage(option), *map(roff, wrapped), *facts(option)]
    return "\n".join(lines)


def manual(template, names):
    known = {**names, "OPTIONS": manual_options()}
    return re.sub(r"@([A-Z_]+)@", lambda m: known[m.group(1)], template)


# ---- Completions


def bash():
    def case(names, action):
        return f"\t{' | '.join(names)}) {action} ;;"

    def named(kind):
        return [f"--{o.flag}" for o in all_options() if takes(o) == kind and not o.argument.startswith("[")]

    def words(list_):
        return f"compgen -W '{list_}' -- \"$word\""

    optional = [f"--{o.flag}" for o in all_options() if o.kind == "OPTIONAL"]
    cases = [
        case(named("file"), 'compgen -f -- "$word"'),
        case(named("dir"), 'compgen -d -- "$word"'),
        case(named("program"), 'compgen -c -- "$word"'),
        case(named("anything"), ":"),
        *[case([f"--{o.flag}"], words(o.argument.replace("|", " "))) for o in all_options() if takes(o) == "choice"],
    ]
    return "\n".join(
        [
            "# patternd(8) completion for bash. Made by packaging/texts.py of service/process/options.def.",
            "_patternd_words()",
            "{",
            "\tlocal word=$2 before=$1",
            "\tcase $before in",
            *cases,
            f"\t*) {words(' '.join('--' + o.flag for o in all_options()))} ;;",
            "\tesac",
            "}",
            "",
            "_patternd()",
            "{",
            "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}",
            "\t# --option=value are three words here.",
            '\tif [ "$word" = = ]; then',
            "\t\tword=",
            '\telif [ "$before" = = ]; then',
            "\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}",
            *[
                line
                for name in optional
                for line in (f'\telif [ "$before" = {name} ]; then', "\t\tbefore= # it goes with a sign alone")
            ],
            "\tfi",
            '\tmapfile -t COMPREPLY < <(_patternd_words "$before" "$word")',
            "}",
            "complete -F _patternd patternd",
            "",
        ]
    )


def zsh():
    def quoted(text):
        return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")

    action = {"file": "_files", "dir": "_directories", "program": "_command_names -e", "anything": " "}
    lines = []
    for option in all_options():
        spec = f"--{option.flag}{'=-' if option.kind == 'OPTIONAL' else '=' if option.argument else ''}[{quoted(option.help)}]"
        if takes(option) == "choice":
            spec += f":{option.flag}:({option.argument.replace('|', ' ')})"
        elif option.argument:
            colons = "::" if option.kind == "OPTIONAL" or option.argument.startswith("[") else ":"
            spec += f"{colons}{quoted(option.argument.strip('[]'))}:{action[takes(option)]}"
        lines.append(f"\t'{spec}'")
    return "\n".join(
        [
            "#compdef patternd",
            "# Made by packaging/texts.py of service/process/options.def.",
            "_arguments \\",
            " \\\n".join(lines),
            "",
        ]
    )


def fish():
    lines = [
        "# patternd(8) completion for fish. Made by packaging/texts.py of service/process/options.def.",
        "complete -c patternd -f",
    ]
    for option in all_options():
        text = option.help.replace("\\", "\\\\").replace("'", "\\'")
        value = {
            "file": " -r -F",
            "program": " -r -F",
            "dir": "",
            "nothing": "",
            "anything": " -x",
            "choice": f" -x -a '{option.argument.replace('|', ' ')}'",
        }[takes(option)]
        if option.argument.startswith("["):
            value = ""
        lines.append(f"complete -c patternd -l {option.flag}{value} -d '{text}'")
    return "\n".join(lines) + "\n"


def main():
    template, folder, *names = sys.argv[1:]
    folder = pathlib.Path(folder)
    template = pathlib.Path(template).read_text()
    for name, text in (
        ("patternd.conf", config_file()),
        ("patternd.bash", bash()),
        ("_patternd", zsh()),
        ("patternd.fish", fish()),
        ("patternd.8", manual(template, dict(name.split("=", 1) for name in names))),
    ):
        (folder / name).write_text(text)


main()
