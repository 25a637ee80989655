"""Reads per second from the primary, and from one and two replicas. The read is a search of the
farthest places, which costs Redis more than the daemon, so that Redis is the bottleneck.
"""
import random

from contest import Contest, Contestant, Goal
from environment import ask, expect, redis_cli, start_daemon, start_redis
from processes import wait_until
from wrk import wrk

MEMBERS, CHUNK = 10000, 1000
LONGITUDE, LATITUDE, WIDTH = 116, 40, 0.5
CENTRE = f"longitude={LONGITUDE + WIDTH / 2}&latitude={LATITUDE + WIDTH / 2}"
SEARCH = f"/geo/nearby?name=bench&{CENTRE}&radius=15&unit=km&limit=10&order=desc"


def fill(url):
    draw = random.Random(22)
    for at in range(0, MEMBERS, CHUNK):
        places = [
            {
                "member": f"m{at + i}",
                "longitude": LONGITUDE + draw.uniform(0, WIDTH),
                "latitude": LATITUDE + draw.uniform(0, WIDTH),
            }
            for i in range(CHUNK)
        ]
        ask("POST", f"{url}/geo/bench/members", {"members": places})


def start_replica(environment):
    replica = start_redis(environment.stage)
    redis_cli(replica, "REPLICAOF", "127.0.0.1", str(environment.redis.port))
    return replica


def usable(url):
    return sum(replica["error"] is None for replica in ask("GET", f"{url}/info")["redis"]["replicas"])


def searches(name, url, *services):
    found = ask("GET", url + SEARCH)["items"]
    expect(len(found) == 10, f"{name}: {found}")
    return Contestant(name, wrk(url + SEARCH, "fixed", "GET"), services)


def contest(environment):
    fill(environment.url)
    redis_cli(environment.redis, "CONFIG", "SET", "repl-diskless-sync-delay", "0")  # else it waits for more replicas
    contestants = [searches("the primary", environment.url, environment.daemon)]
    replicas = []
    for name in ("one replica", "two replicas"):
        replicas.append(start_replica(environment))
        addresses = ",".join(f"redis://127.0.0.1:{replica.port}" for replica in replicas)
        options = ("--read-from", "replica", "--redis-replicas", addresses)
        daemon = start_daemon(environment.stage, environment.redis, *options)
        url = f"http://127.0.0.1:{daemon.port}"
        wait_until(lambda: usable(url) == len(replicas))
        contestants.append(searches(name, url, daemon, *replicas))
    return Contest(
        "A read from replicas",
        "read",
        contestants,
        notes=["The CPU and memory of the service include those of the replicas."],
    )


def goals(contest):
    ratios = contest.ratios("rate", "two replicas", "the primary")
    return [Goal("Reads per second from two replicas, relative to the primary", ratios, at_least=1.5)]
