#!/usr/bin/env python3
"""Two generators of TypeScript clients read the contract as the daemon serves it, without a
warning; what they make passes `tsc --strict`, and works. In a folder of its own:
tests/test_clients.py PATTERND FOLDER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import embedded

SOURCE = pathlib.Path(__file__).resolve().parent / "clients"
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
    with embedded.Daemon(sys.argv[1]) as daemon:
        url = f"http://127.0.0.1:{daemon.port}"
        # A member with a default may be left out of a request: that is what the option says.
        generate(folder, url, "openapi-typescript", "URL", "--default-non-nullable", "false", "-o", "patternd.d.ts")
        generate(folder, url, "openapi-ts", "-i", "URL", "-o", "hey-api", "-c", "@hey-api/client-fetch")
        run(folder, "npx", "--no", "tsc")
        for client in ("openapi_fetch", "hey_api"):
            run(folder, "node", f"js/{client}.js", PATTERND_URL=url)


main()
