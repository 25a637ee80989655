#!/usr/bin/env python3
"""Tests that a run leaves no files if it passed, and leaves its logs and history if it failed in
any way.
"""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

from evidence import Evidence  # noqa: E402


def play(kept, end):
    """Runs a body that writes the files of a real run. Returns its temporary folder."""
    with Evidence(kept) as evidence:
        data = evidence.path / "redis-0"
        data.mkdir()
        (data / "redis.log").write_text("the server's")
        (data / "appendonly.aof").write_text("large")
        (evidence.path / "daemon-0.log").write_text("the daemon's")
        (evidence.path / "history.jsonl").write_text("{}")
        end(evidence)
    return evidence.path


def passes(evidence):
    evidence.has_passed = True


def passes_not(evidence):
    """Returns without `has_passed`, as after a broken promise."""


def gives_up(_):
    raise OSError


def is_ended(_):
    sys.exit(1)


class Test(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.kept = pathlib.Path(self.folder.name, "below", "single-1")

    def kept_files(self):
        return {file.name: file.read_text() for file in self.kept.iterdir()}

    def test_a_run_that_passes_leaves_nothing(self):
        self.assertFalse(play(self.kept, passes).exists())
        self.assertFalse(self.kept.exists())

    def test_a_run_that_fails_leaves_logs_and_history(self):
        for end, error in ((passes_not, None), (gives_up, OSError), (is_ended, SystemExit)):
            if self.kept.exists():
                (self.kept / "of the run before").touch()
            if error:
                self.assertRaises(error, play, self.kept, end)
            else:
                self.assertFalse(play(self.kept, end).exists())
            self.assertEqual(
                self.kept_files(),
                {"daemon-0.log": "the daemon's", "history.jsonl": "{}", "redis-0-redis.log": "the server's"},
            )

    def test_a_repetition_that_passes_leaves_what_failed(self):
        play(self.kept, passes_not)
        play(self.kept, passes)
        self.assertTrue(self.kept.exists())


unittest.main()
