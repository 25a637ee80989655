"""What each mode promises when servers fail, in the words of docs/guarantees.md. The checks count
the losses that are stated here, and report every other loss.
"""
STATED = {
    "single": "With `appendfsync always` an answered change is never lost, whichever process is killed, stopped or cut off.",
    "sentinel": "A failover can lose the changes that the old master answered but had not replicated. It can also lose what "
    "that master answered before a Sentinel reported the new one. The daemons listen to all Sentinels, and the first report counts. "
    "After a loss, a lock can be held twice. An accepted message can be missing, and an acknowledged one can return. A limit or a "
    "sale can admit the lost amount a second time, and a `Retry-After` can be too short. A counter can go back. A request can run a "
    "second time although its Idempotency-Key was used. Fences still rise if the clocks of the servers differ by less than the "
    "failover takes. An error with the effect `none` still means that nothing was done.",
    "cluster": "As with Sentinel, for the slots whose master failed. A slot that moves loses nothing, and a requested failover loses "
    "nothing, unless the two coincide. A failover of a node, even a requested one, can lose any data of a slot that is "
    "moving away from the node. Redis 7 does not replicate that a slot moves, so the new master serves the slot without the keys "
    "that have left.",
}
