"""A message is sent, received and acknowledged: patternd beside BullMQ, beanstalkd and a list. A
request has one or a hundred messages. There is one worker, or one worker per client.
"""
import json
import types
import urllib.parse

import peers
from contest import Contest, Contestant, Goal
from environment import ask, expect, start_webdis
from processes import free_port
from wrk import CLIENTS, wrk

BATCH = 100
BATCHING_CLIENTS = 8  # so 800 messages are in progress
ORDER = {"order": 15, "customer": "Ada Lovelace", "items": [{"sku": "A-1001", "pieces": 2}], "paid": True}
BODY = json.dumps(ORDER, separators=(",", ":"))
ONE_PROCESS = "one process that is client and worker, no HTTP"
NOTE = (
    "Each message was sent, received and acknowledged. A latency is the time of one request or call; for BullMQ it is the "
    "time of one add."
)


def try_turns(url):
    """Checks that a receive acknowledges the message of the receive before it."""
    queue = f"{url}/queues/tried"
    ask("POST", f"{queue}/messages", {"messages": [{"body": ORDER}, {"body": ORDER}]})
    receipt = ask("POST", f"{queue}/receive", {"settle": {}})["messages"][0]["receipt"]
    turn = ask("POST", f"{queue}/receive", {"settle": {"acknowledge": [receipt]}})
    expect(turn["messages"][0]["body"] == ORDER, f"patternd: {turn}")
    expect(turn["deliveries"] == [{"receipt": receipt, "outcome": "acknowledged"}], f"patternd: {turn}")
    expect(ask("GET", queue)["in_flight"] == 1, "patternd: settle")


def patternd(environment, clients, batch):
    try_turns(environment.url)
    load = wrk(environment.url, "queue_turns", str(batch), BODY, f"bench-{clients}-{batch}", clients=clients)
    note = "send, then a turn: 2 requests"
    return Contestant("patternd", load, (environment.daemon,), note)


def bullmq(environment, clients, batch, setup):
    concurrency = clients * batch if batch > 1 else clients
    service, run = peers.node_load(
        environment.stage, "bullmq.mjs", clients, batch, concurrency, setup, environment.redis.port, BODY
    )
    name = "BullMQ" if setup == "best" else "BullMQ, its defaults"
    options = ", done jobs removed, no lock renewal, no check for stalled jobs" if setup == "best" else ""
    calls = "add" if batch == 1 else "addBulk"
    return Contestant(name, run, (service,), f"{calls} and process, concurrency {concurrency}{options}; {ONE_PROCESS}")


def beanstalkd(environment, clients):
    port = free_port()
    server = environment.stage.start("beanstalkd", "-l", "127.0.0.1", "-p", port, port=port)
    client, run = peers.node_load(environment.stage, "beanstalkd.mjs", clients, port, BODY)
    return Contestant("beanstalkd", run, (server, client), "server and jackd, its client; no Redis")


def plain_list(environment, clients, batch):
    service, run = peers.node_load(environment.stage, "list.mjs", clients, batch, environment.redis.port, BODY)
    calls = "LPUSH, LMOVE, LREM" if batch == 1 else f"LPUSH, a pipeline of {batch} LMOVE, DEL"
    return Contestant("a list", run, (service,), f"{calls} by ioredis; no delay, no visibility timeout")


def webdis(environment):
    service = start_webdis(environment.stage, environment.redis)
    load = wrk(f"http://127.0.0.1:{service.port}", "list_triples", urllib.parse.quote(BODY, safe=""))
    return Contestant("a list through webdis", load, (service,), "LPUSH, LMOVE, LREM: 3 requests")


def contest(environment, title, clients, batch):
    contestants = [
        patternd(environment, clients, batch),
        bullmq(environment, clients, batch, "best"),
        bullmq(environment, clients, batch, "defaults"),
        plain_list(environment, clients, batch),
    ]
    if batch == 1:
        contestants.append(beanstalkd(environment, clients))
    if (clients, batch) == (CLIENTS, 1):
        contestants.append(webdis(environment))
    return Contest(title, "message", contestants, notes=[NOTE])


def goals(contest, clients, batch):
    if clients == 1:
        return []
    what = "messages, of BullMQ's" if batch == 1 else f"messages in batches of {batch}, of BullMQ's"
    return [Goal(what, contest.ratios("rate", "patternd", "BullMQ"), at_least=3 if batch == 1 else 8)]


def section(title, clients, batch):
    return types.SimpleNamespace(
        contest=lambda environment: contest(environment, title, clients, batch),
        goals=lambda result: goals(result, clients, batch),
    )


SECTIONS = {
    "queues": section("A message", CLIENTS, 1),
    "queues-one": section("A message by one worker", 1, 1),
    "queues-batched": section(f"A message of a batch of {BATCH}", BATCHING_CLIENTS, BATCH),
    "queues-batched-one": section(f"A message of a batch of {BATCH}, by one worker", 1, BATCH),
}
