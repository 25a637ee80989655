#!/usr/bin/env python3
"""Lint: the pictures of docs/ share one style, and are readable in its light and its dark scheme.

All colours and fonts are in the <style> element, which is the same in every picture. A text has a
contrast of at least 4.5 (WCAG AA) with the background and with every box, and a line has a contrast
of at least 3 with the background. A picture paints its own background, so it is readable on a page
of either scheme. tests/browser checks the positions of the texts.
"""
import re
import xml.etree.ElementTree

import tree

TEXTS, PAGE = ("svg", ".note", ".yes", ".no"), ".page"
BOXES = (PAGE, ".grey", ".blue", ".amber", ".green", ".red")
ON_PAGE_ONLY = {".yes", ".no"}
TEXT_CONTRAST, LINE_CONTRAST, LEAST_PX = 4.5, 3, 13
STYLE = re.compile(r"  <style>\n.*?  </style>\n", re.S)
DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{\n(.*?)\n    \}", re.S)
RULE = re.compile(r"([.\w]+) \{ ([^}]*) \}")
STYLED = re.compile(r"color|fill|stroke|font|style|opacity")
MOST_BYTES = 4096


def rules(text):
    """{selector: {property: value}} of a scheme."""
    return {
        selector: dict(re.split(r":\s*", part.strip(), maxsplit=1) for part in body.split(";") if part.strip())
        for selector, body in RULE.findall(text)
    }


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def pairs(scheme):
    """(what, contrast, the least) of each text and line of a scheme."""
    for text in TEXTS:
        for box in BOXES if text not in ON_PAGE_ONLY else (PAGE,):
            yield f"{text} on {box}", contrast(scheme[text]["fill"], scheme[box]["fill"]), TEXT_CONTRAST
    for line in set(BOXES) - {PAGE}:
        yield f"a line of {line} on {PAGE}", contrast(scheme[line]["stroke"], scheme[PAGE]["fill"]), LINE_CONTRAST


def check_style(path, style):
    dark = DARK.search(style)
    if not dark:
        lint.finding(path, 1, "the style has no dark scheme")
        return
    light = DARK.sub("", style)
    for name, scheme in (("light", rules(light)), ("dark", rules(dark[1]))):
        for what, found, least in pairs(scheme):
            if found < least:
                lint.finding(path, 1, f"{name}: {what} has a contrast of {found:.2f}, less than {least}")
    for size in re.findall(r"(\d+)px", style):
        if int(size) < LEAST_PX:
            lint.finding(path, 1, f"a font of {size} px, less than {LEAST_PX}")


def check_picture(path, text, style):
    if len(text) > MOST_BYTES:
        lint.finding(path, 1, f"{len(text)} bytes, more than {MOST_BYTES}: draw less")
    if STYLE.search(text)[0] != style:
        lint.finding(path, 1, "its style is not the style of the other pictures")
    root = xml.etree.ElementTree.fromstring(text)
    if not root.get("aria-label"):
        lint.finding(path, 1, "has no aria-label")
    if root.get("viewBox") != f"0 0 {root.get('width')} {root.get('height')}":
        lint.finding(path, 1, "its viewBox is not its width and height")
    for element in root.iter():
        for name in element.keys():
            if STYLED.match(name):
                lint.finding(path, 1, f'{name}="{element.get(name)}" belongs into the style')


lint = tree.Lint("Use the classes of the style; change a colour in all pictures. The rule: tools/lint/pictures.py.")
pictures = tree.files("docs", ".svg")
styles = [STYLE.search(path.read_text()) for path in pictures]
for path, style in zip(pictures, styles):
    if not style:
        lint.finding(path, 1, "has no <style>")
if all(styles):
    check_style(pictures[0], styles[0][0])
    for path in pictures:
        check_picture(path, path.read_text(), styles[0][0])
lint.done()
