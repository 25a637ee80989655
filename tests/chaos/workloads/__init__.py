"""What the callers do, one file per pattern. Each file has WORKERS, a list of (number of callers,
the function that each calls repeatedly with its Client). prepare(client) runs before the first
fault. finish(client) runs after the last fault, when the other callers have ended, and records what
is left for the checks.
"""
from . import counters, locks, names, queue_groups, queues, ratelimit, results, sales, semaphores

ALL = (counters, locks, semaphores, queues, queue_groups, results, ratelimit, sales, names)
