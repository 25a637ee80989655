#!/usr/bin/env python3
"""Two generators of TypeScript clients read the contract that the daemon serves, without a warning.
The generated clients pass `tsc --strict`, and work. The packages of clients/ work, which npm and
pip build without a network, and examples/frameworks works with them. Files are written to FOLDER:
tests/test_clients.py PATTERND FOLDER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

from stage import Daemon

SOURCE = pathlib.Path(__file__).resolve().parent / "clients"
LIBRARIES = SOURCE.parent.parent / "clients"
COLOUR = re.compile("\x1b\\[[0-9;]*m")


def run(folder, *command, **environment):
    """Runs a command, and returns its stdout and stderr. `npx --no` runs installed programs, and
    downloads nothing.
    """
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    said = COLOUR.sub("", done.stdout)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {said}")
    return said


def generate(folder, url, *command):
    said = run(
        folder, "npx", "--no", "--loglevel=error", *[word.replace("URL", url + "/openapi.json") for word in command]
    )
    if re.search(r"warn|error|deprecat|⚠", said, re.I):
        sys.exit(f"{command[0]} finds fault with the contract: {said}")


def unpack(archive, names, wanted, target):
    assert wanted <= set(names), f"{sorted(wanted - set(names))} are not in a package"
    shutil.rmtree(target, ignore_errors=True)
    archive.extractall(target)


def pack_libraries(folder):
    """Builds the packages of clients/. The programs of the folder can import npm's package; the
    wheel is unpacked. Returns the folder of the wheel.
    """
    packed = folder / "packed"
    shutil.rmtree(packed, ignore_errors=True)
    packed.mkdir()
    run(folder, str(LIBRARIES / "pack"), str(packed))
    (package,), (wheel,) = packed.glob("*.tgz"), packed.glob("*.whl")
    with tarfile.open(package) as archive:
        wanted = {f"package/{path.name}" for path in (LIBRARIES / "javascript").iterdir() if path.is_file()}
        unpack(archive, archive.getnames(), wanted, folder / "unpacked")
    target = folder / "node_modules/patternd"
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(folder / "unpacked/package", target)
    with zipfile.ZipFile(wheel) as archive:
        modules = {f"patternd/{path.name}" for path in (LIBRARIES / "python/patternd").iterdir() if path.is_file()}
        unpack(archive, archive.namelist(), modules, folder / "site")
    return folder / "site"


def main():
    folder = pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for path in SOURCE.iterdir():
        if path.is_file():
            shutil.copy2(path, folder)
    shutil.copytree(SOURCE / "strict", folder / "strict", dirs_exist_ok=True)
    fetched = folder / "node_modules/.package-lock.json"
    if not fetched.exists() or fetched.stat().st_mtime < (SOURCE / "package-lock.json").stat().st_mtime:
        run(folder, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
        fetched.touch()
    site = pack_libraries(folder)
    unpack_types = "--enable-incomplete-feature=Unpack"  # for mypy before 1.7
    run(folder, "mypy", "--strict", unpack_types, "--python-version", "3.9", "library.py", MYPYPATH=str(site))
    run(folder, sys.executable, str(SOURCE.parent / "test_python_types.py"), "node_modules/.bin/pyright")
    with Daemon(sys.argv[1]) as daemon:
        url = f"http://127.0.0.1:{daemon.port}"
        # The option states that a member with a default may be left out of a request.
        generate(folder, url, "openapi-typescript", "URL", "--default-non-nullable", "false", "-o", "patternd.d.ts")
        generate(folder, url, "openapi-ts", "-i", "URL", "-o", "hey-api", "-c", "@hey-api/client-fetch")
        run(folder, "npx", "--no", "tsc")
        run(folder, "npx", "--no", "--", "tsc", "-p", "strict")
        run(folder, "node", "js/worker.mjs", PATTERND=str(pathlib.Path(sys.argv[1]).resolve()))
        for program in ("openapi_fetch.js", "hey_api.js", "library.mjs"):
            run(folder, "node", f"js/{program}", PATTERND_URL=url)
        run(folder, sys.executable, "library.py", PATTERND_URL=url, PYTHONPATH=str(site))
        examples = LIBRARIES.parent / "examples/frameworks"
        run(folder, sys.executable, "frameworks.py", str(examples), PATTERND_URL=url, PYTHONPATH=str(site))


main()
