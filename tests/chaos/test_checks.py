#!/usr/bin/env python3
"""Tests the checks of chaos on small histories, and whether docs/guarantees.md states the promises.
"""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True

from checks import answers, counters, floor, locks, ratelimit, sales, semaphores  # noqa: E402
from history import Findings, History  # noqa: E402
from promises import STATED  # noqa: E402


class Story:
    """Builds a history. Its times are milliseconds."""

    def __init__(self, seconds=10, mode="single"):
        self.lines, self.ops = [{"kind": "run", "mode": mode, "seed": 1, "seconds": seconds}], 0

    def call(self, what, on, start, end, status, sent=None, got=None, op=None, effect=None, retry_after=None):
        self.ops += 1
        if effect is None:
            effect = "applied" if 200 <= status < 300 else "none"
        self.lines.append(
            {
                "kind": "call",
                "what": what,
                "on": on,
                "op": op or 1000 + self.ops,
                "worker": "w",
                "keyed": op is not None,
                "daemon": 0,
                "start_us": start * 1000,
                "gave_up_us": end * 1000,
                "status": status,
                "effect": effect,
                "sent": sent,
                "got": got,
                "retry_after": retry_after,
            }
        )
        return self

    def fault(self, start, end, can_lose=False, name="f", can_lose_of=None):
        times = {"start_us": start * 1000, "end_us": end * 1000}
        self.lines.append({"kind": "fault", "name": name, **times, "can_lose": can_lose, "can_lose_of": can_lose_of})
        return self

    def broken(self, check):
        """The promises that this check finds broken."""
        return sorted({violation["promise"] for violation in self.judged(check).violations})

    def judged(self, check):
        findings = Findings()
        check.check(History(self.lines), findings)
        return findings


