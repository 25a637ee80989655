"""The faults of a stage. A fault is a generator of (stage, rng). It harms the stage, yields once
how many seconds it lasts, and then repairs the stage. Its docstring is its name. `can_lose` means
that asynchronous replication may lose answered writes because of it. A storm has several faults,
and after each storm the stage recovers.
"""
import signal
import time

from stage import redis, wait_until

DRAIN_S = 12  # --drain-ms is five seconds
UNNOTICED_US = 2000000  # how long a failover may be under way before it is seen


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


# Failovers. The replicas may not have the latest writes that the master has answered.


def some_group(stage, rng):
    """A master and its replicas."""
    return rng.choice(wait_until(stage.groups, 10, "a master"))


def kill_master(stage, rng):
    """master killed"""
    master, _ = some_group(stage, rng)
    master.kill()
    yield rng.uniform(1, 3)
    master.start()


def stop_master(stage, rng):
    """master stopped"""
    master, _ = some_group(stage, rng)
    master.stop()
    yield rng.uniform(1, 3)
    master.go_on()


def fail_over_behind(stage, rng):
    """master killed, replicas behind"""
    master, replicas = some_group(stage, rng)
    for replica in replicas:
        replica.stop()
    redis(master.port, "CLIENT", "KILL", "TYPE", "replica", timeout=0.5)
    time.sleep(rng.uniform(0.05, 0.3))  # writes are answered that no replica has
    master.kill()
    for replica in replicas:
        replica.go_on()
    yield rng.uniform(1, 3)
    master.start()


def hand_over_sentinel(stage, rng):
    """failover asked for"""
    redis(rng.choice(stage.watchers).port, "SENTINEL", "FAILOVER", "mymaster", timeout=0.5)
    yield rng.uniform(0.5, 2)


def hand_over_cluster(stage, rng):
    """failover asked for"""
    _, replicas = some_group(stage, rng)
    for replica in replicas:
        redis(replica.port, "CLUSTER", "FAILOVER", timeout=0.5)
    yield rng.uniform(0.5, 2)


for failover in (kill_master, stop_master, fail_over_behind, hand_over_sentinel):
    failover.can_lose = True
hand_over_cluster.can_lose = False  # the old master pauses its clients until the new one has all writes


def kill_replica(stage, rng):
    """replica killed"""
    _, replicas = some_group(stage, rng)
    for replica in replicas[:1]:
        replica.kill()
    yield rng.uniform(0, 0.5)
    for replica in replicas[:1]:
        replica.start()


def kill_watcher(stage, rng):
    """sentinel killed"""
    watcher = rng.choice(stage.watchers)
    watcher.kill()
    yield rng.uniform(0, 1)
    watcher.start()


def move_slot(stage, rng):
    """slot moved"""
    stage.move_slot(rng.choice(SOME_KEYS), rng)
    yield 0


move_slot.is_alone = True  # a failover during the move loses keys: see fail_over_moving
SOME_KEYS = (
    "p:lock:{lock-0}",
    "p:lock:{awaited}",
    "p:queue:{queue-0}",
    "p:queue:{queue-awaited}",
    "p:counter:{plain-0}",
    "p:counter:{keyed-0}",
    "p:limit:{shared-gcra}",
)


SOME_LOCKS = ("lock-0", "lock-1", "lock-2", "awaited")  # fences show which writes a failover lost


def fail_over_moving(stage, rng):
    """failover while a slot moves"""
    name = rng.choice(SOME_LOCKS)
    fail_over_moving.can_lose_of = name
    stage.move_slot(f"p:lock:{{{name}}}", rng, fails_over=True)
    yield 0


fail_over_moving.is_alone = fail_over_moving.can_lose = True


def kill_daemon(stage, rng):
    """daemon killed"""
    daemon = rng.choice(stage.daemons)
    daemon.kill()
    yield rng.uniform(0, 0.5)
    stage.start_again(daemon)


def stop_daemon(stage, rng):
    """daemon stopped"""
    daemon = rng.choice(stage.daemons)
    daemon.stop()
    yield rng.uniform(0.1, 1.5)
    daemon.go_on()


def drain_daemon(stage, rng):
    """daemon drained"""
    daemon = rng.choice(stage.daemons)
    status = daemon.end(DRAIN_S)
    if status:
        stage.complaints.append((daemon, f"exit status {status} after SIGTERM"))
    yield rng.uniform(0, 0.3)
    stage.start_again(daemon)


def reload_daemon(stage, rng):
    """daemon rereads its files"""
    daemon = rng.choice(stage.daemons)
    daemon.send_signal(signal.SIGHUP)
    yield 0


def configured(name, setting, wrong):
    """Returns a fault that gives every server a wrong setting, so that Redis refuses writes until
    the stage recovers.
    """

    def fault(stage, rng):
        for server in stage.servers:
            redis(server.port, "CONFIG", "SET", setting, wrong, timeout=0.1)
        yield rng.uniform(0.1, 0.8)

    fault.__doc__ = name
    return fault


def flush_scripts(stage, rng):
    """scripts flushed"""
    until = time.monotonic() + rng.uniform(0.1, 0.8)
    while time.monotonic() < until:
        for server in stage.servers:
            redis(server.port, "SCRIPT", "FLUSH", timeout=0.1)
        time.sleep(0.01)
    yield 0


def kill_connections(stage, rng):
    """connections to redis killed"""
    for _ in range(rng.randrange(1, 8)):
        for server in stage.servers:
            redis(server.port, "CLIENT", "KILL", "TYPE", "normal", timeout=0.1)
            redis(server.port, "CLIENT", "KILL", "TYPE", "pubsub", timeout=0.1)
        time.sleep(0.05)
    yield 0


