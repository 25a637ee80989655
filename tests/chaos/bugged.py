"""Builds daemons with a planted bug. The source is copied to build/bugged and changed there, so a
release cannot contain such a bug.
"""
import shutil
import subprocess
import sys

from stage import BUILD

SOURCE, COPY = BUILD.parent, BUILD / "bugged"
RELEASE = ("-DCMAKE_BUILD_TYPE=Release", "-DPATTERND_TESTS=OFF", "-DPATTERND_WEB=OFF")  # no test here opens its pages


PARTS = "CMakeLists.txt openapi service handlers lua tools packaging tests/fuzz".split()


def copy_source():
    """Copies the files of which the daemon and the targets of tests/fuzz are built. Unchanged files
    keep their time, so that make rebuilds little. Files that were deleted in the source are deleted
    in the copy.
    """
    copied = set()
    for path in (SOURCE / part for part in PARTS):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            to = COPY / "source" / file.relative_to(SOURCE)
            if file.is_file() and not {"node_modules", "corpus"} & set(file.parts):
                copied.add(to)
                to.parent.mkdir(parents=True, exist_ok=True)
                if not to.exists() or to.read_bytes() != file.read_bytes():
                    shutil.copy(file, to)
    for file in (COPY / "source").rglob("*"):
        if file.is_file() and file not in copied:
            file.unlink()


def change(file, old, new):
    """Replaces `old`, which must occur once, by `new`."""
    path = COPY / "source" / file
    text = path.read_text()
    if text.count(old) != 1:
        sys.exit(f"{file} has no longer one place where this bug can be put: {old!r}")
    path.write_text(text.replace(old, new))


def build_in(folder, target, options, changes):
    """Builds a target with these changes: (file, text that occurs once, its replacement)."""
    copy_source()
    for one in changes:
        change(*one)
    for command in (
        ["cmake", "-S", COPY / "source", "-B", folder, "-G", "Ninja", *options],
        ["cmake", "--build", folder, "--target", target],
    ):
        made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if made.returncode:
            sys.exit(made.stdout)


def build(changes):
    """Builds the daemon with these changes."""
    build_in(COPY / "build", "patternd", RELEASE, changes)
    return COPY / "build" / "patternd"
