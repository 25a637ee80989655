#!/usr/bin/env python3
"""Tests the Python client as a package: how it is built, and how it describes itself."""
import base64
import csv
import hashlib
import inspect
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "clients/python"
sys.path.insert(0, str(SOURCE))

import patternd.aio
from patternd._message import Delivery

# Without the index and the options of pip that this machine may have.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "PATTERND"))}


def run(*command, **more):
    done = subprocess.run(
        [str(word) for word in command], env=ENVIRONMENT | more, cwd="/", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(source, folder, what, epoch="1700000000"):
    """The file that a hook of the backend makes, as pip calls it: in the folder of the source."""
    code = f"import os, sys; sys.path.insert(0, '.'); import backend; print(backend.{what}({str(folder)!r}))"
    name = run(sys.executable, "-B", "-c", f"import os; os.chdir({str(source)!r}); {code}", SOURCE_DATE_EPOCH=epoch)
    return folder / name.strip()


def test_pip_installs_it_without_an_index(folder):
    for kind, options in (("plain", []), ("editable", ["--editable"])):
        venv.create(folder / kind, with_pip=True)
        python = folder / kind / "bin/python"
        run(python, "-m", "pip", "install", "--no-index", *options, SOURCE)
        shown = run(python, "-m", "pip", "show", "patternd")
        assert "Version: 1." in shown and "Requires: \n" in shown, shown
        found = run(python, "-c", "import patternd.aio, patternd.testing; print(patternd.__file__)").strip()
        assert (pathlib.Path(found).parent == SOURCE / "patternd") == (kind == "editable"), found


def test_the_same_source_makes_the_same_wheel(folder):
    (folder / "again").mkdir()
    wheel = built(SOURCE, folder, "build_wheel")
    with tarfile.open(built(SOURCE, folder, "build_sdist")) as archive:
        archive.extractall(folder)
    (unpacked,) = folder.glob("patternd-*/")
    again = built(unpacked, folder / "again", "build_wheel")
    assert wheel.read_bytes() == again.read_bytes(), "the wheel of the source archive is another"
    assert wheel.read_bytes() != built(SOURCE, folder / "again", "build_wheel", "1800000000").read_bytes()


def test_the_wheel_has_all_files_and_their_hashes(folder):
    with zipfile.ZipFile(built(SOURCE, folder, "build_wheel")) as archive:
        names = archive.namelist()
        (record,) = [name for name in names if name.endswith("/RECORD")]
        rows = list(csv.reader(archive.read(record).decode().splitlines()))
        assert sorted(row[0] for row in rows) == sorted(names)
        for name, digest, size in rows:
            content = archive.read(name)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            assert name == record or (digest, size) == (f"sha256={wanted}", str(len(content))), name
    there = {str(path.relative_to(SOURCE)) for path in SOURCE.glob("patternd/**/*") if path.suffix in (".py", ".typed")}
    assert there == {name for name in names if ".dist-info/" not in name}


def test_each_public_method_has_a_docstring(_):
    without = [
        f"{module.__name__}.{name}.{member}"
        for module in (patternd, patternd.aio)
        for name in module.__all__
        for each in [getattr(module, name)]
        for member, function in [("", each), *inspect.getmembers(each, inspect.isfunction)]
        if not member.startswith("_") and not inspect.getdoc(function)
    ]
    assert without == [], without


def test_an_address_and_a_token_may_be_in_the_environment(_):
    for make in (patternd.Client, patternd.aio.Client):
        for url, token in (("http://localhost:99", "secret"), ("", ""), (None, None)):
            for name, value in (("PATTERND_URL", url), ("PATTERND_TOKEN", token)):
                os.environ.pop(name, None)
                os.environ.update({name: value} if value is not None else {})
            settings = make()._transport.settings
            assert settings.url == (url or "http://127.0.0.1:8379") and (settings.token or "") == (token or "")
            settings = make("http://127.0.0.1:1", token="")._transport.settings
            assert settings.url == "http://127.0.0.1:1" and not settings.token


def test_a_message_is_shown_by_its_id_and_queue(_):
    row = {"id": "m-1", "receipt": "r", "body": {"secret": 1}, "receives": 1, "priority": 4, "sent_at_ms": 1}
    assert repr(Delivery("mails", row)) == "<Message 'm-1' of queue 'mails'>"


for name, test in [item for item in globals().items() if item[0].startswith("test_")]:
    with tempfile.TemporaryDirectory() as temporary:
        test(pathlib.Path(temporary))
    print(name)
