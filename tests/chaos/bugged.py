"""Daemons with a bug: the source is copied to build/bugged and changed there, so no daemon that is released can be built with one."""
import shutil
import subprocess
import sys

from stage import BUILD

SOURCE, COPY = BUILD.parent, BUILD / "bugged"


def copy_source():
    """What the daemon is built of; files that did not change keep their time, so that little is built anew."""
    for path in ("CMakeLists.txt", "openapi.yaml", "service", "handlers", "lua", "tools", "packaging"):
        for file in sorted((SOURCE / path).rglob("*")) if (SOURCE / path).is_dir() else [SOURCE / path]:
            to = COPY / "source" / file.relative_to(SOURCE)
            if file.is_file() and "node_modules" not in file.parts:
                to.parent.mkdir(parents=True, exist_ok=True)
                if not to.exists() or to.read_bytes() != file.read_bytes():
                    shutil.copy(file, to)


def build(changes):
    """The program with these changes: (file, what stands there once, what is put in its place)."""
    copy_source()
    for file, old, new in changes:
        path = COPY / "source" / file
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"{file} has no longer one place where this bug can be put: {old!r}")
        path.write_text(text.replace(old, new))
    for command in (["cmake", "-S", COPY / "source", "-B", COPY / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                     "-DPATTERND_TESTS=OFF"], ["cmake", "--build", COPY / "build", "--target", "patternd"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return COPY / "build" / "patternd"
