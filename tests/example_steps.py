"""The notation of tests/examples: which examples a file has, and the steps of each."""
import itertools
import re

HEADER = re.compile(r"\s+([A-Za-z-]+): (.*)")
METHODS = "GET HEAD POST PUT PATCH DELETE OPTIONS ALL $method".split()


class Step:
    """A request or a command, and what must come."""

    def __init__(self, number, text):
        self.number, self.text, self.headers = number, text, []
        self.shown, self.shown_headers, self.soon, self.row = None, [], False, None

    def show(self, text):
        self.soon = text.startswith("soon ")
        self.shown = text.removeprefix("soon ")

    def lines(self):
        return [self.text, *self.headers, self.shown or "", *self.shown_headers]


def steps_of(lines):
    """The steps of a paragraph, whose lines have numbers."""
    steps = []
    for number, line in lines:
        header = HEADER.fullmatch(line)
        if line[0] != " " and (line.split()[0] in (*METHODS, "!") or re.match(r"\$\w+ = ", line)):
            text, arrow, shown = line.partition(" -> ")
            steps.append(Step(number, text))
            if arrow:
                steps[-1].show(shown)
        elif line[0] != " " or not steps:
            raise SystemExit(f"{number}: {line!r} is not a line of an example")
        elif line.strip().startswith("-> "):
            steps[-1].show(line.strip()[3:])
        elif header:
            (steps[-1].headers if steps[-1].shown is None else steps[-1].shown_headers).append(header.groups())
        elif steps[-1].shown is not None:
            steps[-1].shown += " " + line.strip()
        else:
            steps[-1].text += " " + line.strip()
    return steps


def with_cells(step, cells):
    """The step with the cells of a row in place of their names."""

    def filled(text):
        return text and re.sub(r"\$(\w+)", lambda found: cells.get(found.group(1), found.group()), text)

    row = Step(step.number, filled(step.text))
    row.headers = [(name, filled(value)) for name, value in step.headers]
    row.shown, row.soon = filled(step.shown), step.soon
    row.shown_headers = [(name, filled(value)) for name, value in step.shown_headers]
    return row


def repeated(steps, rows):
    """The steps once for each row of a table below them."""
    cells = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for _, line in rows]
    for (number, line), row in zip(rows[1:], cells[1:]):
        if len(row) != len(cells[0]):
            raise SystemExit(f"{number}: {line} has {len(row)} cells, not {len(cells[0])}")
        for step in steps:
            step = with_cells(step, dict(zip(cells[0], row)))
            step.number = step.row = number
            yield step


def examples_of(path):
    """The title of each example, the lines that it has, and its steps."""
    lines = list(enumerate(path.read_text(encoding="utf-8").split("\n"), 1))
    lines = [(number, line.rstrip()) for number, line in lines if not line.startswith("--")]
    starts = [i for i, (_, line) in enumerate(lines) if line.startswith("# ")]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        steps = []
        for is_empty, group in itertools.groupby(lines[start + 1 : end], lambda one: not one[1]):
            group = [] if is_empty else list(group)
            rows = [one for one in group if one[1].startswith("|")]
            own = steps_of(group[: len(group) - len(rows)])
            steps += repeated(own, rows) if rows else own
        yield lines[start][1][2:], range(lines[start][0], lines[end - 1][0] + 1), steps
