"""What bench/instructions asks: each operation of the contract at least once, in rounds that start on an empty Redis.

A tour is a list of steps, a step an operationId or (operationId, values). A request is made of the contract's own examples: path,
required query, body. A value goes over that: where a parameter has its name, there; as a header, when it starts with a
capital; otherwise as a member of the body, and None leaves it out. "$token" is the latest `token` in an answer of this round.
An operation's first step is the one that is measured; what it needs to be answered 2xx stands before it.
"""
OPEN = {"opens_at_ms": 1000000000000, "closes_at_ms": 4102444800000}  # of a sale: from 2001 to 2100
DAY = {"date": "2020-02-29"}  # is over, wherever this runs

NOT_MEASURED = {
    "lock_hold": "a stream: it ends when the client leaves",
    "topic_stream": "a stream: it ends when the client leaves",
}

LIMIT = {"limit": 1000000000, "burst": 1000000000}  # of ratelimit_take many times: all are allowed

TOURS = {
    "admin": ["healthz", "readyz", "metrics", "info", "problem_look", "openapi_json"],
    "locks": [
        "lock_acquire", "lock_look", "lock_list",
        ("lock_extend", {"token": "$token"}),
        ("lock_release", {"Lock-Token": "$token"}),
        "locks_acquire", "fence_check",
        "semaphore_acquire",
        ("semaphore_extend", {"permit": "$permit"}),
        "semaphore_look",
        ("semaphore_release", {"permit": "$permit"}),
    ],
    "queues": [
        "queue_configure", "queue_send", "message_look", "message_list",
        ("message_change", {"delay_ms": 0}),
        "queue_receive",
        ("queue_extend", {"receipt": "$receipt"}),
        ("queue_reject", {"receipt": "$receipt", "delay_ms": 0}),
        "queue_look", "queue_list", "queues_receive",
        ("queue_acknowledge", {"receipt": "$receipt"}),
        ("queue_send", {"id": "another"}),
        ("message_cancel", {"id": "another"}),
        ("queue_send", {"id": "a third", "delay_ms": 0}),
        "queue_receive",
        ("queue_settle", {"done": ["$receipt"], "reject": None}),
        "queue_delete",
    ],
    "dead letters": [
        ("queue_configure", {"max_receives": 1}),
        ("queue_send", {"delay_ms": 0}),
        "queue_receive",
        ("queue_reject", {"receipt": "$receipt"}),
        "queue_redrive", "queue_receive",
        ("queue_reject", {"receipt": "$receipt"}),
        "queue_purge",
    ],
    "rate limits": [
        "ratelimit_take", "ratelimit_look", "ratelimit_list", "ratelimit_refund", "ratelimit_take", "ratelimit_forget",
        "ratelimit_policy_put", "ratelimit_policy_look", "ratelimit_policy_list",
        ("ratelimit_authorize", {"policy": "replies", "X-Real-IP": "203.0.113.7"}),
        ("ratelimit_authorize_path", {"X-Real-IP": "203.0.113.7"}),
        "ratelimit_policy_delete",
    ],
    "geo": [
        "geo_put", "geo_add", "geo_member", "geo_members", "geo_lookup", "geo_distance",
        ("geo_nearby", {"longitude": 116.334255, "latitude": 40.0274, "radius": 5}),
        "geo_look", "geo_list", "geo_remove", "geo_delete", "geo_configure",
    ],
    "visitors": [
        "uv_add",
        ("uv_add", {"page": "cart"}),
        "uv_count", "uv_union", "uv_pages",
        ("uv_merge", {"page": "both", "from": None, "to": None}),
        "pv_add", "pv_count", ("checkin_put", DAY), "checkin_look", ("checkin_delete", DAY),
    ],
    "collections": [
        "bloom_put", "bloom_add", "bloom_exists", "bloom_look", "bloom_delete",
        "counter_add", "counter_look", "feed_push", "feed_read", "set_put",
        ("set_put", {"name": "likers-8"}),
        "set_look", "set_members",
        ("set_combine", {"intersect": ["likers-7", "likers-8"]}),
        "set_remove",
        "bitmap_write", "bitmap_read", "bitmap_set_bit", "bitmap_get_bit", "bitmap_count", "bitmap_position",
        "bitmap_fields", "bitmap_delete",
    ],
    "leaderboards": [
        "leaderboard_configure", "leaderboard_put", "leaderboard_add",
        ("leaderboard_put", {"member": "CN"}),
        "leaderboard_member", "leaderboard_look", "leaderboard_list", "leaderboard_around",
        ("leaderboard_configure", {"board": "more"}),
        ("leaderboard_put", {"board": "more"}),
        ("leaderboard_union", {"board": "all", "sources": ["medals", "more"], "weights": [1, 2]}),
        "leaderboard_remove",
    ],
    "sales": [
        ("sale_configure", OPEN),
        "sale_look", "sale_list", "sale_claim",
        ("sale_confirm", {"claim": "$claim"}),
        "sale_claim",
        ("sale_give_back", {"claim": "$claim"}),
    ],
    "cache, keys, topics": [
        "cache_fill",
        ("cache_put", {"Fill-Ticket": "$ticket"}),
        "cache_get", "key_list", "key_look", "key_elements", "key_expire", "key_delete",
        "cache_put", "cache_delete", "cache_invalidate", "topic_publish",
    ],
}
