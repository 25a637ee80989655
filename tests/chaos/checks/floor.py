"""Reports when too little happened for a verdict."""
CALLS_A_SECOND = 100
FAULTS_A_SECOND = 0.2
REPETITIONS_A_SECOND = 0.5
LEAST_OF_EACH = {
    "lock.acquire": 3,
    "counter.add": 10,
    "queue.send": 3,
    "queue.receive": 3,
    "limit.take": 3,
    "sale.claim": 2,
    "semaphore.acquire": 3,
}  # a second


def check(history, findings):
    seconds = history.run["seconds"]

    def at_least(what, count, least):
        if count < least * seconds:
            findings.violation(
                "enough happened", f"{count} {what} in {seconds:g} s are too few, {least * seconds:.0f} would do"
            )

    at_least("calls", len(history.calls), CALLS_A_SECOND)
    at_least("faults", len(history.faults), FAULTS_A_SECOND)
    at_least("repeated requests", findings.figures.get("repeated requests", 0), REPETITIONS_A_SECOND)
    for what, least in LEAST_OF_EACH.items():
        at_least(
            f"answers to {what}", sum(1 for call in history.all_of(what) if call.status and call.status < 500), least
        )
