"""Reads the other names for the things of docs/: the rows of docs/glossary.md below 'Other names'.
"""
import pathlib
import re

GLOSSARY = pathlib.Path(__file__).resolve().parent.parent / "docs/glossary.md"


def rows():
    """(link, names) for each link in the first cell of a row."""
    table = GLOSSARY.read_text().partition("\n## Other names\n")[2]
    for here, *cells in re.findall(r"^\| ([^|]*\]\([^|]*) \| ([^|]+) \| ([^|]+) \|$", table, re.M):
        for link in re.findall(r"\]\(([^)]+)\)", here):
            yield link, [name for cell in cells for name in cell.split(", ")]
