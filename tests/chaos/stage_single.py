"""The stage that a run harms: the daemons and their Redis. Each daemon is behind a proxy that harms
the connections of its callers. Redis is one server with a proxy for each daemon (`single`), a
master and replicas with Sentinels (`sentinel`), or a Cluster (`cluster`). In the last two each
server is behind a proxy, and all others know the server by the address of that proxy.
"""
import glob
import subprocess
import urllib.request

from stage import BUILD, GaveUp, Process, free_port, is_ready, redis, redis_answers, redis_server, wait_until

CLOCKS = (None, "+1h", "-1h")  # of the daemons: a wrong clock must not matter
DAEMONS = len(CLOCKS)


def wrong_clock(off):
    """The environment variables that shift a program's clock by hours. The monotonic clock, which
    deadlines use, stays right.
    """
    library = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    if off and not library:
        raise GaveUp("libfaketime is missing (package faketime)")
    return {"LD_PRELOAD": library[0], "FAKETIME": off, "FAKETIME_DONT_FAKE_MONOTONIC": "1"} if off else {}


def field(server, name):
    """The value of a line of INFO replication."""
    info = redis(server.port, "INFO", "replication", timeout=1) or ""
    return next((line.split(":", 1)[1] for line in info.splitlines() if line.startswith(name + ":")), None)


def caught_up(master, replicas):
    """Whether the replicas have every write that the master had a moment ago."""
    had = field(master, "master_repl_offset")
    return had is not None and all(
        field(replica, "master_link_status") == "up"
        and field(replica, "master_port") == str(master.announced_port)
        and int(field(replica, "slave_repl_offset") or 0) >= int(had)
        for replica in replicas
    )


def longest_iteration_us(port):
    """The longest CPU time of one event-loop iteration of this daemon so far, 0 if the daemon does
    not report it. The time includes some that the host of a virtual machine took.
    """
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
    return round(
        float(text.partition("\npatternd_loop_longest_iteration_cpu_seconds ")[2].partition("\n")[0] or 0) * 1e6
    )


class Proxies:
    """Fault proxies (tests/programs/fault_proxy.c), one in front of each port."""

    def __init__(self, ports):
        self.child = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", BUILD / "tests" / "fault_proxy", *map(str, ports)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ports = [int(port) for port in self.child.stdout.readline().split()]
        self.busy = set()  # the proxies that have a fault

    def set(self, which, **faults):
        words = [f"{name}={value}" for name, value in faults.items()]
        self.child.stdin.write(" ".join([str(which), *words]) + "\n")
        self.child.stdin.flush()
        if self.child.stdout.readline() != "ok\n":
            raise GaveUp("the fault proxy has ended")

    def close(self):
        self.child.stdin.close()
        self.child.wait()


class Stage:
    """The daemons of a run. A subclass for each mode starts their Redis."""

    def __init__(self, folder, programs):
        self.folder, self.programs = folder, programs
        self.daemons, self.fronts, self.backs = [], None, None
        self.servers = []
        self.complaints = []  # of daemons: (the daemon, what it did wrong)
        self.longest_iteration_us = 0

    def start(self):
        self.start_redis()
        for i, off in enumerate(CLOCKS):
            port = free_port()
            command = (
                self.programs[i % len(self.programs)],
                "--listen",
                f"127.0.0.1:{port}",
                "--redis",
                self.redis_url(i),
                "--log-level",
                "warn",
            )
            self.daemons.append(Process(f"daemon-{i}", self.folder, port, command, is_ready, wrong_clock(off)))
        for process in self.daemons:
            process.start()
        for process in self.daemons:
            process.wait_up()
        self.fronts = Proxies([process.port for process in self.daemons])

    def start_again(self, daemon):
        """Restarts the daemon as the next one of the programs. With two programs this is a rolling
        update, and then its rollback.
        """
        at = [str(program) for program in self.programs].index(daemon.command[0])
        daemon.command[0] = str(self.programs[(at + 1) % len(self.programs)])
        daemon.start()

    def processes(self):
        return [*self.daemons, *self.servers]

    def close(self):
        for process in self.processes():
            process.kill()
        for proxies in (self.fronts, self.backs):
            if proxies:
                proxies.close()

    def revive(self):
        """Starts the daemons that have ended by themselves, and reports them."""
        for process in self.daemons:
            if process.has_ended():
                self.complaints.append((process, process.log_path.read_text(errors="replace")[-2000:]))
                process.kill()
                process.start()

    def wait_well(self):
        self.revive()
        for server in self.servers:
            wait_until(
                lambda: redis(server.port, "CONFIG", "SET", "maxmemory", 0, "min-replicas-to-write", 0) == "OK",
                30,
                server.name,
            )
        wait_until(self.redis_is_well, 30, "Redis to be well")
        for process in self.daemons:
            process.wait_up()
            self.longest_iteration_us = max(self.longest_iteration_us, longest_iteration_us(process.port))


class Single(Stage):
    """One server, with one proxy for each daemon."""

    def groups(self):
        return [(self.servers[0], [])]

    def epoch(self):
        """A value that changes with each failover."""
        return 0

    def start_redis(self):
        self.servers = [redis_server("redis", self.folder, free_port())]
        self.servers[0].start()
        self.servers[0].wait_up()
        self.backs = Proxies([self.servers[0].port] * DAEMONS)

    def redis_url(self, i):
        return f"redis://127.0.0.1:{self.backs.ports[i]}/0"

    def redis_is_well(self):
        return redis_answers(self.servers[0].port)
