#!/usr/bin/env python3
"""`tools/lint/run --changed` runs a lint when a file that it reads has changed since it last
passed, and otherwise does not. The tree is a folder with lints that note their runs.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import sys
import tempfile
import unittest

LINT = pathlib.Path(__file__).resolve().parents[1] / "tools/lint"
sys.path.insert(0, str(LINT))
loader = importlib.machinery.SourceFileLoader("lint_run", str(LINT / "run"))
lint_run = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint_run", loader))
loader.exec_module(lint_run)

# {lint: what it reads}. Each fails while a file that it reads has the word `bad`.
READS = {"folder": "src", "pages": "*.md", "each": "each src", "all": ".", "names": "names"}
LINT_TEXT = """#!/bin/sh
echo "$0 $*" >>runs.log
! grep -rlq bad src README.md
"""


class Changed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for lint in READS:
            self.write(f"tools/lint/{lint}", LINT_TEXT)
            os.chmod(f"tools/lint/{lint}", 0o755)
        self.write("src/a.c", "a")
        self.write("src/b.c", "b")
        self.write("README.md", "page")
        self.assertEqual(self.run_lints(), {lint: "" for lint in READS})

    def write(self, name, text):
        path = pathlib.Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_lints(self, is_all=False):
        """{lint that ran: the files that it was given}"""
        log = pathlib.Path("runs.log")
        with contextlib.redirect_stdout(io.StringIO()):
            lint_run.run_all([(lint, reads, "") for lint, reads in READS.items()], is_all)
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        runs = (line.removeprefix("tools/lint/").partition(" ") for line in lines)
        return {lint: given for lint, _, given in runs}

    def test_nothing_changed(self):
        self.assertEqual(self.run_lints(), {})

    def test_all(self):
        self.assertEqual(set(self.run_lints(is_all=True)), set(READS))

    def test_a_changed_file(self):
        self.write("src/b.c", "c")
        self.assertEqual(self.run_lints(), {"folder": "", "each": "src/b.c", "all": ""})
        self.assertEqual(self.run_lints(), {})
        self.write("README.md", "another")
        self.assertEqual(self.run_lints(), {"pages": "", "all": ""})

    def test_a_new_file_and_a_deleted_one(self):
        self.write("src/new.c", "")
        self.assertEqual(self.run_lints(), {"folder": "", "each": "src/new.c", "all": "", "names": ""})
        os.unlink("src/new.c")
        self.assertEqual(set(self.run_lints()), {"folder", "all", "names"})

    def test_a_failed_lint_runs_again(self):
        self.write("src/b.c", "bad")
        self.assertEqual(set(self.run_lints()), {"folder", "each", "all"})
        self.assertEqual(self.run_lints(), {"folder": "", "each": "src/b.c", "all": ""})
        self.write("src/b.c", "good")
        self.assertEqual(set(self.run_lints()), {"folder", "each", "all"})
        self.assertEqual(self.run_lints(), {})

    def test_a_failed_run_of_all_is_not_forgotten(self):
        self.write("src/b.c", "bad")
        self.run_lints(is_all=True)
        self.assertEqual(set(self.run_lints()), {"folder", "each", "all"})

    def test_a_changed_lint_judges_all_files(self):
        self.write("tools/lint/each", LINT_TEXT + "# another rule\n")
        self.assertEqual(self.run_lints(), {lint: "" for lint in READS})

    def test_each_lint_of_the_tree_has_a_row(self):
        there = {path.name for path in LINT.iterdir() if path.is_file() and os.access(path, os.X_OK)}
        self.assertEqual(there - {"run"}, {lint for lint, _, _ in lint_run.LINTS})


if __name__ == "__main__":
    unittest.main()