class Locks(unittest.TestCase):
    def test_one_after_the_other(self):
        story = LockStory().grant(0, 10, fence=1).release(500, 510, fence=1).grant(505, 512, fence=2)
        self.assertEqual(story.broken(locks), [])

    def test_held_twice(self):
        self.assertEqual(LockStory().grant(0, 10, fence=1).grant(500, 510, fence=2).broken(locks), ["held once"])

    def test_held_twice_while_its_slot_moves(self):
        for name, broken in ("a", []), ("another", ["held once"]):
            story = LockStory().grant(0, 10, fence=1).grant(500, 510, fence=2)
            self.assertEqual(story.fault(400, 600, can_lose=True, can_lose_of=name).broken(locks), broken)

    def test_it_expired(self):
        self.assertEqual(LockStory().grant(0, 10, fence=1).grant(995, 1010, fence=2).broken(locks), [])

    def test_extended(self):
        story = LockStory().grant(0, 10, fence=1).extend(900, 910, 200, fence=1).grant(1500, 1510, fence=2)
        self.assertEqual(story.broken(locks), ["held once"])

    def test_an_extension_that_may_have_shortened_it(self):
        story = (
            LockStory()
            .grant(0, 10, fence=1, ttl_ms=5000)
            .extend(100, 110, 504, fence=1, effect="unknown")
            .grant(1200, 1210, fence=2)
        )
        self.assertEqual(story.broken(locks), [])

    def test_a_release_that_was_refused_frees_nothing(self):
        story = LockStory().grant(0, 10, fence=1).release(100, 110, 503, fence=1).grant(500, 510, fence=2)
        self.assertEqual(story.broken(locks), ["held once"])

    def test_a_release_that_was_not_answered_may_free_it(self):
        story = (
            LockStory().grant(0, 10, fence=1).release(100, 110, 504, fence=1, effect="unknown").grant(500, 510, fence=2)
        )
        self.assertEqual(story.broken(locks), [])

    def test_a_failover_may_lose_a_lock(self):
        story = LockStory().fault(5, 8, can_lose=True).grant(0, 10, fence=1).grant(500, 510, fence=2)
        self.assertEqual(story.broken(locks), [])
        self.assertEqual(story.judged(locks).figures["locks held twice by a failover"], 1)

    def test_no_failover_lowers_a_fence(self):
        story = LockStory().fault(0, 5000, can_lose=True).grant(0, 10, fence=2).grant(2000, 2010, fence=1)
        self.assertEqual(story.broken(locks), ["fences rise"])

    def test_a_fence_granted_twice(self):
        story = LockStory().grant(0, 10, fence=1).grant(2000, 2010, fence=1, token="other")
        self.assertEqual(story.broken(locks), ["fences rise"])

    def test_released_by_a_stranger(self):
        story = LockStory().grant(0, 10, fence=1).grant(1100, 1110, fence=2).release(1200, 1210, fence=1)
        self.assertEqual(story.broken(locks), ["only the holder"])

    def test_released_twice(self):
        refused, forgotten = ["only the holder"], ["a release may be repeated"]
        for at, status, broken in (40, 200, []), (60040, 200, refused), (40, 409, forgotten), (60040, 409, []):
            story = LockStory().grant(0, 10, fence=1).release(20, 30, fence=1)
            self.assertEqual(story.release(at, at + 10, status, fence=1).broken(locks), broken)
        for other, status, broken in (1, 200, []), (1, 409, forgotten), (2, 409, []):
            story = LockStory().grant(0, 10, fence=1).release(20, 30, fence=1).grant(32, 35, fence=2)
            story.release(36, 38, fence=other).release(40, 50, status, fence=1)
            self.assertEqual(story.broken(locks), broken)
        self.assertEqual(LockStory().grant(0, 10, fence=1).release(1100, 1110, fence=1).broken(locks), refused)

    def test_taken_from_its_holder(self):
        self.assertEqual(
            LockStory().grant(0, 10, fence=1).release(500, 510, 409, fence=1).broken(locks), ["held for its time"]
        )

    def test_expiry_reported_late(self):
        self.assertEqual(LockStory().grant(0, 10, fence=1).release(990, 1010, 409, fence=1).broken(locks), [])

    def test_not_free_after_its_time(self):
        self.assertEqual(
            LockStory().grant(0, 10, fence=1).refused(1100, 1110, fence=1).broken(locks), ["free after its time"]
        )
        self.assertEqual(LockStory().grant(0, 10, fence=1).refused(1000, 1110, fence=1).broken(locks), [])

    def test_not_free_after_its_release(self):
        story = LockStory().grant(0, 10, fence=1).release(20, 30, fence=1).refused(40, 50, fence=1)
        self.assertEqual(story.broken(locks), ["free after its release"])

    def test_one_key_two_grants(self):
        self.assertEqual(
            LockStory().grant(0, 10, fence=1, op=7).grant(2000, 2010, fence=2, op=7).broken(locks),
            ["one key, one effect"],
        )

    def test_repeated_while_it_lasts(self):
        story = LockStory().grant(0, 10, fence=1, op=7).grant(500, 510, fence=1, op=7).release(600, 610, fence=1)
        self.assertEqual(story.broken(locks), [])
        self.assertEqual(story.judged(locks).figures["repeated requests"], 1)

    def test_repeated_when_it_has_ended(self):
        for ended in (
            LockStory().grant(0, 10, fence=1, op=7).release(20, 30, fence=1),
            LockStory().grant(0, 10, fence=1, op=7).grant(1100, 1110, fence=2),
            LockStory().grant(0, 10, fence=1, op=7),
        ):
            self.assertEqual(ended.grant(1200, 1210, fence=1, op=7).broken(locks), ["an ended grant is not reported"])
        ended = LockStory().grant(0, 10, fence=1, op=7).release(20, 30, fence=1).expired(1200, 1210, op=7)
        self.assertEqual(ended.broken(locks), [])
        self.assertEqual(ended.judged(locks).figures["repeated requests whose grant had ended"], 1)

    def test_repeated_when_its_end_was_lost(self):
        story = LockStory().fault(300, 400, can_lose=True).grant(0, 10, fence=1, op=7).release(320, 330, fence=1)
        self.assertEqual(story.grant(500, 510, fence=1, op=7).broken(locks), [])

    def test_repeated_and_refused(self):
        self.assertEqual(
            LockStory().grant(0, 10, fence=1, op=7).expired(500, 510, op=7).broken(locks), ["held for its time"]
        )
        self.assertEqual(
            LockStory()
            .grant(0, 10, fence=1, op=7)
            .expired(500, 510, op=7, code="lock_held", effect="none")
            .broken(locks),
            ["one key, one effect"],
        )
        self.assertEqual(
            LockStory().fault(2, 5, can_lose=True).grant(0, 10, fence=1, op=7).expired(500, 510, op=7).broken(locks), []
        )

    def test_a_repeated_extension_extends_nothing(self):
        story = (
            LockStory()
            .grant(0, 10, fence=1)
            .extend(100, 110, fence=1, op=7)
            .extend(200, 210, fence=1, op=8)
            .extend(900, 910, fence=1, op=7)
        )
        self.assertEqual(story.grant(1300, 1310, fence=2).broken(locks), [])
        self.assertEqual(story.extend(1400, 1410, fence=1, op=8).broken(locks), ["an ended grant is not reported"])

    def test_asked_twice_at_once(self):
        self.assertEqual(LockStory().grant(0, 10, fence=1, op=7).grant(5, 12, fence=1, op=7).broken(locks), [])

    def test_no_waiter_was_woken(self):
        waited = (
            LockStory()
            .grant(0, 10, fence=1, ttl_ms=9000)
            .refused(100, 6000, fence=1, wait_ms=5000)
            .release(3000, 3010, fence=1)
        )
        self.assertEqual(waited.broken(locks), ["waiters are woken"])
        self.assertEqual(waited.grant(2000, 3050, fence=2).broken(locks), [])

    def test_one_of_two_at_once_was_woken(self):
        story = LockStory().grant(0, 10, fence=1, ttl_ms=9000).refused(100, 6000, fence=1, wait_ms=5000)
        story.release(3000, 3010, fence=1).grant(2000, 7000, fence=2, op=7).grant(2001, 3050, fence=2, op=7)
        self.assertEqual(story.broken(locks), [])

    def test_no_waiter_was_woken_in_a_storm(self):
        story = (
            LockStory()
            .grant(0, 10, fence=1, ttl_ms=9000)
            .refused(100, 6000, fence=1, wait_ms=5000)
            .release(3000, 3010, fence=1)
        )
        self.assertEqual(story.fault(4000, 4100).broken(locks), [])


