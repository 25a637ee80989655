"""For generators of C: writes text and bytes as string literals, which compilers read faster than
tables of numbers. Writes a file only if its text has changed.
"""
import re

ROW_BYTES = 100
# "\?" because two question marks may begin a trigraph.
ESCAPED = {
    **{byte: chr(byte) for byte in range(0x20, 0x7F)},
    ord("\n"): "\\n",
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("?"): "\\?",
}


def c_literal(data):
    """`data`, a str or bytes, as one literal."""
    return (
        '"'
        + "".join(ESCAPED.get(byte) or f"\\{byte:03o}" for byte in (data.encode() if isinstance(data, str) else data))
        + '"'
    )


def c_rows(data):
    """`data` as adjacent literals: one row for each line of text; a longer line has a row for each
    ROW_BYTES.
    """
    data = data.encode() if isinstance(data, str) else data
    return "\n".join(
        "\t" + c_literal(line[i : i + ROW_BYTES])
        for line in re.findall(rb"[^\n]*\n|[^\n]+", data)
        for i in range(0, len(line), ROW_BYTES)
    )


def write_changed(path, text):
    """Writes a file, unless it has this text already: files that include it would be compiled
    again.
    """
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
