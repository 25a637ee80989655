#!/usr/bin/env python3
"""Tests the check of results on small histories; test_checks.py tests the others."""
import sys
import unittest

sys.dont_write_bytecode = True

from checks import results  # noqa: E402
from test_checks import Story  # noqa: E402


class Results(unittest.TestCase):
    def story(self, end, of="1", by="r", at=100):
        got = {"messages": [{"id": "1", **end}]}
        completed = {"deliveries": [{"outcome": "acknowledged", "result_stored": True}]}
        story = Story().call("result.ask", "q", 0, 4000, 201, {"id": "1"}, got)
        return story.call("result.complete", "q", at, at + 10, 200, {"of": of, "by": by}, completed)

    def test_of_its_message(self):
        done = {"state": "done", "result": {"of": "1", "by": "r"}}
        self.assertEqual(self.story(done, at=3500).broken(results), [])
        for of, by in (("2", "r"), ("1", "s")):
            self.assertEqual(self.story(done, of, by, 3500).broken(results), ["a result is of its message"])
        self.assertEqual(self.story({"state": "done"}, at=3500).broken(results), ["a result is of its message"])

    def test_it_stays(self):
        done = {"state": "done", "result": {"of": "1", "by": "r"}}
        story = self.story(done, at=3500)
        story.call("result.complete", "q", 50, 60, 504, {"of": "1", "by": "s"}, effect="unknown")
        again = {"messages": [{"id": "1", "state": "done", "result": {"of": "1", "by": "s"}}]}
        story.call("result.ask", "q", 5000, 5010, 200, {"id": "1"}, again)
        self.assertEqual(story.broken(results), ["a result stays"])
        self.assertEqual(story.fault(4900, 5100, can_lose=True).broken(results), [])

    def test_a_waiter_is_woken(self):
        in_flight = {"state": "in_flight"}
        done = {"state": "done", "result": {"of": "1", "by": "r"}}
        self.assertEqual(self.story(done).broken(results), ["waiters are woken"])  # found at the end of its wait
        self.assertEqual(self.story(in_flight).broken(results), ["waiters are woken"])
        self.assertEqual(self.story(in_flight, at=3500).broken(results), [])
        self.assertEqual(self.story(in_flight).fault(200, 300).broken(results), [])


if __name__ == "__main__":
    unittest.main()
