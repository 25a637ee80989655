"""The rows of tools/lint/facts.py: which place decides a number, and which places state it.

Each pattern has one group, the number. `scale` is how many of the first unit make one of the
second.
"""

QUEUES, LOCKS, VALUES = "openapi/queues.yaml", "openapi/locks.yaml", "docs/guides/values.md"
SECOND, MINUTE, HOUR, DAY = 1000, 60000, 3600000, 86400000


def default(schema, field=""):
    """A pattern that finds the default of a schema of the contract, or of its field."""
    return rf"(?s)\n    {schema}:\n.*?" + (rf"\n        {field}:\n.*?" if field else "") + r"\n +default: (\d+)"


def value(name, rest=r"(\d+)"):
    """A pattern that finds the default in a row of docs/guides/values.md."""
    return rf"\n\| {name} \| {rest}"


FACTS = [
    # what, (file, pattern) that decides, scale, [(file, pattern) that states]
    (
        "grace time, ms",
        ("service/http/response.c", r"GRACE_US = (\d+)"),
        1000,
        [
            ("docs/glossary.md", r"grace polls \| polling a request for up to (\d+) ms"),
            ("ARCHITECTURE.md", r"polls the request for up to (\d+) ms \(grace polls\)"),
        ],
    ),
    (
        "a stall, ms",
        ("service/core/loop.c", r"STALL_US = (\d+)"),
        1000,
        [
            ("ARCHITECTURE.md", r"an iteration over (\d+) ms is counted as a stall"),
            ("docs/glossary.md", r"a stall is one of more than (\d+) ms"),
            ("service/process/metrics.c", r"Loop iterations of more than (\d+) ms"),
        ],
    ),
    (
        "pipelined bytes, KiB",
        ("service/http/response.c", r"MAX_PIPELINED_BYTES = (\d+) \* 1024"),
        1,
        [
            ("docs/guarantees.md", r"When more than (\d+) KiB are\s+pending behind"),
            ("docs/bounds.md", r"requests pipelined behind one that waits or streams \| (\d+) KiB"),
        ],
    ),
    (
        "a request's head, KiB",
        ("service/http/precheck.h", r"PRECHECK_HEAD_BYTES = (\d+) \* 1024"),
        1,
        [
            ("docs/bounds.md", r"64 bytes more for each header \| (\d+) KiB"),
            ("SECURITY.md", r"heads over (\d+) KiB"),
        ],
    ),
    (
        "nesting of JSON, levels",
        ("service/json/read.c", r"MAX_DEPTH = (\d+)"),
        1,
        [
            ("docs/reference.md", r"with at most (\d+)\s+levels"),
            ("docs/bounds.md", r"nesting of JSON \| (\d+) levels"),
            ("docs/queues.md", r"more than (\d+) levels"),
        ],
    ),
    (
        "nesting of a reply of Redis",
        ("service/redis/reply_reader.c", r"MAX_DEPTH = (\d+)"),
        1,
        [("SECURITY.md", r"at most (\d+) levels")],
    ),
    (
        "an Idempotency-Key is kept, hours",
        ("service/process/options.def", r'"idempotency-ttl-ms", "MS", (\d+)'),
        3600000,
        [
            ("README.md", r"while Redis keeps its record: (\d+) hours, or"),
            ("docs/guarantees.md", r"records: (\d+) hours, the\s+time of a grant"),
            ("docs/retries.md", r"changes something \| (\d+) h, or"),
            (VALUES, value("`Idempotency-TTL-Ms`")),
            ("openapi/root.yaml", r"The response is kept for (\d+)\s+h"),
        ],
    ),
    (
        "longest wait, ms",
        ("openapi/root.yaml", r"(?s)\n    Wait:.*?maximum: (\d+)"),
        1000,
        [
            ("docs/guarantees.md", r"lets a request wait, for (\d+) s at most"),
            ("docs/queue-workers.md", r"`wait_ms` waits for up to (\d+) s"),
            (VALUES, r"how long the caller can use the answer, at most (\d+) s"),
        ],
    ),
    # Defaults of the contract
    ("ttl_ms of a lock", (LOCKS, default("LockTtl")), SECOND, [(VALUES, value("`ttl_ms` of a lock or permit"))]),
    (
        "ttl_ms of a permit",
        ("openapi/semaphores.yaml", default("PermitTtl")),
        SECOND,
        [(VALUES, value("`ttl_ms` of a lock or permit"))],
    ),
    (
        "ttl_ms of a hold",
        (LOCKS, default("LockHoldRequest", "ttl_ms")),
        SECOND,
        [
            (VALUES, value("`ttl_ms` of a `hold`")),
            ("docs/locks.md", r"`hold` expires after its `ttl_ms` \((\d+) s\)"),
            ("docs/guides/leader.md", r"`ttl_ms` \((\d+) s\) after its daemon died"),
        ],
    ),
    ("wait_ms", ("openapi/root.yaml", default("Wait")), 1, [(VALUES, value("`wait_ms`"))]),
    (
        "min_replicas",
        (LOCKS, default("LockRequest", "min_replicas")),
        1,
        [(VALUES, value("`min_replicas`"))],
    ),
    (
        "visibility_ms",
        (QUEUES, default("QueueSettingsRequest", "visibility_ms")),
        SECOND,
        [
            (VALUES, value("`visibility_ms`")),
            ("docs/guides/worker.md", r"`visibility_ms` \((\d+) s\)"),
            ("clients/javascript/README.md", r"`visibilityMs` \((\d+) s\)"),
        ],
    ),
    (
        "max_receives",
        (QUEUES, default("QueueSettingsRequest", "max_receives")),
        1,
        [
            (VALUES, value("`max_receives`")),
            (VALUES, r"what the job needs: (\d+) last"),
            (QUEUES, r"default backoff, (\d+) deliveries take"),
            (QUEUES, r"then the (\d+) deliveries of a message take"),
            (QUEUES, r"a message is dead; null resets it to (\d+)"),
            ("docs/queues.md", r"`max_receives` times \((\d+)\)"),
            ("docs/migrate/bullmq.md", r"A message has (\d+) deliveries by default"),
        ],
    ),
    (
        "the first backoff",
        ("lua/queues/lib_queue_settings.lua", r"backoff_base_ms = (\d+)"),
        SECOND,
        [
            (VALUES, value("`backoff`", r"(\d+) s to")),
            ("docs/queues.md", r"`base_ms` after the first delivery \((\d+) s\)"),
        ],
    ),
    (
        "the longest backoff",
        ("lua/queues/lib_queue_settings.lua", r"backoff_max_ms = (\d+)"),
        MINUTE,
        [
            (VALUES, value("`backoff`", r"1 s to (\d+) min")),
            ("docs/queues.md", r"at most `max_ms` \((\d+) minutes\)"),
        ],
    ),
    (
        "dedupe_ms",
        (QUEUES, default("QueueSettingsRequest", "dedupe_ms")),
        MINUTE,
        [
            (VALUES, value("`dedupe_ms`")),
            ("docs/queues.md", r"`dedupe_ms` \((\d+) minutes\)"),
            ("docs/queue-duplicates.md", r"`dedupe_ms` \((\d+) minutes\)"),
            ("docs/queue-workers.md", r"`dedupe_ms`\]\(queue-duplicates\.md\)\s+\((\d+) minutes\)"),
            ("docs/deploy/sizing.md", r"ids for (\d+) minutes"),
            ("docs/guides/outbox.md", r"That is (\d+) minutes by default"),
            ("docs/guides/outbox.md", r"Keep the default `dedupe_ms` of (\d+) minutes"),
            ("docs/migrate/bullmq.md", r"`dedupe_ms` \((\d+) minutes\)"),
        ],
    ),
    (
        "dead_retention_ms",
        (QUEUES, default("QueueSettingsRequest", "dead_retention_ms")),
        DAY,
        [
            (VALUES, value("`dead_retention_ms`")),
            ("docs/queues.md", r"`dead_retention_ms` \((\d+) days\)"),
            ("docs/queue-duplicates.md", r"`dead_retention_ms` \((\d+) days\)"),
            ("docs/internals/queues.md", r"`dead_retention_ms` \((\d+) days\)"),
            ("docs/migrate/bullmq.md", r"`dead_retention_ms` of the queue \((\d+) days\)"),
        ],
    ),
    (
        "limit of a receive",
        (QUEUES, default("ReceiveLimit")),
        1,
        [(VALUES, value("`limit` of a receive"))],
    ),
    (
        "hold_ms of a sale",
        ("openapi/sales.yaml", default("SaleRequest", "hold_ms")),
        MINUTE,
        [(VALUES, value("`hold_ms` of a sale"))],
    ),
    (
        "ttl_ms of a cached value",
        ("openapi/cache.yaml", default("CachePutRequest", "ttl_ms")),
        HOUR,
        [(VALUES, value("`ttl_ms` of a cached value"))],
    ),
    (
        "jitter_ms",
        ("openapi/cache.yaml", default("CachePutRequest", "jitter_ms")),
        1,
        [(VALUES, value("`jitter_ms`"))],
    ),
    (
        "fill_ms",
        ("openapi/cache.yaml", default("CacheFillRequest", "fill_ms")),
        SECOND,
        [(VALUES, value("`fill_ms`"))],
    ),
    # Defaults of options, of the clients and of push
    (
        "--redis-timeout-ms",
        ("service/process/options.def", r'"redis-timeout-ms", "MS", (\d+)'),
        SECOND,
        [
            (VALUES, value("`--redis-timeout-ms`")),
            ("docs/retries.md", r"after `--redis-timeout-ms` \((\d+) s\)"),
            ("docs/guides/api-limits.md", r"above --redis-timeout-ms, (\d+) s"),
        ],
    ),
    (
        "concurrency of work",
        ("clients/python/patternd/_aio/queue.py", r"concurrency: int = (\d+)"),
        1,
        [
            (VALUES, value("`concurrency` of `work`")),
            ("clients/javascript/work.js", r"concurrency = (\d+)"),
        ],
    ),
    (
        "drain_ms of work",
        ("clients/python/patternd/_aio/queue.py", r"drain_ms: int = (\d+)"),
        SECOND,
        [
            (VALUES, value("`drain_ms` of `work`")),
            ("docs/guides/worker.md", r"`drain_ms` \((\d+) s\)"),
            ("docs/adr/0029-work.md", r"`drain_ms` \((\d+) s\)"),
            ("clients/python/README.md", r"`drain_ms` \((\d+) s\)"),
            ("clients/javascript/README.md", r"`drainMs` \((\d+) s\)"),
        ],
    ),
    (
        "drain_ms of work, in both languages",
        ("clients/python/patternd/_aio/queue.py", r"drain_ms: int = (\d+)"),
        1,
        [
            ("clients/javascript/work.js", r"drainMs = (\d+)"),
        ],
    ),
    (
        "lease of a push",
        ("handlers/push/push_state.h", r"PUSH_LEASE_MS = (\d+)"),
        SECOND,
        [
            ("docs/push.md", r"A delivery is taken for (\d+) s"),
            ("docs/push.md", r"open messages by up to (\d+) s"),
            ("docs/push.md", r"delivered again after up to (\d+) s"),
            ("docs/adr/0030-push.md", r"It is received for (\d+) s"),
            ("docs/adr/0030-push.md", r"again after at most (\d+) s"),
        ],
    ),
    (
        "extension of a push",
        ("handlers/push/push_lease.c", r"EXTEND_AFTER_MS = (\d+)"),
        SECOND,
        [
            ("docs/push.md", r"and extended every (\d+) s"),
            ("docs/push.md", r"the next extension, within (\d+) s"),
            ("docs/adr/0030-push.md", r"and extended every (\d+) s"),
        ],
    ),
    (
        "open requests of push",
        ("service/outbound/outbound.h", r"OUTBOUND_MOST = (\d+)"),
        1,
        [
            ("docs/push.md", r"requests at once, 1 to (\d+) "),
            ("docs/push.md", r"has at most (\d+) open requests"),
            ("docs/deploy/sizing.md", r"for each open request \((\d+) at most\)"),
            ("docs/adr/0030-push.md", r"At most (\d+) requests are open"),
            ("openapi/push.yaml", r"are open now; at most (\d+)"),
        ],
    ),
    # How long an acknowledgement is remembered: several scripts have the number
    (
        "an acknowledgement is remembered, s",
        ("lua/queues/lib_queue.lua", r"REMEMBERED_MS = (\d+)"),
        SECOND,
        [
            (QUEUES, r"acknowledged the message within the last (\d+) seconds"),
            ("docs/queues.md", r"retry of an acknowledgement\*\* is 204 for (\d+) s"),
            ("docs/queues.md", r"acknowledged more than (\d+) s ago"),
            ("docs/queue-duplicates.md", r"A retry gets the same for (\d+) s"),
            ("docs/queue-workers.md", r"Within (\d+) s an acknowledged receipt"),
            ("docs/deploy/sizing.md", r"acknowledgements for (\d+) s"),
            ("docs/internals/queues.md", r"acknowledgements after\s+(\d+) s"),
        ],
    ),
]
