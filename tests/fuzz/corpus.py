"""Inputs of fuzzing. Each line of a file of corpus/ is an input of a target: its name, or `-`, then
its bytes, where \\xHH is the byte HH and \\\\ a backslash. Inputs with a name were added by hand.
"""
import pathlib
import re

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


def line_of(name, data):
    shown = "".join(chr(b) if 0x20 <= b < 0x7F and b != 0x5C else "\\\\" if b == 0x5C else f"\\x{b:02x}" for b in data)
    return f"{name} {shown}\n"


def inputs(target):
    """(name, bytes) of each kept input."""
    for line in (CORPUS / target).read_text().split("\n")[:-1]:
        name, _, shown = line.partition(" ")
        plain = re.sub(r"\\(?:x(..)|\\)", lambda m: chr(int(m[1], 16)) if m[1] else "\\", shown)
        yield name, plain.encode("latin-1")


def write(target, kept):
    """Keeps these (name, bytes): named ones first, then the shortest."""
    order = sorted(set(kept), key=lambda one: (one[0] == "-", one[0], len(one[1]), one[1]))
    (CORPUS / target).write_text("".join(line_of(name, data) for name, data in order))


def unpack(target, folder):
    """Writes each input to a separate file, for libFuzzer, and returns the folder."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for n, (name, data) in enumerate(inputs(target)):
        (folder / f"{n:04}-{name}").write_bytes(data)
    return folder
