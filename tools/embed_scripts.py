#!/usr/bin/env python3
"""Turns lua/*/**/*.lua into C tables. Each pattern has a folder, which may have subfolders. The
files of lua/lib/ and the lib_*.lua of a pattern are modules: functions, constants (in capitals) and
variables that operations use by their names. All operations of a pattern that have the same flags
are one script, which assemble.py makes.

The file of an operation reads:

    -- lock_acquire: one line: what it does
    -- KEYS, ARGV (with units), returns, errors, complexity: the contract, as comments
    --@flags allow-oom         flags of the '#!lua' line. Without flags Redis refuses the script if
                               it is out of memory or a replica
    --@idempotent              a replay of the request returns the reply again, which its
                               idempotency record keeps. Do not use it for a reply that lets a
                               client proceed
    --@idempotent proof        the same for an operation that grants something for a time
    --@idempotent window       the same for a decision that holds for a time; a replay after that
                               decides again
    --@idempotent parts        the same for a request that makes several calls
    --@looks                   changes nothing except PFCOUNT's cache. It has no '#!lua' line:
                               with one, Redis rejects PFCOUNT in a 'no-writes' script, and rejects
                               all other scripts on a replica
    --@reads                   changes nothing ('no-writes'); a lost answer has effect none
    --@reply 0 held: owner text  a form of the reply; replies.py describes the syntax
    --@again 0 settled: total int  the same, if the operation is to be called again
    --@first queue_settle      before it is called again, this operation is called with the same
                               keys; it may fail
    --@shape holder: owner text  items that several replies share
    --@plain                   the code from here to --@operation is for the usual case. It calls no
                               function of a module, so that no function is made. It sets `reply`
                               (and `proves` and `lasts_ms`, see lib/recorded.lua), or leaves it to
                               the operation, and in `known` what it has read
    --@steps                   the code from here to --@operation sets `steps`: operations of the
                               same script that run one after the other, each a list of its name
                               and its arguments. The code behind --@operation makes `reply` of
                               their `replies`

An operation that may make the first key of a resource sets `made` (lib/made.lua). Its last key,
before the key of the record, is the index of names, which it does not see.

An operation returns {outcome, now_ms, ...}. An outcome above 0 had an effect, and an idempotency
record keeps it; an outcome of 0 or below had none. now_ms is Redis's clock, which a replay renews,
so scripts return absolute instants, from which remaining times are computed. With `proof` it
returns a proof of the grant beside the reply. For a replay it runs with `granted` (that reply) and
`proof`, and returns the present state of the grant, or nothing if the grant has ended. With
`window` it returns, behind the reply and nil, for how many milliseconds the record is kept.

Writes scripts.h, scripts.c and, to look at or load by hand, lua/<script>.lua into the output
folder. A script gets the name of the operation as its last argument (lib/head.lua).
"""
import hashlib
import pathlib
import re
import sys

from assemble import FILES, Assembler, Module, code_of, unmarked
from c_literal import c_rows, write_changed
from replies import Replies

REPLAYS = {"": "DONE", "parts": "DONE", "proof": "GRANT", "window": "WINDOW"}
DIRECTIVE = re.compile(r"^--([ \t]*)@(\w+)[ \t]*(.*)$", re.M)
FRAME = ("head", "record", "made", "recorded")  # of lua/lib


class Operation:
    def __init__(self, path, lua):
        self.path, self.name, self.pattern = path, path.stem, path.relative_to(lua).parts[0]
        self.replay, self.has_parts, self.writes, self.first = "NONE", False, True, None
        text, flags, has_head, parts = path.read_text(), [], True, []
        for blank, word, rest in DIRECTIVE.findall(text):
            if blank:
                sys.exit(f"{path}: write --@{word}, without a blank")
            elif word == "flags":
                flags += rest.split()
            elif word == "idempotent":
                if rest not in REPLAYS:
                    sys.exit(f"{path}: --@idempotent {rest}: the word must be one of {', '.join(filter(None, REPLAYS))}")
                self.replay, self.has_parts = REPLAYS[rest], rest == "parts"
            elif word == "looks" and not rest:
                self.writes = has_head = False
            elif word == "reads" and not rest:
                self.writes = False
                flags.append("no-writes")
            elif word in ("plain", "steps", "operation") and not rest:
                parts.append(word)
            elif word == "first":
                self.first = rest
            elif word not in ("reply", "again", "shape"):
                sys.exit(f"{path}: unknown directive --@{word} {rest}; the head of tools/embed_scripts.py lists those that exist")
        if parts not in ([], ["plain", "operation"], ["steps", "operation"]):
            sys.exit(f"{path}: a plain block is between one --@plain and one --@operation; steps are as well")
        self.has_record = self.replay != "NONE"
        self.flags = tuple(flags) if has_head else None
        self.head = ("#!lua" + (" flags=" + ",".join(flags) if flags else "") + "\n") if has_head else ""
        first, mark, body = text.partition("\n--@operation\n")
        self.steps = code_of(path, first) if "steps" in parts else ""
        self.plain = code_of(path, first) if "plain" in parts else ""
        self.body = code_of(path, body, first.count("\n") + 3) if mark else code_of(path, text)
        for word, sign in (("GRANT", r"\bgranted\b"), ("WINDOW", r"\breturn .*, nil, |\bproves, lasts_ms = .*nil, ")):
            if (self.replay == word) != bool(re.search(sign, self.plain + self.body)) and not self.has_parts:
                sys.exit(f"{path}: --@idempotent and what the script returns differ: see {pathlib.Path(__file__).name}")


