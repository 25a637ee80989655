#!/usr/bin/env python3
"""Two generators of TypeScript clients read the contract as the daemon serves it, without a
warning; what they make passes `tsc --strict`, and works. So do the packages of clients/ that npm
and pip make without a network. In a folder of its own: tests/test_clients.py PATTERND FOLDER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import embedded

SOURCE = pathlib.Path(__file__).resolve().parent / "clients"
LIBRARIES = SOURCE.parent.parent / "clients"
DEBIANS_PYTHON = "/usr/bin/python3"  # which python3-pip, -setuptools and -wheel are for
COLOUR = re.compile("\x1b\\[[0-9;]*m")


def run(folder, *command, **environment):
    """What it said, both ways. `npx --no` runs what is installed, and fetches nothing."""
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


def pack_for_node(folder):
    """The package of clients/javascript becomes one of those that the programs of the folder import."""
    for old in folder.glob("*.tgz"):
        old.unlink()
    run(folder, "npm", "pack", "--offline", "--loglevel=error", str(LIBRARIES / "javascript"))
    (package,) = folder.glob("patternd-*.tgz")
    target = folder / "node_modules/patternd"
    shutil.rmtree(target, ignore_errors=True)
    with tarfile.open(package) as archive:
        names = {pathlib.PurePath(name).relative_to("package") for name in archive.getnames()}
        archive.extractall(folder / "unpacked")
    shutil.move(folder / "unpacked/package", target)
    wanted = {"package.json", "patternd.js", "patternd.d.ts", "README.md", "LICENSE"}
    assert set(map(str, names)) == wanted, f"{package.name} has {names}"


def build_wheel(folder):
    """The folder that the wheel of clients/python was unpacked into."""
    source, site = folder / "python", folder / "site"
    for old in (source, site):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(LIBRARIES / "python", source, ignore=shutil.ignore_patterns("__pycache__"))
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet")
    run(folder, DEBIANS_PYTHON, "-m", "pip", "wheel", *options, "--wheel-dir", str(site), str(source))
    (wheel,) = site.glob("patternd-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(site)
    assert {"patternd/__init__.py", "patternd/py.typed"} <= set(names), f"{wheel.name} has {names}"
    assert any(name.endswith("/LICENSE") for name in names), f"{wheel.name} has {names}"
    return site


def main():
    folder = pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for path in SOURCE.iterdir():
        if path.is_file():
            shutil.copy2(path, folder)
    fetched = folder / "node_modules/.package-lock.json"
    if not fetched.exists() or fetched.stat().st_mtime < (SOURCE / "package-lock.json").stat().st_mtime:
        run(folder, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
        fetched.touch()
    pack_for_node(folder)
    site = build_wheel(folder)
    run(folder, "mypy", "--strict", "--python-version", "3.9", "library.py", MYPYPATH=str(site))
    with embedded.Daemon(sys.argv[1]) as daemon:
        url = f"http://127.0.0.1:{daemon.port}"
        # A member with a default may be left out of a request: that is what the option says.
        generate(folder, url, "openapi-typescript", "URL", "--default-non-nullable", "false", "-o", "patternd.d.ts")
        generate(folder, url, "openapi-ts", "-i", "URL", "-o", "hey-api", "-c", "@hey-api/client-fetch")
        run(folder, "npx", "--no", "tsc")
        for program in ("openapi_fetch.js", "hey_api.js", "library.mjs"):
            run(folder, "node", f"js/{program}", PATTERND_URL=url)
        run(folder, sys.executable, "library.py", PATTERND_URL=url, PYTHONPATH=str(site))


main()
