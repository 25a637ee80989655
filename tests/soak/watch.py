"""Samples the daemon's process from outside, and its event loop by its metrics."""
import os
import threading
import time
import urllib.request

PAGE = os.sysconf("SC_PAGESIZE")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
EACH_S = 0.1


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * PAGE


def descriptors(pid):
    """What each open descriptor refers to, without inode numbers."""
    kinds = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            kinds.append(os.readlink(f"/proc/{pid}/fd/{fd}").split("[")[0])
        except FileNotFoundError:
            pass  # closed since it was listed
    return sorted(kinds)


def kept_waiting_s(pid):
    """How long the process was ready to run while other programs had the processors."""
    with open(f"/proc/{pid}/schedstat") as stat:
        return int(stat.read().split()[1]) / 1e9


def stolen_s():
    """How long the host of a virtual machine took its processors; 0 on a real machine."""
    with open("/proc/stat") as stat:
        return int(stat.readline().split()[8]) * TICK_S


def metrics(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return {
        name.removeprefix("patternd_"): float(value)
        for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#" and "{" not in line)
    }


class Watch(threading.Thread):
    """Takes a sample ten times per second, so that the processor time of others during a loop
    iteration is known to a tenth of a second.
    """

    def __init__(self, pid, health_port):
        super().__init__(daemon=True)
        self.pid, self.health_port = pid, health_port
        self.samples, self.is_stopping = [], threading.Event()
        self.trouble = None

    def sample(self):
        loop = metrics(self.health_port)
        return {
            "at": time.monotonic(),
            "resident": resident_bytes(self.pid),
            "taken_s": kept_waiting_s(self.pid) + stolen_s(),
            "stalls": int(loop["loop_stalls_total"]),
            "stall_s": loop["loop_stall_seconds_total"],
            "longest_s": loop["loop_longest_iteration_seconds"],
            "longest_cpu_s": loop["loop_longest_iteration_cpu_seconds"],
        }

    def run(self):
        try:
            while not self.is_stopping.wait(EACH_S):
                self.samples.append(self.sample())
        except OSError as why:  # it has ended, or does not answer
            self.trouble = f"{type(why).__name__}: {why}"

    def end(self):
        self.is_stopping.set()
        self.join()
