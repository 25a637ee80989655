"""What callers do, a pattern a file. Each has WORKERS: (how many, what one does repeatedly with a
Client); prepare(client), before the first fault; finish(client), after the last fault and the
other callers: what is left, for the checks.
"""
from . import counters, locks, names, queues, ratelimit, results, sales, semaphores

ALL = (counters, locks, semaphores, queues, results, ratelimit, sales, names)
