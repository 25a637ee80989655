"""Starts the measured programs on free ports with their data in a temporary folder, measures their
CPU and memory, and ends them.
"""
import os
import pathlib
import re
import resource
import socket
import subprocess
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGESIZE")
READY_S = 20


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until(condition):
    """Waits until the condition holds. Raises if it does not within READY_S."""
    until = time.monotonic() + READY_S
    while not condition():
        if time.monotonic() > until:
            raise RuntimeError("what was waited for did not happen")
        time.sleep(0.001)


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 0.1).close()
        return True
    except OSError:
        return False


def allow_open_files(count):
    """Raises the limit of open files for this process and its children. Returns the new limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))
    return min(count, hard)


class Process:
    """A process that this program started, together with its child processes."""

    def __init__(self, child, log, port=None):
        self.child, self.log, self.port = child, log, port

    def family(self):
        pids = [self.child.pid]
        for pid in pids:
            for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                pids += map(int, children.read_text().split())
        return pids

    def cpu_seconds(self):
        return sum(cpu_seconds(pid) for pid in self.family())

    def resident_mib(self):
        statm = (pathlib.Path(f"/proc/{pid}/statm").read_text() for pid in self.family())
        return sum(int(text.split()[1]) for text in statm) * PAGE / 2**20

    def own_kib(self):
        """Memory that no file backs."""
        statuses = (pathlib.Path(f"/proc/{pid}/status").read_text() for pid in self.family())
        return sum(int(re.search(r"RssAnon:\s+(\d+)", text)[1]) for text in statuses)

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(READY_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe:
                pipe.close()


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def machine_busy_seconds():
    """The CPU time used on this machine, including the time of the hypervisor's other guests."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(
        int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / TICK


class Stage:
    """The stage where programs run: `with Stage() as stage` ends them in reverse order, even after
    an error.
    """

    def __enter__(self):
        self.temporaries, self.processes = [], []
        self.folder = self.temporary_folder()
        return self

    def __exit__(self, *_):
        while self.processes:
            self.processes.pop().stop()
        while self.temporaries:
            self.temporaries.pop().cleanup()

    def temporary_folder(self, within=None):
        self.temporaries.append(tempfile.TemporaryDirectory(prefix="patternd-bench-", dir=within))
        return pathlib.Path(self.temporaries[-1].name)

    def start(self, *command, port=None, **options):
        """Starts a program, and waits until it listens on `port`. Its output goes to a file of the
        stage.
        """
        log = self.folder / f"{len(list(self.folder.iterdir()))}-{pathlib.Path(command[0]).name}.log"
        with log.open("wb") as file:
            options = {"stdout": file, "stderr": file, "cwd": self.folder, **options}
            child = subprocess.Popen(list(map(str, command)), **options)
        process = Process(child, log, port)
        self.processes.append(process)
        if port:
            wait_until(lambda: listens(port) or self.ended(process))
        return process

    def ended(self, process):
        if process.child.poll() is not None:
            raise RuntimeError(f"{process.child.args[0]} has ended: {process.log.read_text()}")

    def stop(self, process):
        self.processes.remove(process)
        process.stop()

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path
