"""A message, sent, received and acknowledged: patternd beside BullMQ, beanstalkd and a list through
webdis; one message a request, and a hundred."""
import json
import urllib.parse

import peers
from contest import Contest, Contestant, Goal
from environment import ask, expect, start_webdis
from processes import free_port
from wrk import CLIENTS, wrk

BATCH = 100
BATCHING_CLIENTS = 8  # 800 messages are under way then
ORDER = {"order": 15, "customer": "Ada Lovelace", "items": [{"sku": "A-1001", "pieces": 2}], "paid": True}
BODY = json.dumps(ORDER, separators=(",", ":"))
ONE_PROCESS = "one process that is client and worker, no HTTP"


def clients(batch):
    return CLIENTS if batch == 1 else BATCHING_CLIENTS


def described(note, batch):
    return note if batch == 1 else f"{note}; {BATCHING_CLIENTS} clients"


def patternd(environment, batch):
    queue = f"{environment.url}/queues/tried"
    ask("POST", f"{queue}/messages", {"body": ORDER})
    message = ask("POST", f"{queue}/receive", {"limit": 1})["messages"][0]
    expect(message["body"] == ORDER, f"patternd: {message}")
    ask("DELETE", f"{queue}/deliveries/{message['receipt']}")
    expect(ask("GET", queue)["in_flight"] == 0, "patternd: acknowledge")
    name = "patternd" if batch == 1 else f"patternd, {batch} a request"
    load = wrk(environment.url, "queue_triples", str(batch), BODY, "bench", clients=clients(batch))
    return Contestant(name, load, (environment.daemon,), described("3 requests", batch))


def bullmq(environment, batch):
    service, run = peers.node_load(environment.stage, "bullmq.mjs", clients(batch), batch, environment.redis.port, BODY)
    name = "BullMQ" if batch == 1 else f"BullMQ, {batch} a call"
    calls = "add and process, " if batch == 1 else "addBulk and process, "
    return Contestant(name, run, (service,), described(calls + ONE_PROCESS, batch))


def beanstalkd(environment):
    port = free_port()
    server = environment.stage.start("beanstalkd", "-l", "127.0.0.1", "-p", port, port=port)
    client, run = peers.node_load(environment.stage, "beanstalkd.mjs", CLIENTS, port, BODY)
    return Contestant("beanstalkd", run, (server, client), "server and jackd, its client; no Redis")


def webdis(environment):
    service = start_webdis(environment.stage, environment.redis)
    load = wrk(f"http://127.0.0.1:{service.port}", "list_triples", urllib.parse.quote(BODY, safe=""))
    return Contestant(
        "a list through webdis", load, (service,), "LPUSH, LMOVE, LREM: 3 requests; no delay, no time of visibility"
    )


def contest(environment):
    contestants = [
        patternd(environment, 1),
        bullmq(environment, 1),
        beanstalkd(environment),
        webdis(environment),
        patternd(environment, BATCH),
        bullmq(environment, BATCH),
    ]
    return Contest(
        "A message",
        "message",
        contestants,
        notes=["Sent, received and acknowledged; latencies are of one request or call, of BullMQ's of adding."],
    )


def goals(contest):
    batched = f"patternd, {BATCH} a request", f"BullMQ, {BATCH} a call"
    return [
        Goal("messages, of BullMQ's", contest.ratios("rate", "patternd", "BullMQ"), at_least=3),
        Goal(f"messages in batches of {BATCH}, of BullMQ's", contest.ratios("rate", *batched), at_least=8),
    ]
