"""Shared by the lints: the programs of npm's registry, of which package.json pins the versions. npm
installs them once, into tools/lint/node_modules.
"""
import fcntl
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
REDOCLY = (20, 19)  # the version of Node.js that Redocly needs; Debian 12 has an older one
ANY = (18,)  # what Debian 12 has


def fetch(oldest_node):
    """Installs the programs of the lock file, unless they are installed. Ends the lint with 77 if
    Node.js is missing or older.
    """
    try:
        version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        version = ""
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < oldest_node:
        needed = ".".join(map(str, oldest_node))
        print(f"{sys.argv[0]}: needs Node.js {needed}, not {version.strip() or 'none'}")
        sys.exit(77)
    lock, fetched = HERE / "package-lock.json", MODULES / ".package-lock.json"
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # lints run at the same time
        if fetched.exists() and fetched.stat().st_mtime >= lock.stat().st_mtime:
            return
        if not shutil.which("npm"):
            print(f"{sys.argv[0]}: needs npm, to install {HERE.name}/package-lock.json")
            sys.exit(77)
        npm = subprocess.run(
            ["npm", "ci", "--prefix", HERE, "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"],
            capture_output=True,
            text=True,
        )
        if npm.returncode:
            sys.exit(f"tools/lint/package.json:1: npm ci failed: {npm.stderr}")
        fetched.touch()
