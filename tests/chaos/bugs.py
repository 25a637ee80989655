"""Bugs that a daemon could have, and that the checks must find. Each bug is a list of changes of
the source, (file, old text, new text), and the set of promises that it breaks.
"""
BUGS = {
    "release without compare": (
        # Any release frees the lock, even if the token does not hold it.
        [
            (
                "lua/locks/lock_release.lua",
                "if not lock or not (is_forced or grant) then",
                "is_forced = is_forced or not grant\nif not lock then",
            )
        ],
        {"held once", "held for its time", "only the holder"},
    ),
    "take without remove": (
        # A delivered message stays in the list of ready messages, so it can be delivered again.
        [
            ("lua/queues/receive/lib_receive.lua", "    redis.call('ZREM', keys[READY], unpack(queue.members))\n", ""),
            ("lua/queues/receive/queue_message_receive.lua", "      redis.call('ZREM', KEYS[READY], unpack(page))\n", ""),
        ],
        {"one delivery at a time", "no acknowledged message comes back"},
    ),
    "cancel without a mark": (
        # A message that is cancelled in flight can still be delivered again.
        [
            ("lua/queues/queue_message_delete.lua", "  plan('HDEL', keys[QUEUE], m.seq)\n", ""),
            ("lua/queues/queue_message_delete.lua", "m.id, m.marks = '', 'c'", "m.id = ''"),
        ],
        {"no acknowledged message comes back"},
    ),
    "replay after timeout": (
        # A command that was sent and got no reply is sent once more.
        [
            (
                "service/call/call_wire.c",
                "\tif (outcome == REDIS_DEFERRED) {\n",
                "\tif (outcome == REDIS_UNKNOWN) {\n\t\tc->redis.deadline_us = loop_now_us() + 1000000;\n\t\treturn topology_defer(&c->redis);\n\t}\n"
                "\tif (outcome == REDIS_DEFERRED) {\n",
            )
        ],
        {"counters", "one key, one effect", "effect none is true"},
    ),
    "reused fence": (
        # Fences are instants rounded down to whole seconds, so that two locks can have the same
        # fence.
        [
            ("lua/lib/fence.lua", "math.max(last + 1, now_us)", "math.max(last, now_us - now_us % 1000000)"),
            ("lua/locks/lock_acquire.lua", "local fence, text, expires_at = now_us,", "local fence, text, expires_at = now_us - now_us % 1000000,"),
        ],
        {"fences rise"},
    ),
    "missed wake-up": (
        # A waiter is not woken by a message that is ready at once.
        [("lua/queues/lib_queue_serve.lua", "  while ready > 0 and w.head do\n", "  while ready > 1000 and w.head do\n")],
        {"waiters are woken"},
    ),
    "a changed result": (
        # The digits of a result are changed when it is stored.
        [
            (
                "lua/queues/deliveries/lib_queue_settle.lua",
                "redis.call('SET', results[i], results[i + 1],",
                "redis.call('SET', results[i], results[i + 1]:gsub('%d', '0'),",
            )
        ],
        {"a result is of its message"},
    ),
    "an end that wakes no waiter": (
        # The end of a message does not wake the daemons that wait for its result.
        [("lua/queues/deliveries/lib_queue_result.lua", "      wake_daemons(list, keys[QUEUE]", "      local _ = (list and keys[QUEUE]")],
        {"waiters are woken"},
    ),
    "a name apart from its key": (
        # A name leaves its index for a moment in which its key exists.
        [("lua/names/name_page.lua", "'}') == 0 then\n", "'}') == 0 or now % 3 == 0 then\n")],
        {"names"},
    ),
    "expiry by the daemon's clock": (
        # A lock expires by the clock of the daemon that acquired it.
        [
            (
                "handlers/locks/lock_call.c",
                "\tcall_int(c, acquisition->ttl_ms);\n\tcall_text(c, acquisition->owner);\n",
                "\tcall_int(c, loop_wall_ms() + acquisition->ttl_ms);\n\tcall_text(c, acquisition->owner);\n",
            ),
            ("lua/locks/lock_acquire.lua", "local expires_at = now + ttl_ms\n", "local expires_at = ttl_ms\n"),
            ("lua/locks/lock_acquire.lua", "format('%d', now_us), now + ttl_ms\n", "format('%d', now_us), ttl_ms\n"),
        ],
        {"held once", "held for its time", "free after its time"},
    ),
    "records of one daemon": (
        # Only the daemon that got the first request knows the record of an Idempotency-Key.
        [
            ("service/request/seal.c", '#include "core/digest.h"\n', '#include <unistd.h>\n\n#include "core/digest.h"\n'),
            (
                "service/request/seal.c",
                '\tparts[count++] = TEXT("\\n");\n\tparts[count++] = req->asked.idempotency_key;\n',
                '\tparts[count++] = arena_printf(&req->arena, "\\n%d", (int)getpid());\n'
                "\tparts[count++] = req->asked.idempotency_key;\n",
            ),
        ],
        {"one key, one effect", "counters"},
    ),
    "blind replay": (
        # A repeated request reports the first grant, even if that grant has ended.
        [("lua/lib/record.lua", "    if proof == nil then\n", "    if true then\n")],
        {"an ended grant is not reported"},
    ),
    "a long loop iteration": (
        # Each new connection to Redis keeps the event loop busy for 150 ms of CPU time.
        [
            ("service/redis/connection.c", "#include <stdlib.h>\n", "#include <stdlib.h>\n#include <time.h>\n"),
            (
                "service/redis/connection.c",
                "\tmetrics_count(METRIC_redis_connects);\n",
                "\tmetrics_count(METRIC_redis_connects);\n"
                "\tfor (clock_t until = clock() + CLOCKS_PER_SEC * 3 / 20; clock() < until;)\n\t\tcontinue;\n",
            ),
        ],
        {"no iteration is long"},
    ),
    "two of a strict group": (
        # A strict group has room for two messages in flight.
        [
            ("lua/queues/receive/lib_receive.lua", "and math.huge or 1\n", "and math.huge or 2\n"),
        ],
        {"strict groups run one at a time", "strict groups keep the order"},
    ),
    "the last of a group first": (
        # The last blocked message of a group becomes its head, instead of the first.
        [
            (
                "lua/queues/groups/lib_queue_groups.lua",
                "redis.call('ZRANGE', keys[ORDER], '[' .. group .. '\\0', '(' .. group .. PAST_PLACES, 'BYLEX', 'LIMIT', '0', '1')[1]",
                "redis.call('ZRANGE', keys[ORDER], '(' .. group .. PAST_PLACES, '[' .. group .. '\\0', 'BYLEX', 'REV', 'LIMIT', '0', '1')[1]",
            ),
        ],
        {"strict groups keep the order"},
    ),
    "a concurrency of each daemon": (
        # Messages in flight do not count against the concurrency.
        [
            (
                "lua/queues/lib_queue_budget.lua",
                "rules.concurrency - redis.call('ZCOUNT', keys[FLIGHT], '(' .. instant, '+inf')",
                "rules.concurrency",
            ),
        ],
        {"concurrency holds"},
    ),
    "a rate that is not spent": (
        # Deliveries do not count against the rate.
        [("lua/queues/receive/lib_receive.lua", "(queue.spent or 0) > 0 then", "(queue.spent or 0) > 99 then")],
        {"limits hold"},
    ),
    "a policy that is not asked": (
        # Messages are delivered although the policy refused them.
        [("handlers/queues/receive/payment.c", "granted = a->granted;", "granted = unpaid(p);")],
        {"limits hold"},
    ),
    "a policy paid by each daemon": (
        # If a receive is sent to two daemons at once, each daemon delivers the messages that it
        # paid for.
        [
            ("lua/queues/receive/lib_receive.lua", "< 2000", "< 0"),
            ("handlers/queues/receive/payment.c", "\tif (req->asked.idempotency_key.at) {", "\tif (!p) {"),
        ],
        {"one delivery at a time", "one key, one effect"},
    ),
    "the oldest group first": (
        # The head of a group is ready in the order of sending, instead of in the turn of its group.
        [
            (
                "lua/queues/groups/lib_queue_turn.lua",
                "place:sub(1, 1) .. instant",
                "place:sub(1, 1) .. place:sub(2, 14)",
            ),
        ],
        {"groups take turns"},
    ),
    "a forgotten follower": (
        # If a message ends without an acknowledgement, the next message of its group stays blocked.
        [("lua/queues/lib_queue_plan.lua", "    promote(group)\n", "")],
        {"books", "no accepted message is lost"},
    ),
}