def is_module(path, lua):
    return path.relative_to(lua).parts[0] == "lib" or path.name.startswith("lib_")


def operations_of(lua):
    paths = sorted(lua.glob("*/**/*.lua"), key=lambda p: p.stem)
    return [Operation(path, lua) for path in paths if not is_module(path, lua)]


def scripts_of(operations, lua):
    """{name: (text, where each of its lines is from, operations)} of all scripts."""
    frame = {path.stem: code_of(path, path.read_text()) for path in [lua / "lib" / f"{name}.lua" for name in FRAME]}
    common = [Module(path) for path in sorted((lua / "lib").glob("*.lua")) if path.stem not in FRAME]
    scripts, groups = {}, {}
    for o in operations:
        groups.setdefault((o.pattern, o.flags), []).append(o)
    for (pattern, flags), members in groups.items():
        modules = [Module(path) for path in sorted((lua / pattern).glob("**/lib_*.lua"))]
        assembler = Assembler(common + modules, frame)
        for o in members:
            o.indexed = assembler.is_indexed(o)
        name = "_".join([pattern, *(("looks",) if flags is None else flags)]).replace("-", "_")
        scripts[name] = *unmarked(assembler.text(members)), members
    return dict(sorted(scripts.items()))


def runs_of(origins):
    """Rows of {line of the script, file, line in it}: the lines behind a row count on in both."""
    previous = None
    for line, origin in enumerate(origins, 1):
        if origin and (previous is None or origin != (previous[0], previous[1] + 1)):
            yield f"\t{{ {line}, {origin[0]}, {origin[1]} }},"
        previous = origin or previous and (previous[0], previous[1] + 1)


def c_of(name, text, origins, members, replies):
    """A script, and the operations that it holds."""
    source = text.encode()
    yield f"static const struct script_line {name}_lines[] = {{"
    yield from runs_of(origins)
    yield "\t{ 0 },"
    yield "};"
    yield f"static const char {name}_source[] =\n{c_rows(source)};"
    yield f"static const struct script_text {name}_text = {{"
    yield f"\t.source = {{ {name}_source, {len(source)} }},"
    yield f'\t.sha1 = "{hashlib.sha1(source).hexdigest()}",'
    yield f"\t.lines = {name}_lines,"
    yield "};"
    for o in members:
        yield f"static const struct reply_form {o.name}_forms[] = {{"
        for least, most, form, again in replies.of_script(o.path)[0]:
            yield f'\t{{ {least}, {most}, "{form}", {str(again).lower()} }},'
            if again and o.has_record and not o.has_parts and int(least) > 0:
                sys.exit(f"{o.path}: --@again {least}: a record would keep this reply; its outcome must be 0 or below")
        yield "\t{ 0 },"
        yield "};"
        yield f"const struct script {o.name}_script = {{"
        yield f'\t.name = "{o.name}",'
        yield f"\t.text = &{name}_text,"
        yield f"\t.forms = {o.name}_forms,"
        yield f"\t.first = &{o.first}_script," if o.first else "\t.first = NULL,"
        yield f"\t.replay = REPLAY_{o.replay},"
        yield f"\t.writes = {str(o.writes).lower()},"
        yield f"\t.indexed = {str(o.indexed).lower()},"
        yield "};"
        yield ""


def main(lua, out):
    lua, out = pathlib.Path(lua), pathlib.Path(out)
    operations = operations_of(lua)
    replies = Replies({path: path.read_text() for path in sorted(lua.glob("*/**/*.lua"))})
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
    scripts = scripts_of(operations, lua)
    for stale in set((out / "lua").glob("*.lua")) - {out / "lua" / f"{name}.lua" for name in scripts}:
        stale.unlink()
    c += ["const char *const script_files[] = {", *(f'\t"{path.relative_to(lua.parent)}",' for path in FILES), "};", ""]
    for name, (text, origins, members) in scripts.items():
        write_changed(out / "lua" / f"{name}.lua", text)
        c += c_of(name, text, origins, members, replies)
    for o in operations:
        enum = replies.of_script(o.path)[1]
        h += ["", f"extern const struct script {o.name}_script;"] + ([enum] if enum else [])
    h += ["", "/* Of several replies. */", *replies.of_shapes()]
    h += [
        "",
        "/* All of them, ended by NULL. */",
        "extern const struct script *const all_scripts[];",
        "",
        "#endif",
    ]
    c += ["const struct script *const all_scripts[] = {"]
    c += [f"\t&{o.name}_script," for o in operations] + ["\tNULL,", "};"]
    write_changed(out / "scripts.h", "\n".join(h) + "\n")
    write_changed(out / "scripts.c", "\n".join(c) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
