"""Helpers for tests of the Python client: a way to a daemon that can be shut, opened and made mute,
and functions that several tests use.
"""
import concurrent.futures
import socket
import threading
import time


def until(look, what, seconds=30):
    """Waits until `look` returns something true, and returns it."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.005)
    return seen


def raised(kind, function):
    """Returns the error of a call that has to fail, and how many seconds the call took."""
    began = time.monotonic()
    try:
        value = function()
    except kind as error:
        return error, time.monotonic() - began
    raise AssertionError(f"no {kind.__name__}, but {value!r}")


class Gate:
    """A way to the daemon at the port `target`. Without a `target` no request is answered.
    `sockets` are the open sockets of clients, and `count` is how many connections were made. While
    `is_mute` is set, the gate closes a connection instead of passing an answer.
    """

    def __init__(self, target=None):
        self.target, self.sockets, self.is_mute, self.count, self.port = target, set(), False, 0, 0
        self.open()

    def open(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self.count += 1
            self.sockets.add(client)
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client):
        daemon = None
        try:
            if self.target is not None:
                daemon = socket.create_connection(("127.0.0.1", self.target))
                threading.Thread(target=self._answer, args=(daemon, client), daemon=True).start()
            while data := client.recv(65536):
                if daemon is not None:
                    daemon.sendall(data)
        except OSError:
            pass
        self._end(client, daemon)

    def _answer(self, daemon, client):
        try:
            while (data := daemon.recv(65536)) and not self.is_mute:
                client.sendall(data)
        except OSError:
            pass
        self._end(client, daemon)

    def _end(self, *sockets):
        for each in sockets:
            if each is not None:
                self.sockets.discard(each)
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                each.close()

    def shut(self):
        """Refuses new connections, and ends the open ones."""
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        self._end(*self.sockets)


def run_tests(names, alone=()):
    """Runs `alone` first, then all other `test_...` at once, because they mostly wait."""

    def run(name):
        began = time.monotonic()
        names[name]()
        print(f"{name} {time.monotonic() - began:.1f} s", flush=True)

    for name in alone:
        run(name)
    tests = [name for name in names if name.startswith("test_") and name not in alone]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for result in [pool.submit(run, name) for name in tests]:
            result.result()