class LockStory(Story):
    def grant(self, start, end, fence, ttl_ms=1000, token=None, op=None):
        return self.call(
            "lock.acquire",
            "a",
            start,
            end,
            201,
            {"ttl_ms": ttl_ms, "wait_ms": 0},
            {"token": token or f"t{fence}", "fence": fence},
            op=op,
        )

    def refused(self, start, end, fence, wait_ms=0):
        return self.call(
            "lock.acquire",
            "a",
            start,
            end,
            409,
            {"ttl_ms": 1000, "wait_ms": wait_ms},
            {"code": "lock_held", "holders": [{"fence": fence}]},
        )

    def expired(self, start, end, op, code="not_holder", effect="applied"):
        return self.call(
            "lock.acquire", "a", start, end, 409, {"ttl_ms": 1000, "wait_ms": 0}, {"code": code}, op=op, effect=effect
        )

    def use(self, what, start, end, status, fence, effect, op=None):
        got = {"code": "not_holder"} if status == 409 else {"holds": 0}
        return self.call(
            what, "a", start, end, status, {"token": f"t{fence}", "ttl_ms": 1000}, got, effect=effect, op=op
        )

    def extend(self, start, end, status=200, *, fence, effect=None, op=None):
        return self.use("lock.extend", start, end, status, fence, effect, op)

    def release(self, start, end, status=200, *, fence, effect=None):
        return self.use("lock.release", start, end, status, fence, effect)


