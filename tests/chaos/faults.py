"""What is done to a stage. A fault is a generator of (stage, rng): it yields once, as long as it lasts, and then makes good. Its
docstring is its name; `can_lose` tells that asynchronous replication may lose answered writes by it. Several come in a storm,
and after each the stage gets well.
"""
import time

from processes import redis


def kill_redis(stage, rng):
    """redis killed"""
    server = rng.choice(stage.servers)
    server.kill()
    yield rng.uniform(0, 0.8)
    server.start()


def stop_redis(stage, rng):
    """redis stopped"""
    server = rng.choice(stage.servers)
    server.stop()
    yield rng.uniform(0.1, 1.8)
    server.go_on()


def kill_daemon(stage, rng):
    """daemon killed"""
    daemon = rng.choice(stage.daemons)
    daemon.kill()
    yield rng.uniform(0, 0.5)
    daemon.start()


def stop_daemon(stage, rng):
    """daemon stopped"""
    daemon = rng.choice(stage.daemons)
    daemon.stop()
    yield rng.uniform(0.1, 1.5)
    daemon.go_on()


def flush_scripts(stage, rng):
    """scripts flushed"""
    until = time.monotonic() + rng.uniform(0.1, 0.8)
    while time.monotonic() < until:
        for server in stage.servers:
            redis(server.port, "SCRIPT", "FLUSH")
        time.sleep(0.01)
    yield 0


def kill_connections(stage, rng):
    """connections to redis killed"""
    for _ in range(rng.randrange(1, 8)):
        for server in stage.servers:
            redis(server.port, "CLIENT", "KILL", "TYPE", "normal")
            redis(server.port, "CLIENT", "KILL", "TYPE", "pubsub")
        time.sleep(0.05)
    yield 0


def proxy_fault(where, name, **given):
    """A fault of the proxies before the daemons ('fronts') or behind them ('backs'); a function's value is drawn anew."""
    def fault(stage, rng):
        proxies = getattr(stage, where)
        which = rng.randrange(len(proxies.ports))
        proxies.set(which, **{key: value(rng) if callable(value) else value for key, value in given.items()})
        yield rng.uniform(0.2, 1.5)
        if given.keys() & {"drop_up", "drop_down"}:
            proxies.set(which, reset=1)  # no stream goes on with a hole in it
        proxies.set(which)
    fault.__doc__ = f"{name}, {'callers' if where == 'fronts' else 'redis'}"
    return fault


def proxy_faults(where):
    return [
        proxy_fault(where, "latency", delay_ms=lambda rng: rng.choice((20, 100, 400))),
        proxy_fault(where, "requests vanish", drop_up=1),
        proxy_fault(where, "replies vanish", drop_down=1),
        proxy_fault(where, "cut after the request", cut=1),
        proxy_fault(where, "cut in a reply", cut=1, cut_at=lambda rng: rng.randrange(1, 600)),
        proxy_fault(where, "slices", slice=lambda rng: rng.choice((1, 3, 17))),
        proxy_fault(where, "injected bytes", before="what?"),
        proxy_fault(where, "reset", reset=1),
        proxy_fault(where, "refused", refuse=1),
        proxy_fault(where, "bandwidth", bytes_per_second=lambda rng: rng.choice((3000, 20000))),
    ]


COMMON = [kill_daemon, stop_daemon, flush_scripts, kill_connections, *proxy_faults("fronts")]
BY_MODE = {"single": [*COMMON, kill_redis, kill_redis, stop_redis, *proxy_faults("backs")]}


class Schedule:
    """Storms, with quiet between them. Each kind of fault comes once before any comes again."""

    def __init__(self, stage, mode, rng, recorder):
        self.stage, self.rng, self.recorder = stage, rng, recorder
        self.kinds, self.left = BY_MODE[mode], []

    def next_fault(self):
        if not self.left:
            self.left = list(self.kinds)
            self.rng.shuffle(self.left)
        return self.left.pop()

    def storm(self):
        """Some faults that begin together, each ends in its time; then all gets well."""
        begun = []
        for fault in [self.next_fault() for _ in range(self.rng.choice((1, 1, 2, 3, 4)))]:
            start_us = self.recorder.now_us()
            course = fault(self.stage, self.rng)
            begun.append((time.monotonic() + next(course), course, fault, start_us))
        for until, course, _, _ in sorted(begun, key=lambda b: b[0]):
            time.sleep(max(0, until - time.monotonic()))
            for _ in course:
                raise AssertionError("a fault yields once")
        self.stage.wait_well()
        end_us = self.recorder.now_us()
        for _, _, fault, start_us in begun:
            self.recorder.write("fault", name=fault.__doc__, start_us=start_us, end_us=end_us,
                                can_lose=getattr(fault, "can_lose", False))

    def step(self):
        self.storm()
        time.sleep(self.rng.choice((0.1, 0.1, 0.3, 1, 4)))
