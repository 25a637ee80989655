"""Finds the blocks of a page that are files of this repository, after `<!-- file: PATH -->`."""
import pathlib
import re

FILE = re.compile(r"^<!-- file: (?P<path>\S+) -->\n\s*^```\w*\n(?P<text>.*?)^```$", re.M | re.S)
SHOWN_PUSH_PORT = "3000"


def put(folder, text, port):
    """Copies the files that a page shows. Returns the options of the daemon that they are for."""
    options = []
    for block in FILE.finditer(text):
        path = pathlib.Path(folder, pathlib.PurePath(block["path"]).name)
        path.write_text(block["text"])
        if path.name == "push.json":
            path.write_text(block["text"].replace(f":{SHOWN_PUSH_PORT}/", f":{port}/"))
            options = ["--push", str(path)]
    return options


def check(page):
    """A block that is a file is what the file has."""
    text = page.read_text()
    for block in FILE.finditer(text):
        path = pathlib.Path(block["path"])
        if not path.is_file() or path.read_text() != block["text"]:
            line = text.count("\n", 0, block.start()) + 1
            yield f"{page}:{line}: this is not {path}, or there is none: copy it"
