"""What callers do, a pattern a file. Each has WORKERS: (how many, what one does repeatedly with a
Client); prepare(client), before the first fault; finish(client), after the last fault and the
other callers: what is left, for the checks.
"""
from . import counters, locks, names, queue_groups, queues, ratelimit, results, sales, semaphores

ALL = (counters, locks, semaphores, queues, queue_groups, results, ratelimit, sales, names)
