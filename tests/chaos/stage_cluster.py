"""A Cluster of three masters with a replica each, and the move of a slot from one master to
another.
"""
import subprocess
import time

from stage import GaveUp, free_port, redis, redis_server, wait_until
from stage_single import Proxies, Stage, caught_up, field

NODE_TIMEOUT_MS = 1000
KEYS_AT_ONCE = 100
NODE_OPTIONS = (
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    NODE_TIMEOUT_MS,
    "--cluster-replica-validity-factor",
    0,
    "--cluster-allow-replica-migration",
    "no",
    "--repl-diskless-sync-delay",
    0,
)


def must(server, *words):
    reply = redis(server.port, *words, timeout=5)
    if reply is None or isinstance(reply, str) and reply.split(" ")[0] in ("ERR", "IOERR", "NOKEY"):
        raise GaveUp(f"{server.name}: {' '.join(map(str, words[:4]))}: {reply}")
    return reply


class Cluster(Stage):
    def start_redis(self):
        ports = [free_port() for _ in range(6)]
        self.backs = Proxies(ports)
        for i, (port, announced) in enumerate(zip(ports, self.backs.ports)):
            bus = free_port()
            where = ("--cluster-port", bus, "--cluster-announce-port", announced, "--cluster-announce-bus-port", bus)
            self.servers.append(
                redis_server(f"redis-{i}", self.folder, port, *NODE_OPTIONS, *where, announced_port=announced)
            )
        for server in self.servers:
            server.start()
        for server in self.servers:
            server.wait_up()
        nodes = [f"127.0.0.1:{server.announced_port}" for server in self.servers]
        made = subprocess.run(
            ["redis-cli", "--cluster", "create", *nodes, "--cluster-replicas", "1", "--cluster-yes"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        if made.returncode:
            raise GaveUp(f"no Cluster: {made.stdout[-1000:]}")
        wait_until(self.redis_is_well, 30, "the Cluster")

    def redis_url(self, _):
        return "redis+cluster://" + ",".join(f"127.0.0.1:{server.announced_port}" for server in self.servers)

    def groups(self):
        """The groups (master, its replicas), as far as servers answer."""
        ids = {server: redis(server.port, "CLUSTER", "MYID") for server in self.servers if not server.is_stopped}
        lines = {
            line.split()[0]: line.split()
            for server in ids
            if ids[server]
            for line in (redis(server.port, "CLUSTER", "NODES") or "").splitlines()
            if "myself" in line
        }
        masters = [server for server in ids if ids[server] in lines and "master" in lines[ids[server]][2]]
        return [
            (master, [server for server in ids if ids[server] in lines and lines[ids[server]][3] == ids[master]])
            for master in masters
        ]

    def epoch(self):
        return sorted(master.name for master in wait_until(self.three_masters, 30, "three masters"))

    def redis_is_well(self):
        groups = self.groups()
        if len(groups) != 3 or any(len(replicas) != 1 for _, replicas in groups):
            return False
        for server in self.servers:
            info, nodes = redis(server.port, "CLUSTER", "INFO") or "", redis(server.port, "CLUSTER", "NODES") or "fail"
            if (
                "cluster_state:ok" not in info
                or "cluster_slots_ok:16384" not in info
                or "fail" in nodes
                or "handshake" in nodes
            ):
                return False
        return all(field(master, "role") == "master" and caught_up(master, replicas) for master, replicas in groups)

    def move_slot(self, key, rng, fails_over=False):
        """Moves the slot of a key, with all its keys, to another master. With `fails_over` the
        source's replica takes over when some or all keys have left. It serves the slot for a while,
        because it does not know of the move. The move then begins again from there.
        """
        slot = must(self.servers[0], "CLUSTER", "KEYSLOT", key)
        masters = wait_until(self.three_masters, 10, "three masters")
        source = next(master for master in masters if self.has_slot(master, slot))
        target = rng.choice([master for master in masters if master is not source])
        source_id, target_id = must(source, "CLUSTER", "MYID"), must(target, "CLUSTER", "MYID")
        must(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        must(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        if fails_over:
            keys = must(source, "CLUSTER", "GETKEYSINSLOT", slot, KEYS_AT_ONCE)
            self.move_keys(source, target, rng.sample(keys, rng.randint((len(keys) + 1) // 2, len(keys))))
            source = self.promote_replica_of(source)
            time.sleep(rng.uniform(0.2, 1.5))
            source_id = must(source, "CLUSTER", "MYID")
            must(target, "CLUSTER", "SETSLOT", slot, "NODE", source_id)  # this node knows no owner of the slot now
            must(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
            must(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
            masters = wait_until(self.three_masters, 10, "three masters")
        while keys := must(source, "CLUSTER", "GETKEYSINSLOT", slot, KEYS_AT_ONCE):
            self.move_keys(source, target, keys)
        for master in (target, source, *(m for m in masters if m not in (source, target))):
            must(master, "CLUSTER", "SETSLOT", slot, "NODE", target_id)

    @staticmethod
    def move_keys(source, target, keys):
        """Moves keys. It uses REPLACE, because after a failover both nodes may have a key."""
        if keys:
            address = ("127.0.0.1", target.port, "", 0, 2000)
            redis(source.port, "MIGRATE", *address, "REPLACE", "KEYS", *keys, timeout=5)

    def promote_replica_of(self, master):
        """Waits until the replica is the master, and returns it."""
        replica = next(replicas[0] for one, replicas in self.groups() if one is master)
        must(replica, "CLUSTER", "FAILOVER")
        wait_until(lambda: field(replica, "role") == "master", 10, "the failover")
        return replica

    def three_masters(self):
        masters = [master for master, _ in self.groups()]
        return masters if len(masters) == 3 else None

    @staticmethod
    def has_slot(master, slot):
        """Whether the master owns the slot. The node reports its slots as 7 or 0-5460; [7->-...] is
        a slot that moves.
        """
        own = next(line for line in must(master, "CLUSTER", "NODES").splitlines() if "myself" in line)
        ranges = [word.split("-") for word in own.split()[8:] if not word.startswith("[")]
        return any(int(few[0]) <= slot <= int(few[-1]) for few in ranges)
