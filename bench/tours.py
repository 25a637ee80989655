"""What bench/instructions asks: each operation of the contract at least once, in rounds that start
on an empty Redis.

A tour is a list of steps, a step an operationId or (operationId, values). A request is made of the
contract's own examples: path, required query, body. A value goes over that: where a parameter has
its name, there; as a header, when it starts with a capital; otherwise as a member of the body, and
None leaves it out. "$token" is the latest `token` in an answer of this round. An operation's first
step is the one that is measured; what it needs to be answered 2xx stands before it.
"""
OPEN = {"opens_at_ms": 1000000000000, "closes_at_ms": 4102444800000}  # of a sale: from 2001 to 2100
DAY = {"date": "2020-02-29"}  # is over, wherever this runs

NOT_MEASURED = {
    "lock_hold": "a stream: it ends when the client leaves",
    "topic_stream": "a stream: it ends when the client leaves",
    "uv_delete": "a hundred steps of 500 keys",
    "pv_delete": "a hundred steps of 500 keys",
}

LIMIT = {"limit": 1000000000, "burst": 1000000000}  # of ratelimit_take many times: all are allowed

TOURS = {
    "daemon": ["healthz_get", "readyz_get", "metrics_get", "info_get", "problem_list", "problem_get", "openapi_get"],
    "locks": [
        "lock_acquire", "lock_get", "lock_list",
        ("lock_extend", {"token": "$token"}),
        ("lock_release", {"Lock-Token": "$token"}),
        "lock_acquire_many", "fence_check", "fence_get", "fence_list", "fence_delete",
        "semaphore_permit_acquire",
        ("semaphore_permit_extend", {"permit": "$permit"}),
        "semaphore_get", "semaphore_list",
        ("semaphore_permit_release", {"permit": "$permit"}),
        "semaphore_delete",
    ],
    "queues": [
        "queue_put", ("queue_patch", {"paused": False}), "queue_message_send", "queue_message_get", "queue_message_list",
        ("queue_message_patch", {"delay_ms": 0}),
        "queue_message_receive",
        ("queue_delivery_extend", {"receipt": "$receipt"}),
        ("queue_delivery_reject", {"receipt": "$receipt", "delay_ms": 0}),
        "queue_get", "queue_list", "queue_message_receive_any",
        ("queue_delivery_acknowledge", {"receipt": "$receipt"}),
        ("queue_message_send", {"id": "another"}),
        ("queue_message_delete", {"id": "another"}),
        ("queue_message_send", {"id": "a third", "delay_ms": 0}),
        "queue_message_receive",
        ("queue_delivery_settle", {"done": ["$receipt"], "reject": None}),
        "queue_delete",
    ],
    "dead letters": [
        ("queue_put", {"max_receives": 1}),
        ("queue_message_send", {"delay_ms": 0}),
        "queue_message_receive",
        ("queue_delivery_reject", {"receipt": "$receipt"}),
        "queue_redrive", "queue_message_receive",
        ("queue_delivery_reject", {"receipt": "$receipt"}),
        "queue_purge",
    ],
    "rate limits": [
        "ratelimit_take", "ratelimit_key_get", "ratelimit_key_list", "ratelimit_refund", "ratelimit_take", "ratelimit_key_delete",
        "ratelimit_policy_put", "ratelimit_policy_patch", "ratelimit_policy_get", "ratelimit_policy_list",
        ("ratelimit_authorize", {"policy": "replies", "X-Real-IP": "203.0.113.7"}),
        ("ratelimit_authorize_path", {"X-Real-IP": "203.0.113.7"}),
        "ratelimit_policy_delete",
    ],
    "geo": [
        "geo_member_put", "geo_member_add", "geo_member_get", "geo_member_list", "geo_member_lookup", "geo_distance_get",
        ("geo_nearby_list", {"longitude": 116.334255, "latitude": 40.0274, "radius": 5}),
        "geo_get", "geo_list", "geo_member_delete", "geo_delete", "geo_put", "geo_patch",
    ],
    "visitors": [
        "uv_add",
        ("uv_add", {"name": "cart"}),
        "uv_get", "uv_union_get", "uv_list",
        ("uv_merge", {"name": "both", "from": None, "to": None}),
        "pv_add", "pv_get", "pv_list", ("checkin_day_put", DAY), "checkin_get", "checkin_list", "checkin_patch",
        ("checkin_day_delete", DAY), ("checkin_day_put", DAY), "checkin_delete",
    ],
    "collections": [
        "bloom_put", "bloom_add", "bloom_exists", "bloom_get", "bloom_list", "bloom_patch", "bloom_delete",
        "counter_increment", "counter_get", "counter_list", "counter_patch", "counter_delete",
        "feed_item_push", "feed_item_list", "feed_get", "feed_list", "feed_patch", "feed_delete", "set_member_put",
        ("set_member_put", {"name": "likers-8"}),
        "set_member_get", "set_member_list", "set_get", "set_list", "set_patch",
        ("set_combine", {"intersect": ["likers-7", "likers-8"]}),
        "set_member_delete",
        ("set_delete", {"name": "likers-8"}),
        "bitmap_put", "bitmap_get", "bitmap_list", "bitmap_bit_put", "bitmap_bit_get", "bitmap_count",
        "bitmap_position_get", "bitmap_field_write", "bitmap_delete",
    ],
    "leaderboards": [
        "leaderboard_put", "leaderboard_member_put", "leaderboard_member_increment",
        ("leaderboard_member_put", {"member": "CN"}),
        "leaderboard_member_get", "leaderboard_get", "leaderboard_patch", "leaderboard_list", "leaderboard_member_list",
        "leaderboard_around_list",
        ("leaderboard_put", {"name": "more"}),
        ("leaderboard_member_put", {"name": "more"}),
        ("leaderboard_union", {"name": "all", "sources": ["medals", "more"], "weights": [1, 2]}),
        "leaderboard_member_delete", "leaderboard_delete",
    ],
    "sales": [
        ("sale_put", OPEN),
        "sale_get", "sale_patch", "sale_list", "sale_claim_acquire", "sale_claim_list",
        ("sale_claim_confirm", {"claim": "$claim"}),
        "sale_claim_acquire",
        ("sale_claim_release", {"claim": "$claim"}),
        "sale_delete",
    ],
    "cache, keys, topics": [
        "cache_fill",
        ("cache_put", {"Fill-Ticket": "$ticket"}),
        "cache_get", "cache_list", "key_list", "key_get", "key_element_list", "key_ttl_put", "key_delete",
        "cache_put", "cache_delete", "cache_invalidate", "topic_publish", "topic_get", "topic_list",
    ],
}
