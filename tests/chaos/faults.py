"""What is done to a stage. A fault is a generator of (stage, rng): it yields once, as long as it lasts, and then makes good. Its
docstring is its name; `can_lose` tells that asynchronous replication may lose answered writes by it.
"""
import time

from processes import redis


def kill_redis(stage, rng):
    """redis killed"""
    server = rng.choice(stage.servers)
    server.kill()
    yield rng.uniform(0, 0.8)
    server.start()
    server.wait_up()


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
    daemon.wait_up()


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
    """Faults one after the other, each kind once before any comes again, with quiet between them."""

    def __init__(self, stage, mode, rng, recorder):
        self.stage, self.rng, self.recorder = stage, rng, recorder
        self.kinds, self.left = BY_MODE[mode], []

    def next_fault(self):
        if not self.left:
            self.left = list(self.kinds)
            self.rng.shuffle(self.left)
        return self.left.pop()

    def step(self):
        """One fault from its beginning to its end, and some quiet."""
        fault = self.next_fault()
        start_us = self.recorder.now_us()
        run = fault(self.stage, self.rng)
        time.sleep(next(run))
        for _ in run:
            raise AssertionError("a fault yields once")
        self.recorder.write("fault", name=fault.__doc__, start_us=start_us, end_us=self.recorder.now_us(),
                            can_lose=getattr(fault, "can_lose", False))
        time.sleep(self.rng.choice((0.1, 0.3, 1.5, 2.5)))
