"""What holds in each mode when servers fail, in the words of README.md; the checks count what is
stated here, and let nothing else pass.
"""
STATED = {
    "single": "With `appendfsync always` nothing that was answered is lost, whoever is killed, stopped or cut off.",
    "sentinel": "A failover can lose what the old master answered last and no replica had yet, or what it answered before a Sentinel told the "
    "daemons of the new one (they listen to all Sentinels, the first counts), as if it had never been asked: a lock can be held "
    "twice, an accepted message be gone or an acknowledged one come back, a limit or a sale let as much through once more, a "
    "`Retry-After` be too short, a counter fall behind, an Idempotency-Key be new. Fences rise all the same, and an error that "
    "says `none` did nothing.",
    "cluster": "The same, of the slots whose master failed. A slot that moves loses nothing, nor does a failover that a replica was asked for.",
}
