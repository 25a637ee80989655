#!/usr/bin/env python3
"""Downloads the files of npm packages that are part of the program, without npm: fetch_npm.py web

web/package.json lists the files ("embed", "licenses"), and web/package-lock.json pins their
packages: each tarball must have the sha512 of the lock file. The needed files are kept in
web/.packages, so that only the first build needs the network. The registry is npm's, or the one in
the variable npm_config_registry. No code of a package is run.
"""
import base64
import hashlib
import http.client
import io
import json
import os
import pathlib
import sys
import tarfile
import urllib.request

REGISTRY = "https://registry.npmjs.org"
TIMEOUT_S = 60


def needed(folder):
    """{package: the files that are needed from it}."""
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    files = {name: set(names) for name, names in package["licenses"].items()}
    for path in package["embed"]:
        name, _, file = path.partition("/")
        files.setdefault(name, set()).add(file)
    return files


def download(name, version):
    registry = os.environ.get("npm_config_registry") or os.environ.get("NPM_CONFIG_REGISTRY") or REGISTRY
    url = f"{registry.rstrip('/')}/{name}/-/{name}-{version}.tgz"
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            return answer.read()
    except (OSError, http.client.HTTPException, ValueError) as error:
        sys.exit(
            f"{sys.argv[0]}: cannot fetch {url}: {error}\n"
            "The pages /ui and /docs need it once; npm_config_registry names another registry. "
            "To build without these pages: cmake -DPATTERND_WEB=OFF"
        )


def check(name, data, integrity):
    kind, _, digest = integrity.partition("-")
    if kind != "sha512" or base64.b64encode(hashlib.sha512(data).digest()).decode() != digest:
        sys.exit(f"{sys.argv[0]}: {name}: what the registry gave does not have the sha512 of package-lock.json")


def extract(data, files, into):
    into.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for file in sorted(files):
            target = into / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(tar.extractfile(f"package/{file}").read())


def main(folder):
    folder = pathlib.Path(folder)
    lock = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for name, files in needed(folder).items():
        pinned, into = lock[f"node_modules/{name}"], folder / ".packages" / name
        stamp = into / ".integrity"  # written last, so that an interrupted run does not count
        if stamp.exists() and stamp.read_text() == pinned["integrity"] and all((into / f).exists() for f in files):
            continue
        data = download(name, pinned["version"])
        check(name, data, pinned["integrity"])
        extract(data, files, into)
        stamp.write_text(pinned["integrity"])


if __name__ == "__main__":
    main(sys.argv[1])
