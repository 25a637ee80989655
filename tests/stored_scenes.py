"""The scenes of tests/test_stored.py. Together they make each kind of key that the daemon writes.

A scene has `writes`, which make the data, and `reads`, which are asked of the data alone. A request
is a tuple: a line "METHOD path", a body or None, and headers if there are some. "$token" is the
latest `token` of the answers before. A line that ends with " &" is a request that waits: the next
one follows once Redis has its place. "LATER n" moves Redis's clock by n ms.
"""
HOUR = 3600000
LARGE = "x" * 8300  # above SMALL of lua/queues/lib_queue.lua
NEW_YORK = {"cron": "30 9 * * mon-fri", "time_zone": "America/New_York"}


def send(queue, **message):
    return (f"POST /queues/{queue}/messages", {"body": {"for": message.get("id")}, **message})


def receive(queue, **options):
    ends = {} if "acknowledge" in options else {"visibility_ms": HOUR}
    return (f"POST /queues/{queue}/receive", ends | options)


def delivered(queue, **message):
    """A message in flight; its receipt is "$receipt"."""
    return [send(queue, priority=0, **message), receive(queue, worker="host 1")]


LOCKS = {
    "writes": [
        ("POST /locks/report", {"ttl_ms": HOUR, "owner": "worker-7", "metadata": {"job": "nightly"}}),
        ("POST /locks/report", {"ttl_ms": HOUR}, {"Lock-Token": "$token"}),
        ("POST /locks/shared", {"ttl_ms": HOUR, "mode": "shared", "owner": "one"}),
        ("POST /locks/shared", {"ttl_ms": 2 * HOUR, "mode": "shared"}),
        ("POST /locks", {"names": ["stock", "till"], "ttl_ms": HOUR}),
        ("POST /fences/printer", {"fence": 1795219450378210}),
        ("POST /locks/released", {"ttl_ms": HOUR}),
        ("DELETE /locks/released", None, {"Lock-Token": "$token"}),  # at last: its name may be swept
    ],
    "reads": [
        ("GET /locks", None),
        ("GET /locks/report", None),
        ("GET /locks/shared", None),
        ("GET /locks/released", None),
        ("DELETE /locks/released", None, {"Lock-Token": "$token"}),
        ("POST /locks/shared", {"ttl_ms": HOUR, "mode": "shared"}),
        ("POST /locks/report", {"ttl_ms": HOUR}),
        ("POST /locks/released", {"ttl_ms": HOUR}),
        ("GET /fences/printer", None),
        ("POST /fences/printer", {"fence": 1795219450378209}),
    ],
}

SEMAPHORES = {
    "writes": [
        ("POST /semaphores/render/permits", {"limit": 2, "ttl_ms": HOUR, "owner": "worker-7"}),
        ("POST /semaphores/render/permits", {"limit": 2, "ttl_ms": HOUR}),
    ],
    "reads": [
        ("GET /semaphores", None),
        ("GET /semaphores/render", None),
        ("POST /semaphores/render/permits", {"limit": 2}),
        ("POST /semaphores/render/permits/$permit/extend", {"ttl_ms": 2 * HOUR}),
        ("DELETE /semaphores/render/permits/$permit", None),
        ("GET /semaphores/render", None),
    ],
}

