"""The values of an example, and how tests/test_examples.py compares what came with them."""
import copy
import json
import re

SLACK_MS = 20  # between the clock of Redis, which it reads once per command, and this one
RECENT_MS = 60000
MARK = "\ue000"  # begins a text that is a bare word of an answer
BARE = re.compile(
    r'("[^"\\]*(?:\\.[^"\\]*)*")|([{,]\s*)\.\.\.(?=\s*})|(\.\.\.|unordered|\$\w+(?:[+-]\d+)?|now(?:[+-]\d+)?|recent|-?\d+(?:\.\d+)?\.\.-?\d+(?:\.\d+)?)'
)


class Differs(Exception):
    """What came is not what the example has."""


def parsed(text):
    """JSON with bare words, each as a text that begins with MARK."""

    def marked(found):
        quoted, before, word = found.groups()
        return quoted or (f'{before}"{MARK}...": 0' if before else f'"{MARK}{word}"')

    return json.loads(BARE.sub(marked, text))


class Values:
    """The variables of an example, and how values are compared."""

    def __init__(self):
        self.named, self.texts = {}, {}
        self.span = (0, 0)  # when the request began and ended

    def filled(self, text):
        known = self.texts | self.named
        return re.sub(r"\$(\w+)", lambda found: str(known.get(found.group(1), found.group())), text)

    def bound(self, name, came, where):
        if self.named.setdefault(name, came) != came:
            raise Differs(f"{where}: {came!r}, not ${name}, which is {self.named[name]!r}")

    def word(self, word, came, where):
        span = re.fullmatch(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)", word)
        if word.startswith("$"):
            name, after = re.fullmatch(r"\$(\w+)([+-]\d+)?", word).groups()
            return self.bound(name, came - int(after) if after else came, where)
        if word.startswith("now"):
            after = int(word[3:] or 0)
            low, high = self.span[0] + after - SLACK_MS, self.span[1] + after + SLACK_MS
        elif word == "recent":
            low, high = self.span[0] - RECENT_MS, self.span[1] + SLACK_MS
        elif span:
            low, high = map(float, span.groups())
        else:
            return None
        if isinstance(came, bool) or not isinstance(came, (int, float)) or not low <= came <= high:
            raise Differs(f"{where}: {came!r}, not {word}")
        return None

    def text(self, shown, came, where):
        if shown.startswith(MARK):
            return self.word(shown[1:], came, where)
        if re.fullmatch(r"\$\w+", shown) and isinstance(came, str):
            return self.bound(shown[1:], came, where)
        shown = self.filled(shown)
        pattern = ".*".join(map(re.escape, shown.split("..."))) if "..." in shown else None
        if not (re.fullmatch(pattern, came, re.S) if pattern and isinstance(came, str) else shown == came):
            raise Differs(f"{where}: {came!r}, not {shown!r}")
        return None

    def compare(self, shown, came, where):
        if isinstance(shown, str):
            self.text(shown, came, where)
        elif type(shown) is not type(came):
            raise Differs(f"{where}: {came!r}, not {shown!r}")
        elif isinstance(shown, dict):
            is_open = shown.pop(f"{MARK}...", None) is not None
            if shown.keys() - came.keys() or (came.keys() - shown.keys() and not is_open):
                raise Differs(f"{where}: has {', '.join(came) or 'no members'}, not {', '.join(shown)}")
            for key, value in shown.items():
                self.compare(value, came[key], f"{where}.{key}")
        elif isinstance(shown, list):
            self.compare_lists(shown, came, where)
        elif shown != came:
            raise Differs(f"{where}: {came!r}, not {shown!r}")

    def compare_lists(self, shown, came, where):
        any_order = shown[:1] == [f"{MARK}unordered"]
        is_open = shown[-1:] == [f"{MARK}..."]
        shown = shown[any_order : len(shown) - is_open]
        if len(came) < len(shown) or (len(came) > len(shown) and not is_open):
            raise Differs(f"{where}: {len(came)} elements, not {len(shown)}")
        rest = list(came)
        for i, one in enumerate(shown):
            at = next((at for at, other in enumerate(rest) if self.is_alike(one, other)), 0) if any_order else 0
            self.compare(one, rest.pop(at), f"{where}[{i}]")

    def is_alike(self, shown, came):
        before = dict(self.named)
        try:
            self.compare(copy.deepcopy(shown), came, "")
        except Differs:
            self.named = before
            return False
        return True
