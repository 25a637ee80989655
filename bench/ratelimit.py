"""A rate decision: POST /ratelimit beside the same script through webdis, nginx with Lua and
Fastify, and beside the usual library of Node.js programs. There are three lower bounds: floor.c for
a service, redis-benchmark for Redis, and GET /healthz for HTTP.
"""
import csv
import json
import pathlib
import subprocess

import peers
import cpu_floors
from contest import Contest, Contestant, Goal
from environment import ROOT, ask, expect, redis_cli, start_webdis
from processes import free_port
from wrk import CLIENTS, Load, wrk

PIPELINE = 32
LIMIT = {"limit": 1000000000, "window_ms": 60000, "cost": 1, "burst": 1000000000}  # every call is allowed
KEY = "p:limit:{bench}:@:gcra"
ARGUMENTS = [str(LIMIT[name]) for name in ("limit", "window_ms", "cost", "burst")] + ["ratelimit_gcra"]


def load_script(redis):
    source = (ROOT / "build" / "generated" / "lua" / "rate_limits.lua").read_text()
    return redis_cli(redis, "SCRIPT", "LOAD", source).strip()


def body():
    return json.dumps({"key": "bench"} | LIMIT)


def posts(name, url, service, note="", clients=CLIENTS):
    answer = ask("POST", url, json.loads(body()))
    expect(answer["allowed"] is True and answer["remaining"] > 0, f"{name}: {answer}")
    return Contestant(name, wrk(url, "fixed", "POST", body(), clients=clients), (service,), note)


def through_webdis(environment, sha, clients=CLIENTS):
    service = start_webdis(environment.stage, environment.redis)
    command = "/".join(["EVALSHA", sha, "1", KEY.replace("{", "%7b").replace("}", "%7d"), *ARGUMENTS])
    url = f"http://127.0.0.1:{service.port}/{command}"
    answer = ask("GET", url)
    expect(answer["EVALSHA"][0] == 1, f"webdis: {answer}")
    load = wrk(url, "fixed", "GET", clients=clients)
    return Contestant("webdis", load, (service,), "the same script, in the path of a GET")


def through_floor(environment, sha, clients=CLIENTS):
    program, port = environment.stage.folder / "floor", free_port()
    source = pathlib.Path(__file__).parent / "floor.c"
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", program, source], check=True)
    command = ["EVALSHA", sha, "1", KEY, *ARGUMENTS]
    service = environment.stage.start(program, port, environment.redis.port, *command, port=port)
    url = f"http://127.0.0.1:{port}/ratelimit"
    return posts("floor", url, service, "floor.c: the same script and body, no check, no header, no log", clients)


def through_nginx(environment, sha):
    port = free_port()
    config = (pathlib.Path(__file__).parent / "peers" / "nginx.conf").read_text()
    values = {"@FOLDER@": environment.stage.folder, "@PORT@": port, "@REDIS@": environment.redis.port, "@SHA@": sha}
    for name, value in values.items():
        config = config.replace(name, str(value))
    path = environment.stage.write("nginx.conf", config)
    service = environment.stage.start("nginx", "-c", path, "-e", environment.stage.folder / "nginx.log", port=port)
    return posts(
        "nginx + Lua", f"http://127.0.0.1:{port}/ratelimit", service, "lua-resty-redis, one worker, the same script"
    )


def through_fastify(environment, sha):
    port = free_port()
    service = peers.start_node(environment.stage, "fastify.mjs", port, environment.redis.port, sha, port=port)
    url = f"http://127.0.0.1:{port}"
    yield posts("Fastify + ioredis", f"{url}/ratelimit", service, "auto-pipelining, the same script")
    yield posts("Fastify + rate-limiter-flexible", f"{url}/flexible", service, "its own fixed window")


def redis_benchmark(redis, sha):
    rate = 20000

    def run(seconds):
        nonlocal rate
        command = [
            "redis-benchmark",
            "-p",
            redis.port,
            "-c",
            CLIENTS,
            "-P",
            PIPELINE,
            "-n",
            int(rate * seconds),
            "--csv",
            "--precision",
            "3",
            "EVALSHA",
            sha,
            "1",
            KEY,
            *ARGUMENTS,
        ]
        out = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout
        row = next(csv.DictReader(out.splitlines()))
        operations, rate = int(rate * seconds), float(row["rps"])
        return Load(
            operations, operations / rate, float(row["p50_latency_ms"]) * 1000, float(row["p99_latency_ms"]) * 1000
        )

    return Contestant(f"redis-benchmark -P {PIPELINE}", run, (), "the floor for Redis: no service at all")


def contest(environment):
    sha = load_script(environment.redis)
    healthz = wrk(f"{environment.url}/healthz", "fixed", "GET")
    contestants = [
        posts("patternd", f"{environment.url}/ratelimit", environment.daemon),
        through_webdis(environment, sha),
        through_floor(environment, sha),
        through_nginx(environment, sha),
        *through_fastify(environment, sha),
        redis_benchmark(environment.redis, sha),
        Contestant("patternd GET /healthz", healthz, (environment.daemon,), "the floor for HTTP: no Redis"),
    ]
    floors = cpu_floors.by_floor(environment.daemon, contestants[0].run, environment.stage.folder)
    shares = ", ".join(f"{floor} {share:.0f} %" for floor, share in (floors or {}).items())
    notes = [f"The CPU of patternd by floor: {shares}."] if shares else []
    return Contest("A rate decision", "decision", contestants, notes=notes)


def goals(contest):
    ratios = lambda key, other: contest.ratios(key, "patternd", other)
    return [
        Goal("CPU of POST /ratelimit, of webdis's", ratios("service_us", "webdis"), at_most=0.75),
        Goal("CPU of POST /ratelimit, of the floor's", ratios("service_us", "floor"), at_most=1.8),
        Goal(
            "CPU of POST /ratelimit, of Fastify's with ioredis",
            ratios("service_us", "Fastify + ioredis"),
            at_most=0.35,
            heading_for=0.25,
        ),
        Goal(
            "CPU of POST /ratelimit, of GET /healthz's",
            ratios("service_us", "patternd GET /healthz"),
            at_most=1.9,
            heading_for=1.5,
        ),
        Goal("throughput of POST /ratelimit, of webdis's", ratios("rate", "webdis"), at_least=1.15),
        Goal("p99 of POST /ratelimit, of webdis's", ratios("p99_ms", "webdis"), at_most=1.1),
        Goal(
            f"Redis CPU of POST /ratelimit, of redis-benchmark's with -P {PIPELINE}",
            ratios("redis_us", f"redis-benchmark -P {PIPELINE}"),
            at_most=1.2,
        ),
    ]
