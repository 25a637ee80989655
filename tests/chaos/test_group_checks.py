#!/usr/bin/env python3
"""Tests the checks of chaos on small histories of queues with groups."""
import sys
import unittest

sys.dont_write_bytecode = True

from checks import queue_groups, queues  # noqa: E402
from test_checks import Story  # noqa: E402


class GroupStory(Story):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def send(self, start, body, group="g0", **options):
        sent = {"body": body, "group": group, "delay_ms": 0, **options}
        return self.call("queue.send", self.name, start, start + 5, 201, sent, {"messages": [{"id": body}]})

    def receive(self, start, *bodies, receives=1, visibility_ms=1000):
        self.receipts = {body: f"{body}.{receives}.{start}" for body in bodies}
        messages = [{"id": b, "receipt": r, "receives": receives, "body": b} for b, r in self.receipts.items()]
        sent = {"visibility_ms": visibility_ms, "wait_ms": 0}
        return self.call("queue.receive", self.name, start, start + 5, 200, sent, {"messages": messages})

    def done(self, start, body):
        sent = {"receipt": self.receipts[body], "body": body}
        return self.call("queue.acknowledge", self.name, start, start + 5, 204, sent)

    def emptied(self, **states):
        return self.call("queue.final", self.name, 9000, 9001, 200, None, {"ready": 0, "blocked": 0, **states})


class Groups(unittest.TestCase):
    def test_one_after_the_other(self):
        story = GroupStory("groups-strict").send(0, "a").send(10, "b")
        story.receive(20, "a").done(40, "a").receive(50, "b").done(60, "b").emptied()
        self.assertEqual(story.broken(queue_groups) + story.broken(queues), [])

    def test_two_of_a_strict_group(self):
        story = GroupStory("groups-strict").send(0, "a").send(10, "b").receive(20, "a").receive(30, "b")
        self.assertEqual(story.broken(queue_groups), ["strict groups run one at a time"])

    def test_two_groups_at_once(self):
        story = GroupStory("groups-strict").send(0, "a").send(10, "b", "g1").receive(20, "b").receive(30, "a")
        self.assertEqual(story.broken(queue_groups), [])

    def test_out_of_order(self):
        story = GroupStory("groups-strict").send(0, "a").send(10, "b")
        story.receive(20, "b").done(30, "b").receive(40, "a").done(50, "a")
        self.assertEqual(story.broken(queue_groups), ["strict groups keep the order"])

    def test_a_delayed_one_has_no_place(self):
        story = GroupStory("groups-strict").send(0, "a", delay_ms=10).send(10, "b")
        story.receive(20, "b").done(30, "b").receive(40, "a").done(50, "a")
        self.assertEqual(story.broken(queue_groups), [])

    def test_too_many_in_flight(self):
        for name, most in ("groups-fair", 2), ("groups-limited", 3):
            story = GroupStory(name)
            for i in range(most + 1):
                story.send(10 * i, str(i)).receive(100 + 10 * i, str(i))
                self.assertEqual(story.broken(queue_groups), ["concurrency holds"] if i == most else [])

    def test_too_many_in_a_window(self):
        for name, most in ("groups-limited", 5), ("groups-shared", 3):
            story = GroupStory(name)
            for i in range(most + 1):
                story.send(i, str(i)).receive(100 + i, str(i), visibility_ms=1).emptied()
                self.assertEqual(story.broken(queue_groups), ["limits hold"] if i == most else [], i)

    def test_others_spend_the_policy(self):
        story = GroupStory("groups-shared")
        for i in range(3):
            story.call("group.take", "groups-shared", i, i + 1, 200, {}, {"allowed": True})
        self.assertEqual(story.send(0, "a").receive(2, "a").broken(queue_groups), ["limits hold"])

    def test_behind_a_backlog(self):
        story = GroupStory("groups-fair").send(4000, "z", "lone-1")
        for i in range(3):
            story.send(10 * i, str(i)).receive(5000 + 10 * i, str(i), visibility_ms=1)
        story.receive(6000, "z")
        self.assertEqual(story.broken(queue_groups), ["groups take turns"])
        self.assertEqual(story.fault(3900, 4100).broken(queue_groups), [])

    def test_forgotten_behind_a_head(self):
        story = GroupStory("groups-strict").send(0, "a").send(10, "b").receive(20, "a").done(40, "a")
        self.assertEqual(story.emptied(blocked=1).broken(queues), ["books", "no accepted message is lost"])

    def test_purged_while_it_was_extended(self):
        for purged_at, wanted in (35, []), (25, ["one delivery at a time"]):
            story = GroupStory("groups-strict").send(0, "a", "purged").receive(10, "a")
            sent = {"receipt": story.receipts["a"], "body": "a"}
            story.call("queue.extend", story.name, 30, 40, 200, sent | {"visibility_ms": 600}, {"id": "a"})
            story.call("queue.purge", story.name, purged_at, purged_at + 4, 200, {"group": "purged"}, {"purged": 1})
            story.call("queue.acknowledge", story.name, 50, 55, 410, sent, {"code": "receipt_expired"}).emptied()
            self.assertEqual(story.broken(queues), wanted)

    def test_cancelled_purged_or_expired(self):
        for how in "group.cancel", "queue.purge":
            story = GroupStory("groups-strict").send(0, "a")
            sent = {"body": "a", "group": "g0"}
            self.assertEqual(story.call(how, story.name, 10, 20, 200, sent).emptied().broken(queues), [])
        self.assertEqual(GroupStory("groups-strict").send(0, "a", ttl_ms=5).emptied().broken(queues), [])


if __name__ == "__main__":
    unittest.main()
