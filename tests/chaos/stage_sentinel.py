"""A master and two replicas that three Sentinels watch. Each server has a configuration file that
Sentinels rewrite, so that a restarted server has its latest role.
"""
import pathlib

from stage import DURABLE, REDIS_SERVER, Process, free_port, redis, redis_answers
from stage_single import Proxies, Stage, caught_up, field

PATIENCE_MS, FAILOVER_TIMEOUT_MS, QUORUM = 500, 3000, 2


class Sentinel(Stage):
    def start_redis(self):
        self.watchers = []
        ports = [free_port() for _ in range(3)]
        self.backs = Proxies(ports)
        self.servers = [self.server(i, port, told) for i, (port, told) in enumerate(zip(ports, self.backs.ports))]
        for server in self.servers:
            server.start()
        for server in self.servers:
            server.wait_up()
        ports = [free_port() for _ in range(3)]
        for i, port in enumerate(ports):
            self.watchers.append(self.watcher(i, port, ports))
            self.watchers[i].start()
        for watcher in self.watchers:
            watcher.wait_up()
            # The Sentinel asks each server twice per second instead of every ten seconds, and
            # tolerates a machine that stalls.
            redis(
                watcher.port,
                "SENTINEL",
                "DEBUG",
                "info-period",
                500,
                "publish-period",
                800,
                "ask-period",
                100,
                "tilt-trigger",
                10000,
            )

    def server(self, i, port, announced_port):
        home = pathlib.Path(self.folder, f"redis-{i}")
        home.mkdir()
        options = " ".join(option if option else '""' for option in DURABLE).replace(" --", "\n").removeprefix("--")
        config = home / "redis.conf"
        role = f"replicaof 127.0.0.1 {self.backs.ports[0]}\n" if i else ""
        config.write_text(
            f"port {port}\ndir {home}\nreplica-announce-port {announced_port}\nrepl-diskless-sync-delay 0\n{options}\n{role}"
        )
        return Process(
            home.name, self.folder, port, (REDIS_SERVER, config), redis_answers, announced_port=announced_port
        )

    def watcher(self, i, port, ports):
        home = pathlib.Path(self.folder, f"sentinel-{i}")
        home.mkdir()
        lines = [
            f"port {port}",
            f"dir {home}",
            "bind 127.0.0.1",
            f"sentinel myid {i:040x}",
            f"sentinel monitor mymaster 127.0.0.1 {self.servers[0].announced_port} {QUORUM}",
            f"sentinel down-after-milliseconds mymaster {PATIENCE_MS}",
            f"sentinel failover-timeout mymaster {FAILOVER_TIMEOUT_MS}",
        ]
        lines += [f"sentinel known-replica mymaster 127.0.0.1 {server.announced_port}" for server in self.servers[1:]]
        lines += [
            f"sentinel known-sentinel mymaster 127.0.0.1 {other} {k:040x}" for k, other in enumerate(ports) if k != i
        ]
        config = home / "sentinel.conf"
        config.write_text("\n".join(lines) + "\n")
        return Process(home.name, self.folder, port, (REDIS_SERVER, config, "--sentinel"), redis_answers)

    def redis_url(self, _):
        return "redis+sentinel://" + ",".join(f"127.0.0.1:{watcher.port}" for watcher in self.watchers) + "/mymaster"

    def processes(self):
        return [*super().processes(), *self.watchers]

    def master_named_by(self, watcher):
        address = redis(watcher.port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")
        return next(
            (
                server
                for server in self.servers
                if isinstance(address, list) and str(server.announced_port) == address[1]
            ),
            None,
        )

    def groups(self):
        """The group (master, its replicas), as the first Sentinel that answers reports it."""
        for watcher in self.watchers:
            master = not watcher.is_stopped and self.master_named_by(watcher)
            if master:
                return [(master, [server for server in self.servers if server is not master])]
        return [(self.servers[0], self.servers[1:])]

    def epoch(self):
        told = [redis(watcher.port, "SENTINEL", "MASTER", "mymaster") for watcher in self.watchers]
        return max(int(of[of.index("config-epoch") + 1]) for of in told if isinstance(of, list))

    def redis_is_well(self):
        master = self.master_named_by(self.watchers[0])
        if not master or field(master, "role") != "master":
            return False
        if any(self.master_named_by(watcher) is not master for watcher in self.watchers):
            return False
        told = redis(self.watchers[0].port, "SENTINEL", "MASTER", "mymaster")
        if told[told.index("flags") + 1] != "master":
            return False
        return caught_up(master, [server for server in self.servers if server is not master])
