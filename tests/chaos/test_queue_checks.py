#!/usr/bin/env python3
"""Tests the check of queues on small histories; test_checks.py tests the others."""
import sys
import unittest

sys.dont_write_bytecode = True

from checks import queues  # noqa: E402
from test_checks import Story  # noqa: E402


class QueueStory(Story):
    def send(self, start, end, status=201, effect=None, delay_ms=0, op=None, id="m"):
        return self.call(
            "queue.send",
            "q",
            start,
            end,
            status,
            {"body": "one", "delay_ms": delay_ms},
            {"messages": [{"id": id}]},
            op=op,
            effect=effect,
        )

    def receive(self, start, end, receives=1, body="one", id="m", visibility_ms=1000, wait_ms=0, op=None):
        message = {"id": id, "receipt": f"{id}.{receives}.{start}", "receives": receives, "body": body}
        self.receipt = message["receipt"]
        return self.call(
            "queue.receive",
            "q",
            start,
            end,
            200,
            {"visibility_ms": visibility_ms, "wait_ms": wait_ms},
            {"messages": [message] if receives else []},
            op=op,
        )

    def repeated(self, start, end, receipts, op):
        messages = [{"id": "m", "receipt": receipt, "receives": 1, "body": "one"} for receipt in receipts]
        return self.call(
            "queue.receive", "q", start, end, 200, {"visibility_ms": 1000, "wait_ms": 0}, {"messages": messages}, op=op
        )

    def done(self, start, end, status=204, effect=None):
        got = {"code": "receipt_expired"} if status == 410 else None
        return self.call(
            "queue.acknowledge", "q", start, end, status, {"receipt": self.receipt, "body": "one"}, got, effect=effect
        )

    def emptied(self, **states):
        return self.call(
            "queue.final", "q", 9000, 9001, 200, None, {"ready": 0, "delayed": 0, "in_flight": 0, "dead": 0, **states}
        )


class Queues(unittest.TestCase):
    def test_delivered_and_done(self):
        self.assertEqual(QueueStory().send(0, 5).receive(10, 20).done(30, 40).emptied().broken(queues), [])

    def test_delivered_again_after_its_time(self):
        story = QueueStory().send(0, 5).receive(10, 20).receive(1005, 1020, 2).done(1030, 1040).emptied()
        self.assertEqual(story.broken(queues), [])
        self.assertEqual(story.judged(queues).figures["duplicates"], 1)

    def test_lost(self):
        self.assertEqual(QueueStory().send(0, 5).emptied().broken(queues), ["no accepted message is lost"])

    def test_lost_by_a_failover(self):
        story = QueueStory().send(0, 5).fault(3, 100, can_lose=True).emptied()
        self.assertEqual(story.broken(queues), [])
        self.assertEqual(story.judged(queues).figures["messages lost by a failover"], 1)

    def test_not_accepted_but_delivered(self):
        story = QueueStory().send(0, 5, 503, effect="none").receive(10, 20).done(30, 40).emptied()
        self.assertEqual(story.broken(queues), ["effect none is true"])

    def test_perhaps_accepted(self):
        for sent in (
            QueueStory().send(0, 5, 504, effect="unknown"),
            QueueStory().send(0, 5, 504, effect="unknown").receive(10, 20).done(30, 40),
        ):
            self.assertEqual(sent.emptied().broken(queues), [])

    def test_acknowledged_and_back(self):
        story = QueueStory().send(0, 5).receive(10, 20).done(30, 40).receive(1100, 1110, 2).emptied()
        self.assertEqual(story.broken(queues), ["no acknowledged message comes back"])

    def test_two_at_once(self):
        story = QueueStory().send(0, 5).receive(10, 20).receive(500, 510, 2).done(520, 530).emptied()
        self.assertEqual(story.broken(queues), ["one delivery at a time"])

    def test_not_counted(self):
        for counted, wanted in ((False, []), (True, ["one delivery at a time"])):
            story = QueueStory().send(0, 5).receive(10, 20)
            sent = {"receipt": story.receipt, "body": "one", "counted": counted}
            story.call("queue.reject", "q", 30, 40, 200, sent).receive(50, 60).done(70, 80).emptied()
            self.assertEqual(story.broken(queues), wanted)

    def test_one_of_many_is_extended(self):
        for outcome, wanted in (("extended", []), ("not_current", ["one delivery at a time"])):
            story = QueueStory().send(0, 5).receive(10, 20)
            sent = {"receipt": story.receipt, "body": "one", "visibility_ms": 5000, "is_one_of_many": True}
            got = {"deliveries": [{"receipt": story.receipt, "outcome": outcome}]}
            story.call("queue.extend", "q", 30, 40, 200, sent, got).done(50, 60).emptied()
            self.assertEqual(story.broken(queues), wanted)

    def test_taken_from_its_receiver(self):
        story = (
            QueueStory()
            .send(0, 5)
            .receive(10, 20)
            .done(500, 510, 410)
            .receive(1100, 1110, 2)
            .done(1120, 1130)
            .emptied()
        )
        self.assertEqual(story.broken(queues), ["one delivery at a time"])

    def test_early(self):
        story = QueueStory().send(0, 5, delay_ms=100).receive(10, 90).done(95, 99).emptied()
        self.assertEqual(story.broken(queues), ["never early"])

    def test_stored_twice(self):
        story = QueueStory().send(0, 5, 504, effect="unknown", op=7).send(10, 15, op=7).receive(20, 30).done(40, 50)
        story.receive(60, 70, id="other", visibility_ms=0).done(80, 90).emptied()
        self.assertIn("one key, one effect", story.broken(queues))

    def test_one_key_two_deliveries(self):
        story = QueueStory().send(0, 5).receive(10, 20, op=7).receive(1100, 1110, 2, op=7).done(1120, 1130).emptied()
        self.assertIn("one key, one effect", story.broken(queues))

    def test_a_repeated_receive(self):
        story = QueueStory().send(0, 5).receive(10, 20, op=7)
        story.repeated(100, 110, [story.receipt], op=7).done(200, 210).repeated(300, 310, [], op=7).emptied()
        self.assertEqual(story.broken(queues), [])
        self.assertEqual(
            story.repeated(400, 410, [story.receipt], op=7).broken(queues), ["an ended grant is not reported"]
        )

    def test_not_emptied(self):
        self.assertEqual(QueueStory().send(0, 5).receive(10, 20).done(30, 40).emptied(dead=1).broken(queues), ["books"])

    def test_no_waiter_was_woken(self):
        story = (
            QueueStory()
            .receive(0, 5000, 0, wait_ms=5000)
            .send(2000, 2005)
            .receive(4000, 4010)
            .done(4020, 4030)
            .emptied()
        )
        self.assertEqual(story.broken(queues), ["waiters are woken"])

    def test_another_waiter_was_woken(self):
        story = (
            QueueStory()
            .receive(0, 5000, 0, wait_ms=5000)
            .send(2000, 2005)
            .receive(100, 2010, wait_ms=5000)
            .done(2020, 2030)
            .emptied()
        )
        self.assertEqual(story.broken(queues), [])


if __name__ == "__main__":
    unittest.main()