PROXY_FAULTS = {  # a function is called to get the setting of each fault
    "latency": {"delay_ms": lambda rng: rng.choice((20, 100, 400))},
    "requests vanish": {"drop_up": 1},
    "replies vanish": {"drop_down": 1},
    "cut after the request": {"cut": 1},
    "cut in a reply": {"cut": 1, "cut_at": lambda rng: rng.randrange(1, 600)},
    "slices": {"slice": lambda rng: rng.choice((1, 3, 17))},
    "injected bytes": {"before": "what?"},
    "reset": {"reset": 1},
    "refused": {"refuse": 1},
    "bandwidth": {"bytes_per_second": lambda rng: rng.choice((3000, 20000))},
}


def proxy_fault(where, name, given, can_lose):
    def fault(stage, rng):
        proxies = getattr(stage, where)
        free = sorted(set(range(len(proxies.ports))) - proxies.busy)
        if not free:  # a second fault would end the first
            return
        which = rng.choice(free)
        proxies.busy.add(which)
        proxies.set(which, **{key: value(rng) if callable(value) else value for key, value in given.items()})
        yield rng.uniform(0.2, 1.5)
        proxies.set(which)
        proxies.busy.remove(which)

    fault.__doc__ = f"{name}, {'callers' if where == 'fronts' else 'redis'}"
    fault.can_lose = can_lose
    return fault


def proxy_faults(where, can_lose=False):
    """Returns a fault of the proxies before the daemons ('fronts') or before Redis ('backs')."""
    return [proxy_fault(where, name, given, can_lose) for name, given in PROXY_FAULTS.items()]


DAEMONS = [kill_daemon, stop_daemon, drain_daemon, reload_daemon, *proxy_faults("fronts")]
SERVERS = [
    flush_scripts,
    configured("redis full", "maxmemory", 1),
    configured("too few replicas", "min-replicas-to-write", 9),
]
FAILOVERS = [kill_master, stop_master, fail_over_behind, kill_replica]
# For each mode: the faults of the daemons and their callers, of the servers, and of the connections
# between them.
BY_MODE = {
    "single": (DAEMONS, [*SERVERS, kill_redis, kill_redis, stop_redis], [kill_connections, *proxy_faults("backs")]),
    "sentinel": (
        DAEMONS,
        [*SERVERS, *FAILOVERS, hand_over_sentinel, kill_watcher],
        [kill_connections, *proxy_faults("backs", can_lose=True)],
    ),
    "cluster": (
        DAEMONS,
        [*SERVERS, *FAILOVERS, hand_over_cluster, move_slot, move_slot, move_slot, fail_over_moving],
        [kill_connections, *proxy_faults("backs", can_lose=True)],
    ),
}


class Deck:
    """A deck of faults: each is drawn once before any is drawn again."""

    def __init__(self, faults, rng):
        self.faults, self.rng, self.left = faults, rng, []

    def draw(self):
        if not self.left:
            self.left = list(self.faults)
            self.rng.shuffle(self.left)
        return self.left.pop()

    def put_back(self, fault):
        self.left.append(fault)


class Schedule:
    """Runs storms, with quiet between them."""

    def __init__(self, stage, mode, rng, recorder):
        self.stage, self.rng, self.recorder = stage, rng, recorder
        self.decks = [Deck(faults, rng) for faults in BY_MODE[mode]]
        self.epoch, self.well_us = stage.epoch(), recorder.now_us()

    def next_faults(self):
        """Draws some faults, or one fault that must be alone."""
        drawn = [(deck, deck.draw()) for deck in self.rng.choices(self.decks, k=self.rng.choice((1, 1, 2, 3, 4)))]
        alone = next((fault for _, fault in drawn if getattr(fault, "is_alone", False)), None)
        if not alone:
            return [fault for _, fault in drawn]
        for deck, fault in drawn:
            if fault is not alone:
                deck.put_back(fault)
        return [alone]

    def observe(self, since_us, is_expected):
        """Records a failover that no fault was meant to cause, as on a busy machine, or when
        connections of Sentinels were killed.
        """
        epoch = self.stage.epoch()
        if epoch != self.epoch and not is_expected:
            self.recorder.write(
                "fault",
                name="failover by itself",
                start_us=since_us - UNNOTICED_US,
                end_us=self.recorder.now_us(),
                can_lose=True,
            )
        self.epoch = epoch

    def storm(self):
        """Some faults begin together, each ends after its own time, and then the stage recovers. A
        failover may lose any write that was answered since the storm began, because the new master
        may have been stopped then.
        """
        began_us, courses = self.recorder.now_us(), []
        self.observe(self.well_us, is_expected=False)
        faults = []
        for fault in self.next_faults():
            course = fault(self.stage, self.rng)
            lasts = next(course, None)
            if lasts is not None:
                faults.append(fault)
                courses.append((time.monotonic() + lasts, course))
        for until, course in sorted(courses, key=lambda c: c[0]):
            time.sleep(max(0, until - time.monotonic()))
            for _ in course:
                raise AssertionError("a fault yields once")
        self.stage.wait_well()
        ended_us = self.well_us = self.recorder.now_us()
        self.observe(
            began_us,
            is_expected=any(getattr(fault, "can_lose", False) or fault is hand_over_cluster for fault in faults),
        )
        for fault in faults:
            self.recorder.write(
                "fault",
                name=fault.__doc__,
                start_us=began_us,
                end_us=ended_us,
                can_lose=getattr(fault, "can_lose", False),
                can_lose_of=getattr(fault, "can_lose_of", None),
            )

    def end(self):
        self.stage.wait_well()
        self.observe(self.well_us, is_expected=False)

    def step(self):
        self.storm()
        time.sleep(self.rng.choice((0.1, 0.1, 0.3, 1, 4)))
