"""Contestants do the same work and are measured in turn, in several rounds. So other load on the
machine affects every contestant, and ratios are taken within a round.
"""
import dataclasses
import statistics
import sys
from typing import Callable

from environment import expect
from processes import machine_busy_seconds

WARM_UP_S = 1


@dataclasses.dataclass
class Contestant:
    name: str
    run: Callable  # seconds -> Load
    services: tuple = ()  # the Processes whose CPU and memory count; none if the client connects to Redis itself
    note: str = ""


@dataclasses.dataclass
class Contest:
    """`rounds[i][name]` has the measurements of that contestant in round i."""

    title: str
    unit: str
    contestants: list
    rounds: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)
    names: list = dataclasses.field(default_factory=list)  # (name, note) of each, in a run from a file
    others_cpu: float = 0.0  # how many cores other programs used

    def described(self):
        """The contestants' names and notes."""
        return self.names or [(c.name, c.note) for c in self.contestants]

    def median(self, name, key):
        values = [r[name][key] for r in self.rounds if r[name][key] is not None]
        return statistics.median(values) if values else None

    def ratios(self, key, one, other):
        """The ratio of each round, or None if one of the two did not take part."""
        if not all(name in self.rounds[0] for name in (one, other)):
            return None
        return [r[one][key] / r[other][key] for r in self.rounds]

    def run(self, redis, seconds, rounds, warm_up=True):
        for contestant in self.contestants if warm_up else ():
            contestant.run(WARM_UP_S)
        busy = ours = spent = 0
        for number in range(rounds):
            self.rounds.append({})
            for contestant in self.contestants:
                begun = machine_busy_seconds()
                sample, used = measure(contestant, redis, seconds)
                busy, ours, spent = busy + machine_busy_seconds() - begun, ours + used, spent + sample["seconds"]
                self.rounds[-1][contestant.name] = sample
                print(f"  {number + 1}/{rounds} {contestant.name}: {sample['rate']:.0f}/s", file=sys.stderr, flush=True)
        self.others_cpu = max(0, busy - ours) / spent
        return self


def measure(contestant, redis, seconds):
    """Returns a sample, and the CPU seconds of all processes that took part."""
    services = contestant.services
    cpu = lambda: (sum(service.cpu_seconds() for service in services), redis.cpu_seconds())
    before = cpu()
    load = contestant.run(seconds)
    expect(load.operations > 0, contestant.name)
    service, in_redis = (after - b for after, b in zip(cpu(), before))
    return {
        "operations": load.operations,
        "seconds": load.seconds,
        "rate": load.operations / load.seconds,
        "p50_ms": load.p50_us / 1000,
        "p99_ms": load.p99_us / 1000,
        "service_us": service / load.operations * 1e6 if services else None,
        "redis_us": in_redis / load.operations * 1e6,
        "mib": sum(service.resident_mib() for service in services) if services else None,
        "generator_cpu": load.cpu_s / load.seconds,
    }, service + in_redis + load.cpu_s


@dataclasses.dataclass
class Goal:
    """A figure that patternd promises. If there are several values, one per round, the median
    counts.
    """

    what: str
    values: list
    at_most: float = None
    at_least: float = None
    heading_for: float = None
    unit: str = ""

    def measured(self):
        return statistics.median(self.values) if self.values else None

    def met(self):
        """Whether the goal is met; None if it was not measured."""
        if not self.values:
            return None
        return self.measured() <= self.at_most if self.at_most is not None else self.measured() >= self.at_least