class SemaphoreStory(Story):
    def permit(self, start, end, id, op=None):
        return self.call("semaphore.acquire", "s", start, end, 201, {"limit": 2, "ttl_ms": 1000}, {"permit": id}, op=op)

    def use(self, what, start, end, id, status=200):
        return self.call(
            "semaphore." + what,
            "s",
            start,
            end,
            status,
            {"permit": id, "ttl_ms": 1000},
            {"code": "permit_expired"} if status == 410 else None,
        )


class Semaphores(unittest.TestCase):
    def test_as_many_as_there_are(self):
        story = (
            SemaphoreStory()
            .permit(0, 10, "a")
            .permit(20, 30, "b")
            .use("release", 40, 60, "a", 204)
            .permit(50, 70, "c")
            .permit(1010, 1020, "d")
        )
        self.assertEqual(story.broken(semaphores), [])

    def test_too_many(self):
        self.assertEqual(
            SemaphoreStory().permit(0, 10, "a").permit(20, 30, "b").permit(40, 50, "c").broken(semaphores),
            ["limits hold"],
        )

    def test_too_many_after_an_extension(self):
        story = (
            SemaphoreStory()
            .permit(0, 10, "a")
            .permit(20, 30, "b")
            .use("extend", 900, 910, "a")
            .use("extend", 900, 910, "b")
        )
        self.assertEqual(story.permit(1100, 1110, "c").broken(semaphores), ["limits hold"])

    def test_too_many_by_a_failover(self):
        story = SemaphoreStory().fault(5, 8, can_lose=True).permit(0, 10, "a").permit(20, 30, "b").permit(40, 50, "c")
        self.assertEqual(story.broken(semaphores), [])

    def test_gone_too_soon(self):
        self.assertEqual(
            SemaphoreStory().permit(0, 10, "a").use("release", 500, 510, "a", 410).broken(semaphores),
            ["held for its time"],
        )

    def test_one_key_two_permits(self):
        self.assertEqual(
            SemaphoreStory().permit(0, 10, "a", op=7).permit(20, 30, "b", op=7).broken(semaphores),
            ["one key, one effect"],
        )

    def test_repeated(self):
        story = SemaphoreStory().permit(0, 10, "a", op=7).permit(100, 110, "a", op=7).use("release", 200, 210, "a", 204)
        self.assertEqual(story.broken(semaphores), [])
        self.assertEqual(story.permit(300, 310, "a", op=7).broken(semaphores), ["an ended grant is not reported"])


class CounterStory(Story):
    def add(self, start, end, value=None, effect=None, op=None):
        status = 200 if value else 503 if effect == "none" else 504
        return self.call(
            "counter.add",
            "c",
            start,
            end,
            status,
            {"n": 1},
            {"counters": {"n": value}} if value else {},
            op=op,
            effect=effect,
        )

    def final(self, value):
        return self.call("counter.final", "c", 9000, 9001, 200, None, {"counters": {"n": value}})


class Counters(unittest.TestCase):
    def test_between_accepted_and_unknown(self):
        for value, broken in ((0, ["counters"]), (1, []), (2, []), (3, ["counters"])):
            story = CounterStory().add(0, 1, 1).add(2, 3, effect="unknown").add(4, 5, effect="none").final(value)
            self.assertEqual(story.broken(counters), broken, value)

    def test_a_key_counts_once(self):
        story = CounterStory().add(0, 1, effect="unknown", op=7).add(2, 3, 1, op=7)
        self.assertEqual(story.final(1).broken(counters), [])
        self.assertEqual(story.final(2).broken(counters), ["counters"])

    def test_one_key_two_values(self):
        self.assertIn(
            "one key, one effect", CounterStory().add(0, 1, 1, op=7).add(2, 3, 2, op=7).final(2).broken(counters)
        )

    def test_falls_back(self):
        self.assertEqual(CounterStory().add(0, 1, 2).add(2, 3, 1).final(2).broken(counters), ["counters"])
        self.assertEqual(CounterStory().add(0, 3, 2).add(2, 4, 1).final(2).broken(counters), [])

    def test_loss_only_within_a_failover(self):
        self.assertEqual(CounterStory().add(0, 1, 1).fault(0, 5, can_lose=True).final(0).broken(counters), [])
        self.assertEqual(CounterStory().add(0, 1, 1).fault(2, 5, can_lose=True).final(0).broken(counters), ["counters"])


