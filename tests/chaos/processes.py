"""Starts, kills, stops and restarts the processes of a run, by name, and sends commands to a Redis.
The processes die with the main thread, which alone starts them.
"""
import os
import pathlib
import random
import signal
import socket
import subprocess
import time


REDIS_SERVER = os.environ.get("PATTERND_TEST_REDIS") or "redis-server"


class GaveUp(Exception):
    """The stage does not reach the expected state. This is not a verdict on the daemon."""


def wait_until(condition, seconds, what):
    """Checks the condition every 10 ms until it holds, and returns its value."""
    until = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > until:
            raise GaveUp(f"waited {seconds} s in vain for {what}")
        time.sleep(0.01)


taken_ports = set()


def free_port():
    """A free port that a restarted program can use again: it is below the ports of outgoing
    connections.
    """
    for _ in range(1000):
        port = random.SystemRandom().randrange(11000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in taken_ports:
            taken_ports.add(port)
            return port
    raise GaveUp("no free port")


def redis(port, *words, timeout=2.0):
    """Redis's reply to a command: text, a number, a list, or None if no reply comes. An error is
    text, too.
    """

    def reply(stream):
        line = stream.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("cut off")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else stream.read(int(rest) + 2)[:-2].decode(errors="replace")
        if kind == b"*":
            return [reply(stream) for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode(errors="replace")

    said = [str(word).encode() for word in words]
    try:
        with socket.create_connection(("127.0.0.1", port), timeout) as connection, connection.makefile("rb") as stream:
            connection.sendall(b"*%d\r\n" % len(said) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in said))
            return reply(stream)
    except OSError:
        return None


class Process:
    """A program that faults can harm. `is_up` returns whether it serves; `announced_port` is the
    port that it announces to others.
    """

    def __init__(self, name, folder, port, command, is_up, environment=(), announced_port=None):
        self.name, self.port, self.command, self.is_up = name, port, [str(word) for word in command], is_up
        self.announced_port = announced_port or port
        self.log_path = pathlib.Path(folder, name + ".log")
        self.environment = dict(os.environ, **dict(environment))
        self.child = None
        self.is_stopped = False

    def start(self):
        if self.child:
            return
        with self.log_path.open("ab") as log:
            self.child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
            )

    def wait_up(self, seconds=15):
        wait_until(lambda: self.is_up(self.port) or self.has_ended(), seconds, self.name)
        if self.has_ended():
            raise GaveUp(f"{self.name} ended:\n{self.log_path.read_text(errors='replace')[-2000:]}")

    def has_ended(self):
        """Whether the program ended by itself; after kill() there is no child."""
        return self.child is not None and self.child.poll() is not None

    def kill(self):
        """Ends the program like a power failure, without any clean-up."""
        if self.child:
            self.child.kill()
            self.child.wait()
        self.child, self.is_stopped = None, False

    def send_signal(self, what):
        if self.child:
            self.child.send_signal(what)

    def end(self, seconds):
        """Sends SIGTERM, and returns the exit status. Returns "none" if the program did not end in
        time and was killed.
        """
        self.send_signal(signal.SIGCONT)
        self.send_signal(signal.SIGTERM)
        try:
            status = self.child.wait(seconds) if self.child else 0
        except subprocess.TimeoutExpired:
            status = "none"
        self.kill()
        return status

    def stop(self):
        self.send_signal(signal.SIGSTOP)
        self.is_stopped = self.child is not None

    def go_on(self):
        if self.is_stopped:
            self.send_signal(signal.SIGCONT)
        self.is_stopped = False
