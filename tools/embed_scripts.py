#!/usr/bin/env python3
"""Turns lua/*/**/*.lua into C tables. Each pattern has a folder, which may have subfolders.
lua/lib/ and the lib_*.lua of each pattern are parts of scripts.

A script file reads:

    -- lock_acquire: one line: what it does
    -- KEYS, ARGV (with units), returns, errors, complexity: the contract, as comments
    --@include time queue      pastes lib/time.lua and lib_queue.lua of its pattern here; the code
                               above works without them. A long list takes several lines
    --@otherwise wake lock     pastes them too, and puts all code below into a separate function,
                               which Redis creates only when the script gets there; most calls
                               return before
    --@flags allow-oom         flags of the '#!lua' line. Without flags Redis refuses the script if
                               it is out of memory or a replica
    --@idempotent              wraps the script with lua/lib/idempotency.lua: a replay returns the
                               reply again. Do not use it for a reply that lets a client proceed
    --@idempotent proof        the same for a script that grants something for a time
    --@idempotent window       the same for a decision that holds for a time; a replay after that
                               decides again
    --@idempotent parts        like --@idempotent, for a request that makes several calls, with
                               lua/lib/idempotency_parts.lua
    --@looks                   changes nothing except PFCOUNT's cache. It has no '#!lua' line:
                               with one, Redis rejects PFCOUNT in a 'no-writes' script, and rejects
                               all other scripts on a replica
    --@reads                   changes nothing ('no-writes'); a lost answer has effect none
    --@reply 0 held: owner text  a form of the reply; replies.py describes the syntax
    --@shape holder: owner text  items that several replies share

A script that includes `names` may create the first key of a resource. Its last key, before the key
of the record, is the index of names.

A script returns {outcome, now_ms, ...}. An outcome above 0 had an effect, and an idempotency record
keeps it; an outcome of 0 or below had none. now_ms is Redis's clock, which a replay renews, so
scripts return absolute instants, from which remaining times are computed. A script with `proof`
returns a proof of the grant beside the reply. For a replay it runs with `granted` (that reply) and
`proof`, and returns the present state of the grant, or nothing if the grant has ended. A script
with `window` returns, behind the reply and nil, for how many milliseconds the record is kept.

Writes scripts.h, scripts.c and, to look at or load by hand, lua/<name>.lua into the output folder.
"""
import collections
import functools
import hashlib
import pathlib
import re
import sys

from c_literal import c_rows, write_changed
from replies import Replies

REPLAYS = {"": "DONE", "parts": "DONE", "proof": "GRANT", "window": "WINDOW"}
DIRECTIVE = re.compile(r"^--@(\w+)[ \t]*(.*)$", re.M)
FUNCTION = re.compile(r"^local function (\w+)\(.*?^end\n", re.M | re.S)


def code_of(text):
    """The script without whole-line comments and empty lines, as Redis gets it."""
    return "".join(line + "\n" for line in text.splitlines() if line.strip() and not line.strip().startswith("--"))


def scripts_of(lua):
    """The files of all scripts."""
    return [p for p in sorted(lua.glob("*/**/*.lua"), key=lambda p: p.stem) if not is_part(p.relative_to(lua))]


def is_part(path):
    return path.parts[0] == "lib" or path.name.startswith("lib_")


@functools.cache
def parts_of(pattern):
    """The parts that only the scripts of a pattern include: {name: file}."""
    parts = {}
    for path in sorted(pattern.glob("**/lib_*.lua")):
        name = path.stem.removeprefix("lib_")
        if name in parts:
            sys.exit(f"{path}: {parts[name]} has the same name, by which scripts include it")
        parts[name] = path
    return parts


def part(name, pattern, lib):
    return parts_of(pattern).get(name) or lib / f"{name}.lua"


def with_libraries(text, pattern, lib):
    usual, otherwise, rest = text.partition("--@otherwise ")
    if otherwise:
        text = usual + "return (function()\n--@include " + rest + "end)()\n"
    return re.sub(
        r"^--@include[ \t]+(.*)$",
        lambda line: "".join(
            with_libraries(part(name, pattern, lib).read_text(), pattern, lib) for name in line[1].split()
        ),
        text,
        flags=re.M,
    )


def without_indentation(text):
    return "\n".join(line.strip() for line in text.splitlines())


def without_idle_functions(text):
    """Removes the library functions that the script does not call: Redis would create each of them
    again whenever the script runs.
    """
    while True:
        count_of = collections.Counter(re.findall(r"\w+", text))
        idle = [f for f in FUNCTION.finditer(text) if count_of[f[1]] == 1]
        if not idle:
            return text
        for f in reversed(idle):
            text = text[: f.start()] + text[f.end() :]