class Limits(unittest.TestCase):
    def takes(self, limit, moments):
        story = Story()
        for at in moments:
            story.call("limit.take", "k", at, at + 1, 200, limit, {"allowed": True})
        return story.broken(ratelimit)

    def test_sliding_window(self):
        limit = {"algorithm": "sliding_window", "limit": 2, "window_ms": 1000}
        self.assertEqual(self.takes(limit, (0, 500, 1001, 1502)), [])
        self.assertEqual(self.takes(limit, (0, 500, 900)), ["limits hold"])

    def test_fixed_window(self):
        limit = {"algorithm": "fixed_window", "limit": 2, "window_ms": 1000}
        self.assertEqual(self.takes(limit, (0, 990, 1010, 1020)), [])
        self.assertEqual(self.takes(limit, (0, 100, 200, 300, 400)), ["limits hold"])

    def test_gcra(self):
        limit = {"algorithm": "gcra", "limit": 10, "window_ms": 1000, "burst": 2}
        self.assertEqual(self.takes(limit, (0, 1, 100, 200, 300)), [])
        self.assertEqual(self.takes(limit, (0, 1, 2, 3)), ["limits hold"])

    def refused(self, waited, retry_after, retry_after_ms, story=None):
        return (
            (story or Story())
            .call(
                "limit.lone",
                "k",
                0,
                1,
                429,
                {"waited": waited},
                {"retry_after_ms": retry_after_ms},
                retry_after=retry_after,
            )
            .broken(ratelimit)
        )

    def test_retry_after(self):
        self.assertEqual(self.refused(False, "2", 1200), [])
        self.assertEqual(self.refused(False, "1", 1200), ["Retry-After is honest"])
        self.assertEqual(self.refused(True, "2", 1200), ["Retry-After is honest"])
        self.assertEqual(self.refused(True, "2", 1200, Story().fault(0, 5, can_lose=True)), [])


class SaleStory(Story):
    def __init__(self, **more):
        super().__init__(**more)
        self.call("sale.configure", "s", 0, 1, 201, {"stock": 3, "per_user": 2, "hold_ms": 1000})

    def claim(self, start, end, user, quantity, id, op=None):
        return self.call("sale.claim", "s", start, end, 201, {"user": user, "quantity": quantity}, {"claim": id}, op=op)

    def end(self, what, start, end, id, status=200, code=None):
        return self.call("sale." + what, "s", start, end, status, {"claim": id}, {"code": code})

    def final(self, confirmed, held=0):
        return self.call(
            "sale.final",
            "s",
            9000,
            9001,
            200,
            None,
            {"confirmed": confirmed, "held": held, "remaining": 3 - confirmed - held},
        )


