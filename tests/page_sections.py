"""Checks the sections of pages of docs/ for tests/test_docs.py: the page of a pattern, its page in
docs/internals/, and the section 'When something fails' of any page.
"""
import pathlib
import re

import reference  # of tools/, whose folder test_docs.py adds

SECTIONS = r"When to use it,Quick example,(?:Details,)?Guarantees,When something fails,Pitfalls"
# The sections of each pattern's page in docs/internals/.
INTERNAL_SECTIONS = r"Keys in Redis,The scripts(?:,Costs)?"
FAILURE_HEAD = "| What happens | What you get | What to do |"
# The rows of the section 'When something fails', in this order; any other row is at the end.
FAILURES = [
    r"(?:A|All|The) (?:caller|client|holder|listener|program|receivers|sender|worker)\b",
    r"The daemon ",
    r"The answer ",
    r"Redis is away",
    r"Redis (?:is full|denies )",
    r"Redis loses changes",
    r"Redis's clock ",
    r"",
]
NO_PATTERN = {"daemon.md", "push.md"}  # pages of tags that are not patterns
METHODS = "(?:GET|PUT|POST|PATCH|DELETE)"
DOCS = pathlib.Path("docs")
INTERNALS = DOCS / "internals"


def without_code(text):
    return re.sub(r"^```.*?^```$", lambda m: "\n" * m.group().count("\n"), text, flags=re.M | re.S)


def is_pattern(page):
    return page.parent == DOCS and page.name in reference.pages_of_tags().values() and page.name not in NO_PATTERN


def check_sections(page):
    """A page of a pattern is for its users and links its page in docs/internals/, which is for
    contributors. Each has its sections.
    """
    text = without_code(page.read_text())
    headings = ",".join(re.findall(r"^## (.+)$", text, re.M))
    inside = DOCS / "internals" / page.name
    if page.parent == DOCS and page.name in reference.pages_of_tags().values():
        yield from check_reference(page, text)
    if is_pattern(page):
        if not re.fullmatch(SECTIONS, headings):
            yield f"{page}: its sections are {headings}; a page of a pattern has {SECTIONS}, in this order"
        last = f"Its keys in Redis and its scripts are in [internals](internals/{page.name})."
        if not text.endswith(f"\n\n{last}\n"):
            yield f"{page}: its last line must be '{last}'"
        if not inside.exists():
            yield f"{page}: {inside} is not there: it has the pattern's keys and scripts"
    elif page.parent == INTERNALS and page.name != "README.md":
        if not re.fullmatch(INTERNAL_SECTIONS, headings):
            yield f"{page}: its sections are {headings}; a page of docs/internals has {INTERNAL_SECTIONS}, in this order"
        if f"]({page.name})" not in (INTERNALS / "README.md").read_text():
            yield f"{INTERNALS}/README.md: does not link {page.name}"


def check_reference(page, text):
    """The page of a tag links its reference after the first paragraph. Each row of a table that
    begins with a request, or has requests in its second cell below the head 'Request', links them.
    """
    line = f"The fields of all requests are in the [reference](reference/{page.name})."
    if text.split("\n\n")[2:3] != [line]:
        yield f"{page}: its second paragraph must be '{line}'"
    tables = re.findall(r"^\| To \| Request \|\n.*?(?=^(?!\|))", text, re.M | re.S)
    rows = re.findall(rf"^\| `{METHODS} /.*$", text, re.M)
    for bare in re.findall(rf"(?<!\[)`{METHODS}(?: /[^`]*)?`", "\n".join(tables + rows)):
        yield f"{page}: {bare} of a table must link its operation in reference/{page.name}"


def check_settings(page):
    """docs/queues.md lists each setting of a queue once."""
    section = re.search(r"^### Settings\n(.*?)(?=^##)", page.read_text(), re.M | re.S)
    listed = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]+) \|", section[1], re.M) if section else []))
    known = reference.read_contract()["components"]["schemas"]["QueueSettingsRequest"]["properties"]
    if sorted(listed) != sorted(known):
        wrong = sorted(set(listed) ^ set(known)) or "one of them twice"
        yield f"{page}: its section Settings must list each setting of a queue once; it differs in {wrong}"


def check_failures(page):
    """The section 'When something fails' is one table, whose rows have one order on all pages."""
    section = re.search(r"^## When something fails\n(.*?)(?=^## |\Z)", page.read_text(), re.M | re.S)
    if not section:
        return
    rows = re.findall(r"^\| ([^|]+) \|", section[1], re.M)
    if FAILURE_HEAD not in section[1] or "|---" not in section[1]:
        yield f"{page}: 'When something fails' has no table with the head {FAILURE_HEAD}"
    if re.search(r"^(?:[-*] |### )", section[1], re.M):
        yield f"{page}: 'When something fails' has a list or a heading: make it rows of the table"
    last, earlier = 0, ""
    for row in rows[1:]:
        kind = next(i for i, pattern in enumerate(FAILURES) if re.match(pattern, row))
        if kind < last:
            yield f"{page}: '{row}' must stand before '{earlier}' in 'When something fails': the order is FAILURES of tests/page_sections.py"
        last, earlier = max((last, earlier), (kind, row))
