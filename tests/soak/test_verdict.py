#!/usr/bin/env python3
"""Tests the verdicts of verdict.py on records of a few lines. Each bound can be broken, and nothing
that the machine or a fault explains breaks a bound.
"""
import copy
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import verdict  # noqa: E402

MIB = 1024 * 1024
STOPPED = {"name": "redis stopped", "start": 10.0, "end": 11.0, "explains": True}
FLUSHED = {"name": "scripts flushed", "start": 10.0, "end": 11.0, "explains": False}


def sample(at, resident=10 * MIB, stalls=0, stall_s=0.0, taken_s=0.0):
    return {
        "at": at,
        "resident": resident,
        "stalls": stalls,
        "stall_s": stall_s,
        "taken_s": taken_s,
        "longest_s": stall_s,
        "longest_cpu_s": 0.001,
    }


def error(sent, ended, status=503):
    return {"sent": sent, "ended": ended, "what": "locks/0", "status": status, "code": "redis_unavailable"}


def probe(ms, control_ms=0.3, kept_waiting_ms=0.0, ok=True):
    return {"at": 1.0, "ok": ok, "ms": ms, "control_ms": control_ms, "kept_waiting_ms": kept_waiting_ms}


class Bounds(unittest.TestCase):
    def test_memory(self):
        def is_flat(growth_a_second, base=10 * MIB):
            return verdict.memory([sample(at, base + growth_a_second * at) for at in range(100)], 0, 100)["is_flat"]

        self.assertTrue(is_flat(0))
        self.assertTrue(is_flat(-1000))
        self.assertTrue(is_flat(10000))
        self.assertFalse(is_flat(20000))  # more than a tenth
        self.assertFalse(is_flat(40000, 100 * MIB))  # more than 2 MiB

    def test_memory_of_the_warm_up_does_not_count(self):
        self.assertTrue(
            verdict.memory([sample(at, (1 if at < 20 else 10) * MIB) for at in range(100)], 0, 100)["is_flat"]
        )

    def test_errors(self):
        def unexplained(failed, *faults):
            return verdict.errors([failed], faults)["unexplained"]

        self.assertEqual(unexplained(error(10.5, 10.6), STOPPED), 0)
        self.assertEqual(unexplained(error(9.5, 10.1), STOPPED), 0)  # the request was in progress
        self.assertEqual(unexplained(error(12.9, 13.1), STOPPED), 0)
        self.assertEqual(unexplained(error(13.1, 13.2), STOPPED), 1)  # not recovered in time
        self.assertEqual(unexplained(error(9.1, 9.9), STOPPED), 1)
        self.assertEqual(unexplained(error(10.5, 10.6), FLUSHED), 1)
        self.assertEqual(unexplained(error(10.5, 10.6, status=500), STOPPED), 1)
        self.assertEqual(unexplained(error(10.5, 10.6, status=0), STOPPED), 1)

    def test_health(self):
        def misses(one):
            return verdict.health([probe(1), one])["misses"]

        self.assertEqual(misses(probe(99)), 0)
        self.assertEqual(misses(probe(150)), 1)
        self.assertEqual(misses(probe(1, ok=False)), 1)
        self.assertEqual(misses(probe(150, control_ms=80)), 0)  # the control server was slow, too
        self.assertEqual(misses(probe(150, kept_waiting_ms=60)), 0)  # others had the processors
        self.assertEqual(misses(probe(250, control_ms=80, kept_waiting_ms=60)), 1)

    def test_loop(self):
        def of_its_own(*samples):
            return verdict.loop([sample(0), *samples])["of_its_own"]

        self.assertEqual(of_its_own(sample(1)), 0)
        self.assertEqual(of_its_own(sample(1, stalls=1, stall_s=0.03)), 1)
        self.assertEqual(of_its_own(sample(1, stalls=1, stall_s=0.03, taken_s=0.02)), 0)
        self.assertEqual(of_its_own(sample(1, stalls=2, stall_s=0.2, taken_s=0.1)), 1)
        # The iteration began before the first sample.
        self.assertEqual(of_its_own(sample(0.1, taken_s=0.02), sample(0.2, stalls=1, stall_s=0.03, taken_s=0.02)), 0)
        self.assertEqual(
            of_its_own(
                sample(0.1, taken_s=0.02), sample(0.2, taken_s=0.02), sample(0.3, stalls=1, stall_s=0.03, taken_s=0.02)
            ),
            1,
        )

    def test_each_bound(self):
        good = {
            "seconds": 60,
            "rate": 100,
            "calls": {"locks": 6000},
            "faults": {"SIGHUP": 3},
            "complaints": [],
            "resident": {"is_flat": True, "grew": 0},
            "descriptors": {"before": 13, "after": 13},
            "errors": {"unexplained": 0},
            "health": {"misses": 0},
            "loop": {"longest_own_ms": 4.0, "of_its_own": 0},
        }
        self.assertEqual(verdict.broken(good), [])
        for path, bad in (
            (("resident", "is_flat"), False),
            (("descriptors", "after"), 14),
            (("errors", "unexplained"), 1),
            (("health", "misses"), 1),
            (("loop", "of_its_own"), 1),
            (("calls", "locks"), 4000),
            (("faults", "SIGHUP"), 2),
            (("complaints",), ["the prober has ended"]),
        ):
            changed = copy.deepcopy(good)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = bad
            self.assertEqual(len(verdict.broken(changed)), 1, path)


if __name__ == "__main__":
    unittest.main()
