#!/usr/bin/env python3
"""Each bug that the self-tests of chaos, fuzz and soak plant applies to the source, and compiles
there: C by the command of the build, Lua by a Redis. tests/test_planted_bugs.py BUILD
"""
import concurrent.futures
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(TOP / "tests" / "chaos"), str(TOP / "tools")]

import embed_scripts  # noqa: E402
from bugs import BUGS as CHAOS  # noqa: E402
from stage import free_port, redis, redis_server  # noqa: E402


def planter(path):
    """Imports a self-test, whose file name has no ending."""
    name = path.replace("/", "_")
    loader = importlib.machinery.SourceFileLoader(name, str(TOP / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def all_bugs():
    """Yields (self-test, bug, its changes)."""
    yield from (("chaos", name, changes) for name, (changes, _) in CHAOS.items())
    yield from (("fuzz", name, [change]) for name, (_, change) in planter("tests/fuzz/selftest").BUGS.items())
    yield from (("soak", name, changes) for name, (changes, _) in planter("tests/soak/selftest").BUGS.items())


def changed(changes):
    """{file: its text with the bug}."""
    texts = {}
    for file, old, new in changes:
        text = texts.get(file) or (TOP / file).read_text()
        if text.count(old) != 1:
            raise ValueError(f"{file} has {text.count(old)} places with {old!r}")
        texts[file] = text.replace(old, new)
    return texts


class Compiler:
    """Compiles C files in a folder, by the commands of a build."""

    def __init__(self, build, folder):
        entries = json.loads((build / "compile_commands.json").read_text())
        self.commands = {entry["file"]: entry for entry in entries}
        self.folder = folder

    def errors(self, file, text):
        """Compiles to an object, because only the optimizer finds some of the warnings."""
        entry = self.commands[str(TOP / file)]
        with tempfile.NamedTemporaryFile("w", suffix=".c", dir=self.folder) as copy:
            copy.write(text)
            copy.flush()
            command = shlex.split(entry["command"])
            at = command.index("-o")
            command[at : at + 2] = ["-o", os.devnull, "-fno-lto", "-iquote", str((TOP / file).parent)]
            command[command.index(entry["file"])] = copy.name
            return subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True).stderr


class Loader:
    """Compiles scripts in a Redis."""

    def __init__(self, folder):
        self.lua, self.port, self.lock = folder / "lua", free_port(), threading.Lock()
        self.server = redis_server("redis", folder, self.port)
        self.server.start()
        self.server.wait_up()
        shutil.copytree(TOP / "lua", self.lua)
        self.sound = self.sources()

    def sources(self):
        scripts = embed_scripts.scripts_of(embed_scripts.operations_of(self.lua), self.lua)
        return {name: text for name, (text, *_) in scripts.items()}

    def errors(self, file, text):
        """Compiles the scripts that the changed file is part of."""
        with self.lock:
            (self.lua.parent / file).write_text(text)
            sources = self.sources()
            differing = {name: source for name, source in sources.items() if source != self.sound[name]}
            shutil.copy(TOP / file, self.lua.parent / file)
        replies = {name: redis(self.port, "SCRIPT", "LOAD", source) for name, source in differing.items()}
        wrong = [f"{name}: {reply}" for name, reply in replies.items() if not reply or " " in reply]
        return "\n".join(wrong) if replies else f"no script has {file}"


def errors_of(changes, compiler, loader):
    try:
        texts = changed(changes)
        return "".join((loader if file.endswith(".lua") else compiler).errors(file, texts[file]) for file in texts)
    except (OSError, ValueError, SystemExit) as error:
        return str(error)


def main():
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(folder)
        compiler, loader = Compiler(pathlib.Path(sys.argv[1]), folder), Loader(folder)
        try:
            bugs = list(all_bugs())
            found = list(pool.map(lambda bug: errors_of(bug[2], compiler, loader), bugs))
        finally:
            loader.server.kill()
    for (planted_by, name, _), errors in zip(bugs, found):
        if errors:
            print(f"{planted_by}, {name}: {errors}")
    failed = sum(map(bool, found))
    print(f"{len(bugs)} bugs, {failed} failed")
    sys.exit(1 if failed or not bugs else 0)


main()