def assemble(path, lib):
    text, pattern = path.read_text(), lib.parent / path.relative_to(lib.parent).parts[0]
    flags, wrapper, replay, reads, looks = [], None, "NONE", False, False
    for word, rest in DIRECTIVE.findall(text):
        if word == "flags":
            flags += rest.split()
        elif word == "idempotent":
            if rest not in REPLAYS:
                sys.exit(f"{path}: --@idempotent {rest}: the word must be one of {', '.join(filter(None, REPLAYS))}")
            wrapper, replay = "idempotency_parts" if rest == "parts" else "idempotency", REPLAYS[rest]
        elif word == "looks":
            reads = looks = True
        elif word == "reads":
            reads = True
            flags.append("no-writes")
        elif word not in ("include", "otherwise", "reply", "shape"):
            sys.exit(f"{path}: unknown directive --@{word}; the head of tools/embed_scripts.py lists those that exist")
    try:
        body = without_idle_functions(code_of(with_libraries(text, pattern, lib)))
        if wrapper:
            body = (
                "local function body(KEYS, ARGV, granted, proof)\n"
                + body
                + "end\n"
                + code_of((lib / f"{wrapper}.lua").read_text())
            )
    except FileNotFoundError as missing:
        sys.exit(
            f"{path}: a directive needs {missing.filename}, which does not exist; "
            f"--@include x reads lib_x.lua in {pattern} or, without one, {lib}/x.lua"
        )
    code = code_of(text)
    for word, mark in (("GRANT", r"\bgranted\b"), ("WINDOW", r"\breturn .*, nil, ")):
        if (replay == word) != bool(re.search(mark, code)) and wrapper != "idempotency_parts":
            sys.exit(f"{path}: --@idempotent and what the script returns differ: see {pathlib.Path(__file__).name}")
    shebang = "" if looks else "#!lua" + (" flags=" + ",".join(flags) if flags else "") + "\n"
    return {
        "name": path.stem,
        "source": shebang + without_indentation(body) + "\n",
        "replay": replay,
        "indexed": bool(re.search(r"^--@include .*\bnames\b", text, re.M)),
        "writes": not reads,
        "path": path,
    }


def main(folder, out):
    folder, out = pathlib.Path(folder), pathlib.Path(out)
    scripts = [assemble(path, folder / "lib") for path in scripts_of(folder)]
    replies = Replies({path: path.read_text() for path in sorted(folder.glob("*/**/*.lua"))})
    (out / "lua").mkdir(parents=True, exist_ok=True)
    h = [
        "/* Generated by tools/embed_scripts.py from lua/. */",
        "#ifndef PATTERND_SCRIPTS_H",
        "#define PATTERND_SCRIPTS_H",
        "",
        '#include "call/script.h"',
        "",
    ]
    c = ["/* Generated by tools/embed_scripts.py from lua/. */", '#include "scripts.h"', ""]
    for s in scripts:
        source = s["source"].encode()
        forms, enum = replies.of_script(s["path"])
        write_changed(out / "lua" / (s["name"] + ".lua"), s["source"])
        h += ["", f"extern const struct script {s['name']}_script;"] + ([enum] if enum else [])
        c += [
            f"static const char {s['name']}_source[] =\n{c_rows(source)};",
            f"static const struct reply_form {s['name']}_forms[] = {{",
            *(f'\t{{ {least}, {most}, "{form}" }},' for least, most, form in forms),
            "\t{ 0 },",
            "};",
            f"const struct script {s['name']}_script = {{",
            f'\t.name = "{s["name"]}",',
            f'\t.sha1 = "{hashlib.sha1(source).hexdigest()}",',
            f"\t.source = {{ {s['name']}_source, {len(source)} }},",
            f"\t.forms = {s['name']}_forms,",
            f"\t.replay = REPLAY_{s['replay']},",
            f"\t.writes = {str(s['writes']).lower()},",
            f"\t.indexed = {str(s['indexed']).lower()},",
            "};",
            "",
        ]
    h += ["", "/* Of several replies. */", *replies.of_shapes()]
    h += [
        "",
        "/* All of them, ended by NULL. */",
        "extern const struct script *const all_scripts[];",
        "",
        "#endif",
    ]
    c += (
        ["const struct script *const all_scripts[] = {"]
        + [f"\t&{s['name']}_script," for s in scripts]
        + ["\tNULL,", "};"]
    )
    write_changed(out / "scripts.h", "\n".join(h) + "\n")
    write_changed(out / "scripts.c", "\n".join(c) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
