#!/usr/bin/env python3
"""Lint: no code calls functions that write without a bound, hide errors, or keep hidden state.
"""
import re

import tree

INSTEAD = {
    "strcpy": "snprintf or memcpy",
    "strncpy": "memcpy with a length",
    "stpcpy": "snprintf or memcpy",
    "strcat": "snprintf at an offset",
    "strncat": "snprintf at an offset",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "gets": "fgets",
    "alloca": "the request's arena",
    "strtok": "memchr with a length",
    "strtok_r": "memchr with a length",
    "atoi": "strtol",
    "atol": "strtol",
    "atoll": "strtoll",
    "atof": "strtod",
    "scanf": "strtol",
    "sscanf": "strtol",
    "asctime": "strftime",
    "ctime": "strftime",
    "localtime": "gmtime_r",
    "gmtime": "gmtime_r",
    "tmpnam": "mkdtemp",
    "system": "fork and exec",
    "popen": "fork and exec",
    "rand": "getrandom",
    "srand": "getrandom",
}
CALL = re.compile(r"(?<![\w.>])(" + "|".join(INSTEAD) + r")\s*\(")

lint = tree.Lint("Call what the finding names. The rule: INSTEAD of tools/lint/banned.py.")
for path in tree.given("service", ".c", ".h", ".def") + tree.given("handlers", ".c", ".h"):
    code = tree.code_of(path.read_text())
    for call in CALL.finditer(code):
        name = call.group(1)
        lint.finding(path, tree.line_of(code, call.start()), f"{name} is banned; use {INSTEAD[name]}")
lint.done()
