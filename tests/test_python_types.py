#!/usr/bin/env python3
"""mypy --strict and pyright report each mistake of tests/libraries/typed.py on its line, and no
other line of it; mypy has no finding in the Python client itself. The types are current with the
contract. Pyright is tried if the program is there:
tests/test_python_types.py PYRIGHT
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
PACKAGE, USES = TOP / "clients/python", TOP / "tests/libraries/typed.py"
VERSION = "3.9"


def output(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options).stdout


def mypy(folder):
    """The errors as (file, line, text). Before mypy 1.7 only the option makes it know Unpack."""
    said = output(
        *("mypy", "--strict", "--enable-incomplete-feature=Unpack", "--python-version", VERSION, "--cache-dir", folder),
        *("--show-absolute-path", USES, PACKAGE / "patternd"),
        env={"MYPYPATH": str(PACKAGE), "PATH": "/usr/bin:/bin"},
    )
    assert "checked" in said, f"mypy did not end: {said}"
    return [(pathlib.Path(file), int(line), text) for file, line, text in re.findall(r"(.+?):(\d+): error: (.+)", said)]


def pyright(program, folder):
    settings = {"include": [USES.name], "extraPaths": [str(PACKAGE)], "pythonVersion": VERSION}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    shutil.copy(USES, folder)
    told = json.loads(output(program, "-p", folder, "--outputjson"))
    assert told["summary"]["filesAnalyzed"] == 1, f"pyright did not end: {told}"
    errors = [row for row in told["generalDiagnostics"] if row["severity"] == "error"]
    return [(USES, row["range"]["start"]["line"] + 1, row["message"]) for row in errors]


def judge(checker, errors):
    """What the checker found that is right, or did not find that is wrong."""
    wrong = {number for number, line in enumerate(USES.read_text().splitlines(), 1) if "  # wrong: " in line}
    faults = [f"{file}:{line}: {text}" for file, line, text in errors if file != USES or line not in wrong]
    faults += [f"{USES}:{line}: is not found" for line in sorted(wrong - {line for _, line, _ in errors})]
    print(f"{checker}: {len(wrong)} mistakes", *faults, sep="\n")
    return not faults


def main():
    subprocess.run([sys.executable, "-B", TOP / "tools/python_types.py", "--check"], check=True)
    program = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        is_good = judge("mypy", mypy(folder))
        if program.exists():
            is_good &= judge("pyright", pyright(program, pathlib.Path(folder)))
        else:
            print(f"{program} is not there: `make test-clients` installs it")
    sys.exit(not is_good)


main()