QUEUES = {
    "writes": [
        ("PUT /queues/jobs", {"visibility_ms": 60000, "backoff": {"base_ms": 500, "max_ms": HOUR}, "result_ms": HOUR}),
        *delivered("jobs", id="extended"),
        ("POST /queues/jobs/deliveries/$receipt/extend", {"progress": {"percent": 40, "note": "page 4 of 10"}}),
        *delivered("jobs", id="followed"),
        send("jobs", id="followed", on_duplicate="after", delay_ms=1000),
        *delivered("jobs", id="cancelled"),
        ("DELETE /queues/jobs/messages/cancelled?in_flight=true", None),
        *delivered("jobs", id="acknowledged"),
        ("DELETE /queues/jobs/deliveries/$receipt", None),
        *delivered("jobs", id="completed"),
        ("POST /queues/jobs/settle", {"complete": [{"receipt": "$receipt", "result": {"closed": True}}]}),
        *delivered("jobs", id="returned"),
        ("POST /queues/jobs/deliveries/$receipt/reject", {"delay_ms": HOUR, "reason": "the gateway is down"}),
        *delivered("jobs", id="dead", headers={"tenant": "acme"}),
        ("POST /queues/jobs/deliveries/$receipt/reject", {"dead": True, "reason": "no such order"}),
        send("jobs", id="plain", headers={"tenant": "acme"}),
        send("jobs", id="large", body=LARGE),
        send("jobs", id="delayed", delay_ms=HOUR, priority=9),
        send("jobs", ttl_ms=2 * HOUR, max_receives=3, backoff_base_ms=5),
        send("jobs", id="traced", traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        send("jobs", id="expired", ttl_ms=1, priority=0),
        send("deduped", dedupe_id="of the queue"),
        ("PUT /queues/deduped", {"dedupe_scope": "group", "dedupe_by_body": True}),
        send("deduped", dedupe_id="of the group", group="g", delay_ms=HOUR),
        send("deduped", dedupe_by_body=True, id="digest"),
        send("other", id="of no settings"),
        send("other", id="acknowledged"),
        receive("other", limit=2),
        ("DELETE /queues/other/deliveries/$receipt", None),
        send("slow", id="timed out"),
        receive("slow", visibility_ms=5),
        *2 * [("GET /queues/slow/workers", None)],  # the daemon notes its worker beside the answer
        "LATER 10",
        ("GET /queues/slow", None),
        receive("jobs", acknowledge=True),
        send("jobs", id="named", delay_ms=HOUR),
    ],
    "reads": [
        ("DELETE /queues/slow/deliveries/$receipt?late=true", None),
        ("GET /queues", None),
        ("GET /queues/jobs", None),
        *[(f"GET /queues/jobs/messages?state={s}", None) for s in ("ready", "delayed", "in_flight", "dead")],
        *[(f"GET /queues/jobs/messages/{i}", None) for i in ("extended", "completed", "acknowledged", "dead")],
        send("jobs", id="acknowledged"),
        send("jobs", id="followed", on_duplicate="after"),
        ("POST /queues/jobs/redrive", {"limit": 10}),
        *[send("deduped", dedupe_id=f"of the {scope}", group="g") for scope in ("queue", "group")],
        receive("deduped", limit=1),
        receive("jobs", limit=10),
        ("POST /queues/jobs/deliveries/$receipt/reject", {"delay_ms": 5}),
        ("GET /queues/other", None),
        send("other", id="acknowledged"),
        "LATER 4000000",
        receive("jobs", limit=10, worker="later"),
        ("GET /queues/jobs", None),
        receive("other", limit=10, acknowledge=True),
        ("POST /queues/jobs/purge", {}),
    ],
}

GROUPS = {
    "writes": [
        ("PUT /ratelimit/policies/mail", {"limit": 2, "window_ms": HOUR}),
        ("PUT /queues/strict", {"order": "strict", "policy": {"name": "mail", "key": "acme"}, "max_messages": 100}),
        ("PATCH /queues/strict", {"annotations": {"team": "shop", "empty": ""}}),
        *[send("strict", id=f"a{i}", group="a") for i in range(3)],
        send("strict", id="b0", group="b"),
        send("strict", id="c0", group="c"),
        send("strict", id="none"),
        receive("strict"),
        receive("strict"),
        ("POST /queues/strict/deliveries/$receipt/reject", {"delay_ms": HOUR}),
        receive("strict"),
        ("POST /queues/strict/groups/c/pause", {"for_ms": HOUR}),
        (
            "PUT /queues/fair",
            {
                "concurrency": 2,
                "group_concurrency": 1,
                "rate": {"limit": 10, "window_ms": HOUR},
                "group_rate": {"limit": 2, "window_ms": HOUR, "burst": 1},
            },
        ),
        *[send("fair", id=f"{group}{i}", group=group) for group in "abcd" for i in range(2)],
        receive("fair", acknowledge=True),
        receive("fair", limit=3),
        receive("fair"),
    ],
    "reads": [
        *[(f"GET /queues/{queue}{part}", None) for queue in ("strict", "fair") for part in ("", "/groups")],
        ("GET /queues/strict/messages?state=blocked", None),
        ("POST /queues/strict/groups/c/resume", None),
        receive("strict"),
        ("DELETE /queues/fair/deliveries/$receipt", None),
        receive("fair", limit=10),
        "LATER 4000000",
        receive("fair", limit=10, acknowledge=True),
        receive("strict", limit=10, acknowledge=True),
        ("GET /queues/fair/groups", None),
        ("GET /queues/strict/groups", None),
    ],
}

SCHEDULES = {
    "writes": [
        ("PUT /queues/mails/schedules/open", {**NEW_YORK, "body": {"ring": True}, "headers": {"tenant": "acme"}}),
        ("PUT /queues/mails/schedules/poll", {"every_ms": 60000, "limit": 100, "jitter_ms": 500, "body": None}),
        ("PUT /queues/mails/schedules/leap", {"cron": "0 0 29 2 *", "group": "g", "priority": 1, "body": 1}),
        ("PATCH /queues/mails/schedules/leap", {"start_at_ms": 1900000000000, "end_at_ms": 1990000000000}),
        "LATER 130000",
        receive("mails", limit=10),
        ("POST /queues/mails/schedules/open/run", None),
    ],
    "reads": [
        ("GET /queues/mails/schedules", None),
        *[(f"GET /queues/mails/schedules/{id}", None) for id in ("open", "poll", "leap")],
        ("POST /queues/mails/schedules/open/run", None),
        ("PATCH /queues/mails/schedules/leap", {"priority": 2}),
        "LATER 100000000",
        receive("mails", limit=10),
        ("GET /queues/mails/schedules", None),
    ],
}

LIMITS = {
    "writes": [
        ("PUT /ratelimit/policies/web", {"limit": 30, "window_ms": HOUR, "burst": 15, "key_header": "X-Real-IP"}),
        ("PUT /ratelimit/policies/all", {"limit": 3, "window_ms": HOUR, "algorithm": "sliding_window", "shadow": True}),
        ("PUT /ratelimit/policies/clients", {"limit": 30, "window_ms": HOUR, "address": {"from_right": 2}}),
        ("POST /ratelimit", {"key": "2001:DB8::1", "policy": "clients"}),
        ("POST /ratelimit", {"key": "acme", "policy": "web", "cost": 3}),
        ("POST /ratelimit", {"key": "acme", "policy": "all"}),
        *[
            ("POST /ratelimit", {"key": "acme", "algorithm": algorithm, "limit": 5, "window_ms": HOUR, "cost": 2})
            for algorithm in ("gcra", "sliding_window", "fixed_window", "sliding_window")
        ],
        ("POST /ratelimit", {"checks": [{"name": "n", "key": "k", "limit": 5, "window_ms": HOUR}]}),
    ],
    "reads": [
        ("GET /ratelimit/policies", None),
        ("GET /ratelimit/keys", None),
        ("GET /ratelimit/keys/acme?policy=web", None),
        ("GET /ratelimit/keys/2001:db8::7?policy=clients", None),
        ("POST /ratelimit", {"key": "acme", "policy": "web", "cost": 12}),
        ("POST /ratelimit", {"key": "acme", "policy": "all"}),
        *[
            ("POST /ratelimit", {"key": "acme", "algorithm": algorithm, "limit": 5, "window_ms": HOUR, "cost": 3})
            for algorithm in ("gcra", "sliding_window", "fixed_window")
        ],
        ("POST /ratelimit/refund", {"key": "acme", "algorithm": "gcra", "cost": 1}),
        ("POST /ratelimit", {"checks": [{"name": "n", "key": "k", "limit": 5, "window_ms": HOUR}]}),
    ],
}

SALES = {
    "writes": [
        ("PUT /sales/tickets", {"stock": 50, "per_user": 3, "hold_ms": HOUR, "closes_at_ms": 1900000000000}),
        ("POST /sales/tickets/claims", {"user": "u1", "quantity": 2}),
        ("POST /sales/tickets/claims/$claim/confirm", None),
        ("POST /sales/tickets/claims", {"user": "u2", "quantity": 1}),
        ("DELETE /sales/tickets/claims/$claim", None),
        ("POST /sales/tickets/claims", {"user": "u1", "quantity": 1}),
    ],
    "reads": [
        ("GET /sales", None),
        ("GET /sales/tickets", None),
        ("GET /sales/tickets/claims", None),
        ("POST /sales/tickets/claims", {"user": "u1", "quantity": 1}),
        ("POST /sales/tickets/claims/$claim/confirm", None),
        ("PATCH /sales/tickets", {"stock": 4}),
        ("POST /sales/tickets/claims", {"user": "u3", "quantity": 2}),
    ],
}

CACHE = {
    "writes": [
        ("PUT /cache/user-7", {"value": {"name": "Ada"}, "ttl_ms": HOUR}, {"Fence": "1795219450378210"}),
        ("POST /cache/user-8/fill", {"fill_ms": 60000}),
        ("PUT /cache/user-9", {"value": 1, "ttl_ms": HOUR}),
        ("POST /cache/user-9/invalidate", {"again_after_ms": 5000}),
    ],
    "reads": [
        ("GET /cache", None),
        ("GET /cache/user-7", None),
        ("PUT /cache/user-7", {"value": 2}, {"Fence": "1795219450378209"}),
        ("POST /cache/user-8/fill", {}),
        ("PUT /cache/user-8", {"value": 8}, {"Fill-Ticket": "$ticket"}),
        ("PUT /cache/user-9", {"value": 2, "ttl_ms": HOUR}),
        "LATER 5001",
        ("GET /cache/user-9", None),
    ],
}

VISITORS = {
    "writes": [
        ("POST /uv/home", {"visitors": ["u1", "u2"]}),
        ("PATCH /uv/home", {"keep_total": True}),
        ("POST /uv/cart", {"visitors": ["u2", "u3"]}),
        ("POST /pv/home", {"by": 3}),
        ("PATCH /pv/home", {"keep_total": True}),
        ("PUT /checkins/alice/days/2020-02-29", None),
        ("PUT /checkins/alice/days/2026-11-30", None),
    ],
    "reads": [
        *[(f"GET /{path}", None) for path in ("uv", "pv", "uv/home", "pv/home", "uv/combine?name=home&name=cart")],
        ("POST /uv/home", {"visitors": ["u1", "u4"]}),
        ("POST /pv/home", {}),
        ("GET /checkins", None),
        ("GET /checkins/alice", None),
        ("GET /checkins/alice?from=2020-02-01&to=2020-03-01", None),
    ],
}

COLLECTIONS = {
    "writes": [
        ("PUT /bloom/seen", {"capacity": 100, "error_rate": 0.01, "ttl_ms": HOUR}),
        ("POST /bloom/seen/add", {"items": ["order-15", "order-16"]}),
        ("POST /counters/post-7/increment", {"counters": {"likes": 1, "stock": -2}}),
        ("POST /feeds/home/items", {"items": [{"post": 7}, {"post": 8}], "max_items": 1000}),
        ("POST /sets/likers/members", {"add": ["ann", "bob"]}),
        ("PATCH /sets/likers", {"ttl_ms": HOUR}),
        ("PUT /bitmaps/days", {"base64": "gAE="}),
        ("POST /bitmaps/days/fields", {"operations": [{"op": "set", "type": "u4", "element": 3, "value": 9}]}),
        ("PUT /geo/shops", {"cells": 4}),
        ("PUT /geo/shops/members/one", {"longitude": 116.334255, "latitude": 40.0274}),
        ("PUT /geo/shops/members/two", {"longitude": 116.405285, "latitude": 39.904989}),
        ("PUT /geo/plain/members/one", {"longitude": 13.4, "latitude": 52.5}),
    ],
    "reads": [
        *[(f"GET /{kind}", None) for kind in ("bloom", "counters", "feeds", "sets", "bitmaps", "geo")],
        ("GET /bloom/seen", None),
        ("POST /bloom/seen/lookup", {"items": ["order-15", "order-17"]}),
        ("POST /bloom/seen/add", {"items": ["order-16", "order-17"]}),
        ("POST /counters/post-7/increment", {"counters": {"likes": 1}}),
        ("GET /counters/post-7", None),
        ("GET /feeds/home/items", None),
        ("POST /feeds/home/items", {"items": [9], "max_items": 2}),
        ("GET /feeds/home/items", None),
        ("POST /sets/likers/lookup", {"members": ["ann", "zoe"]}),
        ("GET /sets/likers", None),
        ("GET /bitmaps/days", None),
        ("GET /geo/nearby?name=shops&longitude=116.3&latitude=40&radius=50&unit=km", None),
        ("GET /geo/shops/distance?from=one&to=two&unit=m", None),
        ("DELETE /geo/plain/members/one", None),
        ("GET /geo/plain", None),
    ],
}

BOARDS = {
    "writes": [
        ("PUT /leaderboards/medals", {"dimensions": ["gold", "silver"], "max_members": 3, "ttl_ms": HOUR}),
        (
            "POST /leaderboards/medals/members",
            {
                "put": [
                    {"member": "FR", "scores": {"gold": 5, "silver": 15}},
                    {"member": "CN", "scores": {"gold": 50, "silver": 0}},
                ]
            },
        ),
        ("PUT /leaderboards/points/members/ann", {"scores": {"points": 9007199254740991}}),
        ("PUT /leaderboards/points/members/bob", {"scores": {"points": 3}}),
        ("PUT /leaderboards/points/members/cleo", {"scores": {"points": 3}}),
    ],
    "reads": [
        ("GET /leaderboards", None),
        ("GET /leaderboards/medals", None),
        ("GET /leaderboards/medals/members", None),
        ("GET /leaderboards/points/members", None),
        ("GET /leaderboards/points/members?order=asc", None),
        ("POST /leaderboards/points/members/bob/increment", {"scores": {"points": 1}}),
        ("GET /leaderboards/points/members/bob/around", None),
        ("POST /leaderboards/both/merge", {"sources": ["points"], "aggregate": "max"}),
        ("GET /leaderboards/both/members", None),
    ],
}

REPLAYS = {
    "writes": [
        ("POST /locks/report", {"ttl_ms": HOUR}, {"Idempotency-Key": "lock"}),
        ("POST /counters/post-7/increment", {"counters": {"likes": 1}}, {"Idempotency-Key": "counter"}),
        (*send("jobs", id="a"), {"Idempotency-Key": "send"}),
        (*receive("jobs"), {"Idempotency-Key": "receive"}),
        ("POST /queues/jobs/purge", {"state": "in_flight"}, {"Idempotency-Key": "purge"}),
        ("POST /semaphores/render/permits", {"limit": 2, "ttl_ms": HOUR}, {"Idempotency-Key": "permit"}),
    ],
}
REPLAYS["reads"] = [*REPLAYS["writes"], ("GET /counters/post-7", None), ("GET /locks/report", None)]

# The daemons of these waiters have ended when the data is read.
WAITERS = {
    "writes": [
        ("POST /locks/report", {"ttl_ms": HOUR}),
        ("POST /locks/report &", {"wait_ms": 60000, "owner": "waiter"}),
        ("POST /semaphores/render/permits", {"limit": 1, "ttl_ms": HOUR}),
        ("POST /semaphores/render/permits &", {"limit": 1, "wait_ms": 60000}),
        ("POST /ratelimit", {"key": "acme", "limit": 1, "window_ms": 30000}),
        ("POST /ratelimit &", {"key": "acme", "limit": 1, "window_ms": 30000, "wait_ms": 60000}),
        ("POST /cache/user-8/fill", {"fill_ms": 60000}),
        ("POST /cache/user-8/fill &", {"wait_ms": 60000}),
        ("PUT /queues/full", {"max_messages": 1, "result_ms": HOUR}),
        send("full", id="first", delay_ms=HOUR),
        ("POST /queues/full/messages &", {"body": 2, "wait_room_ms": 60000}),
        ("POST /queues/full/receive &", {"wait_ms": 60000}),
        ("GET /queues/full/messages/first?wait_ms=60000 &", None),
    ],
    "reads": [
        ("GET /locks/report/waiters", None),
        ("GET /semaphores/render", None),
        ("GET /queues/full", None),
        ("GET /cache/user-8", None),
        "LATER 70000",
        ("GET /locks/report/waiters", None),
        ("POST /queues/full/receive", {}),
        ("DELETE /queues/full/messages/first", None),
        send("full", id="second"),
        receive("full"),
    ],
}

SCENES = {
    "locks": LOCKS,
    "semaphores": SEMAPHORES,
    "queues": QUEUES,
    "groups": GROUPS,
    "schedules": SCHEDULES,
    "rate_limits": LIMITS,
    "sales": SALES,
    "cache": CACHE,
    "visitors": VISITORS,
    "collections": COLLECTIONS,
    "leaderboards": BOARDS,
    "replays": REPLAYS,
    "waiters": WAITERS,
}
