"""What callers do, a pattern a file. Each has WORKERS: (how many, what one does again and again,
given a Client); prepare(client), before the first fault; finish(client), when all is well again and
nobody else calls: what is left, for the books.
"""
from . import counters, locks, queues, ratelimit, sales, semaphores

ALL = (counters, locks, semaphores, queues, ratelimit, sales)
