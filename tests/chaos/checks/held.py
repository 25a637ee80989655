"""Computes how much is held at the same time: claims of a sale, permits of a semaphore."""
from history import FOREVER


def never_more(findings, promise, what, most, holds):
    """Sums the quantities of holds that surely exist at the same time. A hold has `known`, `until`
    and `quantity`.
    """
    held = [hold for hold in holds if hold.until > hold.known]
    changes = [(hold.known, hold.quantity, hold) for hold in held]
    changes += [(hold.until, -hold.quantity, hold) for hold in held if hold.until != FOREVER]
    total = 0
    for _, change, hold in sorted(changes, key=lambda c: c[:2]):
        total += change
        if total > most:
            findings.violation(promise, f"{what}: {total} of {most}", hold.calls[0])
            return
