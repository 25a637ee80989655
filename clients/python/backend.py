"""Builds the wheel and the source archive (PEP 517) with the standard library alone, so that pip
needs no index. Times in the files are SOURCE_DATE_EPOCH, or 1980: the same source makes the same
bytes.
"""
import ast
import base64
import gzip
import hashlib
import io
import os
import pathlib
import re
import tarfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
MODULES = {str(path.relative_to(HERE)): path.read_bytes() for path in sorted(HERE.glob("patternd/**/*.py"))}
MODULES["patternd/py.typed"] = b""
EPOCH = max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800)  # a zip has no earlier time
WHEEL = "Wheel-Version: 1.0\nGenerator: patternd\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def project():
    """The members of [project]. Python before 3.11 has no tomllib. With `:` for `=` in its tables,
    the values are Python, too."""
    text = (HERE / "pyproject.toml").read_text().partition("[project]\n")[2].partition("\n[")[0]
    rows = re.findall(r"^([\w-]+) = (.+)$", text, re.M)
    return {name: ast.literal_eval(re.sub(r"(\w+) = ", r"'\1': ", value)) for name, value in rows}


def metadata():
    its = project()
    lines = ["Metadata-Version: 2.1", f"Name: {its['name']}", f"Version: {its['version']}"]
    lines += [f"Summary: {its['description']}", f"Author: {its['authors'][0]['name']}"]
    lines += [f"License: {its['license']['text']}", f"Requires-Python: {its['requires-python']}"]
    lines += [f"Classifier: {each}" for each in its["classifiers"]]
    lines += ["Description-Content-Type: text/markdown", "", (HERE / its["readme"]).read_text()]
    return "\n".join(lines).encode(), f"{its['name']}-{its['version']}"


def wheel(folder, files):
    described, name = metadata()
    info = f"{name}.dist-info"
    license = (HERE / "LICENSE").read_bytes()
    files = {**files, f"{info}/LICENSE": license, f"{info}/METADATA": described, f"{info}/WHEEL": WHEEL.encode()}
    record = f"{info}/RECORD,,\n"
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        record = f"{path},sha256={digest},{len(content)}\n{record}"
    with zipfile.ZipFile(pathlib.Path(folder, f"{name}-py3-none-any.whl"), "w") as archive:
        for path, content in {**files, f"{info}/RECORD": record.encode()}.items():
            entry = zipfile.ZipInfo(path, time.gmtime(EPOCH)[:6])
            entry.external_attr, entry.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return f"{name}-py3-none-any.whl"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return wheel(wheel_directory, MODULES)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return wheel(wheel_directory, {"patternd.pth": f"{HERE}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    described, name = metadata()
    files = {path: (HERE / path).read_bytes() for path in ("LICENSE", "README.md", "backend.py", "pyproject.toml")}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in {**files, **MODULES, "PKG-INFO": described}.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mtime = len(content), EPOCH
            archive.addfile(entry, io.BytesIO(content))
    pathlib.Path(sdist_directory, f"{name}.tar.gz").write_bytes(gzip.compress(packed.getvalue(), mtime=EPOCH))
    return f"{name}.tar.gz"
