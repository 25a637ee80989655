"""A lock is acquired and released: patternd beside etcd's HTTP gateway and node-redlock. Each of 64
clients has its own lock.
"""
import base64
import os
import pathlib

import peers
from contest import Contest, Contestant, Goal
from environment import ask, expect
from processes import free_port
from wrk import CLIENTS, wrk

LEASES = 256
ETCD = "etcd"
SHARED_MEMORY = pathlib.Path("/dev/shm")
ENOUGH_BYTES = 2**31


def patternd(environment):
    taken = ask("POST", f"{environment.url}/locks/tried", {"ttl_ms": 30000})
    expect(taken["holds"] == 1 and taken["fence"] > 0, f"patternd: {taken}")
    released = ask("DELETE", f"{environment.url}/locks/tried", headers={"Lock-Token": taken["token"]})
    expect(released["holds"] == 0, f"patternd: {released}")
    return Contestant("patternd", wrk(environment.url, "lock_pairs"), (environment.daemon,), "2 requests")


def start_etcd(stage, folder):
    port, peer = free_port(), free_port()
    client, peers_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    return stage.start(
        "etcd",
        "--data-dir",
        folder / "etcd",
        "--listen-client-urls",
        client,
        "--advertise-client-urls",
        client,
        "--listen-peer-urls",
        peers_url,
        "--initial-advertise-peer-urls",
        peers_url,
        "--initial-cluster",
        f"default={peers_url}",
        port=port,
    )


def etcd(environment, name, folder):
    service = start_etcd(environment.stage, folder)
    url = f"http://127.0.0.1:{service.port}"
    leases = [ask("POST", f"{url}/v3/lease/grant", {"TTL": 3600})["ID"] for _ in range(LEASES)]
    lock = base64.b64encode(b"tried").decode()
    taken = ask("POST", f"{url}/v3/lock/lock", {"name": lock, "lease": leases[0]})
    expect(base64.b64decode(taken["key"]).startswith(b"tried/"), f"etcd: {taken}")
    expect("revision" in ask("POST", f"{url}/v3/lock/unlock", {"key": taken["key"]})["header"], "etcd: unlock")
    return Contestant(name, wrk(url, "etcd_pairs", *leases), (service,), "2 requests to its HTTP gateway")


def redlock(environment):
    service, run = peers.node_load(environment.stage, "redlock.mjs", CLIENTS, environment.redis.port)
    return Contestant("node-redlock", run, (service,), "one process that is client and service, no HTTP, no fence")


def etcds(environment):
    """Unlike Redis here, etcd always stores its data. It is measured with its data on disk and, if
    there is room, in memory.
    """
    stage = environment.stage
    room = os.statvfs(SHARED_MEMORY) if SHARED_MEMORY.is_dir() else None
    yield etcd(environment, ETCD, stage.temporary_folder(stage.folder))
    if room and room.f_bavail * room.f_frsize > ENOUGH_BYTES:
        yield etcd(environment, "etcd, data in memory", stage.temporary_folder(SHARED_MEMORY))


def contest(environment):
    return Contest(
        "A lock",
        "pair",
        [patternd(environment), *etcds(environment), redlock(environment)],
        notes=[
            "A pair is one acquisition and one release. A latency is the time of one of the two. Redis keeps nothing on disk "
            "here; etcd always does."
        ],
    )


def goals(contest):
    redis = contest.ratios("redis_us", "patternd", "node-redlock")
    return [
        Goal("locks taken and released, of etcd's", contest.ratios("rate", "patternd", ETCD), at_least=4),
        Goal("Redis CPU of a lock taken and released, of node-redlock's", redis, at_most=4),
    ]
