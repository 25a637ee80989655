"""Finds the blocks of a page that show a file. A file of this repository follows
`<!-- file: PATH -->`, and a file that only the reader has follows `<!-- saved: NAME -->`.
"""
import pathlib
import re

FILE = re.compile(r"^<!-- (?P<kind>file|saved): (?P<path>\S+) -->\n\s*^```\w*\n(?P<text>.*?)^```$", re.M | re.S)
SHOWN_PUSH_PORT = "3000"


def put(folder, text, port):
    """Copies the files that a page shows. Returns the daemon options that use them."""
    options = []
    for block in FILE.finditer(text):
        path = pathlib.Path(folder, pathlib.PurePath(block["path"]).name)
        path.write_text(block["text"])
        if path.name == "push.json":
            path.write_text(block["text"].replace(f":{SHOWN_PUSH_PORT}/", f":{port}/"))
            options = ["--push", str(path)]
    return options


def lead(folder, text, shown, address):
    """Replaces the shown address in the reader's files by the address of this daemon."""
    for block in FILE.finditer(text):
        if block["kind"] == "saved":
            path = pathlib.Path(folder, block["path"])
            path.write_text(block["text"].replace(shown, address))
            path.chmod(0o755)


def check(page):
    """A block that shows a file of the repository equals that file."""
    text = page.read_text()
    for block in FILE.finditer(text):
        path = pathlib.Path(block["path"])
        if block["kind"] == "file" and (not path.is_file() or path.read_text() != block["text"]):
            line = text.count("\n", 0, block.start()) + 1
            yield f"{page}:{line}: this is not {path}, or there is none: copy it"
