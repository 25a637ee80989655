"""What holds in each mode when servers fail, in the words of docs/guarantees.md; the checks count
what is stated here and accept nothing else.
"""
STATED = {
    "single": "With `appendfsync always` an answered change is never lost, whichever process is killed, stopped or cut off.",
    "sentinel": "A failover can lose changes as if they were never requested: those that the old master answered last and no "
    "replica had yet, and those that it answered before a Sentinel reported the new master. The daemons listen to all Sentinels, "
    "and the first report counts. Then a lock can be held twice. An accepted message can be missing, and an acknowledged one can "
    "return. A limit or a sale can admit as much once more, and a `Retry-After` can be too short. A counter can fall behind, and an "
    "Idempotency-Key can be new. Fences rise all the same, and an error with the effect `none` did nothing.",
    "cluster": "The same, for the slots whose master failed. A slot that moves loses nothing, and neither does a requested failover, "
    "as long as they do not coincide. A failover of a node, even a requested one, can lose any data of "
    "a slot that is just moving from it. Redis 7 does not replicate that a slot moves, so the new master serves the slot without the keys that have left.",
}
