"""Reads the symbols of the objects of the release build, and first brings that build up to date.
The command line may name another build folder.
"""
import fcntl
import pathlib
import re
import subprocess
import sys


def run(*command):
    """The output of the command; ends the program when it fails."""
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{sys.argv[0]}: {' '.join(command)} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def symbols():
    """{source file: (the symbols it defines, the symbols it uses of others)}"""
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    if len(sys.argv) < 2:
        with open(__file__) as lock:  # one build at a time: lints run side by side
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (build / "build.ninja").exists():
                run("cmake", "--preset", "release")
            run("cmake", "--build", "--preset", "release", "--target", "patternd")
    folders = [build / "CMakeFiles" / f"{target}.dir" for target in ("daemon", "patternd", "scripts", "operations")]
    objects = [str(path) for folder in folders for path in sorted(folder.rglob("*.o"))]
    if not objects:
        sys.exit(f"{build}:1: has no objects")
    found = {}
    for line in run("nm", "-A", *objects).splitlines():  # OBJECT:ADDRESS KIND NAME
        path, kind, name = line.partition(":")[0], *line.split()[-2:]
        source = re.sub(r".*\.dir/|\.o$", "", path)
        if not pathlib.Path(source).exists() and "generated" not in source:
            continue  # an object of a deleted file
        defined, used = found.setdefault(source, (set(), set()))
        if kind == "U":
            used.add(name)
        elif kind.isupper():
            defined.add(name)
    return found
