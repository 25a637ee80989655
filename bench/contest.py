"""Contestants that do the same work, measured in turn: several rounds interleaved, so that what the
machine does beside affects every contestant, and ratios are taken within a round."""
import dataclasses
import statistics
import sys
from typing import Callable

from processes import machine_busy_seconds

WARM_UP_S = 1


@dataclasses.dataclass
class Contestant:
    name: str
    run: Callable  # seconds -> Load
    services: tuple = ()  # the Processes whose CPU and memory count; none where Redis is asked directly
    note: str = ""


@dataclasses.dataclass
class Contest:
    """`rounds[i][name]` is what that contestant did in round i."""

    title: str
    unit: str
    contestants: list
    rounds: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)
    names: list = dataclasses.field(default_factory=list)  # and notes, of a run that was read again
    others_cpu: float = 0.0  # share of the machine that neither contestant, Redis nor generator used

    def described(self):
        """The contestants' names and notes."""
        return self.names or [(c.name, c.note) for c in self.contestants]

    def median(self, name, key):
        values = [r[name][key] for r in self.rounds if r[name][key] is not None]
        return statistics.median(values) if values else None

    def ratios(self, key, one, other):
        """Of each round; None when one of them did not take part."""
        if not all(name in self.rounds[0] for name in (one, other)):
            return None
        return [r[one][key] / r[other][key] for r in self.rounds]

    def run(self, redis, seconds, rounds):
        for contestant in self.contestants:
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
    """A sample, and the CPU seconds that all its processes used."""
    services = contestant.services
    cpu = lambda: (sum(service.cpu_seconds() for service in services), redis.cpu_seconds())
    before = cpu()
    load = contestant.run(seconds)
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
    """A figure that patternd promises; of several values, one a round, the median counts."""

    what: str
    values: list
    at_most: float = None
    at_least: float = None
    heading_for: float = None
    unit: str = ""

    def measured(self):
        return statistics.median(self.values) if self.values else None

    def met(self):
        """None: it was not measured."""
        if not self.values:
            return None
        return self.measured() <= self.at_most if self.at_most is not None else self.measured() >= self.at_least