class Sales(unittest.TestCase):
    def test_held_and_sold(self):
        story = (
            SaleStory()
            .claim(10, 11, "a", 2, "1")
            .end("confirm", 20, 21, "1")
            .claim(30, 31, "b", 1, "2")
            .claim(1040, 1041, "c", 1, "3")
        )
        self.assertEqual(story.final(2).broken(sales), [])

    def test_oversold(self):
        story = SaleStory().claim(10, 11, "a", 2, "1").end("confirm", 20, 21, "1").claim(30, 31, "b", 2, "2")
        self.assertEqual(story.final(2).broken(sales), ["never oversold"])

    def test_oversold_by_a_failover(self):
        story = SaleStory().claim(10, 11, "a", 2, "1").claim(30, 31, "b", 2, "2").fault(5, 15, can_lose=True)
        self.assertEqual(story.final(0).broken(sales), [])

    def test_more_than_a_user_may_have(self):
        self.assertEqual(
            SaleStory().claim(10, 11, "a", 2, "1").claim(12, 13, "a", 1, "2").final(0).broken(sales), ["never oversold"]
        )

    def test_released(self):
        story = SaleStory().claim(10, 11, "a", 2, "1").end("give_back", 20, 22, "1", 204).claim(21, 23, "a", 2, "2")
        self.assertEqual(story.final(0).broken(sales), [])

    def test_confirmed_too_late(self):
        self.assertEqual(
            SaleStory().claim(10, 11, "a", 1, "1").end("confirm", 1100, 1110, "1").final(1).broken(sales),
            ["a claim stands for its time"],
        )

    def test_gone_too_soon(self):
        self.assertEqual(
            SaleStory()
            .claim(10, 11, "a", 1, "1")
            .end("confirm", 500, 510, "1", 410, "claim_expired")
            .final(0)
            .broken(sales),
            ["a claim stands for its time"],
        )

    def test_books(self):
        sold = SaleStory().claim(10, 11, "a", 1, "1").end("confirm", 20, 21, "1")
        self.assertEqual(sold.final(0).broken(sales), ["books"])
        self.assertEqual(SaleStory().final(0, held=1).broken(sales), ["books"])

    def test_one_key_two_claims(self):
        story = SaleStory().claim(10, 11, "a", 1, "1", op=7).claim(20, 21, "a", 1, "2", op=7)
        self.assertEqual(story.final(0).broken(sales), ["one key, one effect"])


class All(unittest.TestCase):
    def test_how_long_a_failover_took(self):
        story = (
            Story(mode="sentinel")
            .call("a", "x", 0, 100, 200)
            .call("a", "x", 150, 200, 503)
            .call("a", "x", 1300, 1350, 200)
        )
        figures = story.fault(50, 2000, name="master killed").judged(answers).figures
        self.assertEqual(
            (figures["failovers survived"], figures["longest without an effect in a failover, ms"]), (1, 1250)
        )

    def test_too_little(self):
        self.assertEqual(Story().call("counter.add", "c", 0, 1, 200).broken(floor), ["enough happened"])

    def test_answers(self):
        self.assertEqual(Story().call("counter.add", "c", 0, 1, 500, got={}).broken(answers), ["answers"])
        self.assertEqual(Story().call("counter.add", "c", 0, 1, 503, got={}).broken(answers), ["answers"])
        self.assertEqual(Story().call("counter.add", "c", 0, 1, 503, got={}, retry_after="1").broken(answers), [])

    def test_late(self):
        late = Story().call("counter.add", "c", 0, 4000, 504, got={}, effect="unknown")
        self.assertEqual(late.broken(answers), ["answers in time"])

    def test_a_daemon_that_ended(self):
        story = Story()
        story.lines.append({"kind": "complaint", "name": "daemon-0", "what": "exit status 1 after SIGTERM"})
        self.assertEqual(story.broken(answers), ["stays up"])

    def test_a_long_iteration(self):
        story = Story()
        story.lines.append({"kind": "loop", "longest_iteration_us": 100000})
        self.assertEqual(story.broken(answers), [])
        story.lines.append({"kind": "loop", "longest_iteration_us": 100001})
        self.assertEqual(story.broken(answers), ["no iteration is long"])

    def test_guarantees_state_the_same(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/guarantees.md").read_text()
        for mode, text in STATED.items():
            self.assertTrue(f".** {text}" in " ".join(page.split()), mode)


if __name__ == "__main__":
    unittest.main()
