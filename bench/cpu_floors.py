"""The shares of a program's CPU time that the kernel, libraries and its own code use. Needs perf.
"""
import collections
import pathlib
import shutil
import subprocess
import threading

SECONDS = 2
LIBRARIES = ("libmicrohttpd", "libhiredis", "libc.")


def floor_of(place, program):
    if place.startswith("[kernel") or place == "[unknown]":
        return "kernel"
    if place == program:
        return "patternd"
    found = next((name.rstrip(".") for name in LIBRARIES if place.startswith(name)), None)
    return found or "other"


def by_floor(process, run, folder):
    """Returns {floor: share} while `run` loads the program, or None if perf is missing or not
    permitted.

    The C library's share includes the entry into system calls.
    """
    if not shutil.which("perf"):
        return None
    data, program = folder / "perf.data", pathlib.Path(process.child.args[0]).name
    load = threading.Thread(target=run, args=(SECONDS + 1,))
    load.start()
    recorded = subprocess.run(
        ["perf", "record", "-q", "-o", data, "-p", str(process.child.pid), "--", "sleep", str(SECONDS)],
        capture_output=True,
    )
    load.join()
    if recorded.returncode:
        return None
    report = ["perf", "report", "-i", data, "--stdio", "--sort", "dso", "-F", "overhead,dso", "-t", ";"]
    shares = collections.Counter()
    for line in subprocess.run(report, capture_output=True, text=True).stdout.splitlines():
        if line and not line.startswith("#"):
            share, place = line.split(";")
            shares[floor_of(place.strip(), program)] += float(share.strip().rstrip("%"))
    return dict(shares.most_common())
