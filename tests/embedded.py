"""For tests in Python: starts the daemon with a private Redis on a free port, and sends requests to
it.
"""
import http.client
import json
import os
import pathlib
import socket
import subprocess
import threading


def free_port():
    """A free port."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Daemon:
    """A context manager that runs the daemon. An exit status other than 0 fails the test. If
    `folder` is given, it is created, and keeps the log and the data of Redis. `redis` is the URL of
    another Redis. `environment` has further variables.
    """

    def __init__(self, program, *options, folder=None, redis=None, environment=None):
        server, self.log_path = ["--embedded"], os.devnull
        if folder:
            data = pathlib.Path(folder, "redis")
            data.mkdir(parents=True)
            server, self.log_path = [f"--embedded={data}"], data.with_name("daemon.log")
        if redis:
            server = ["--redis", redis]
        self.command = [str(program), *server, "--listen", "127.0.0.1:0", *options]
        self.environment = os.environ | (environment or {})
        self.port = None

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.environment
        )
        self.log = open(self.log_path, "w", buffering=1)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            self.log.write(line)
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("event") == "listening":
                self.port = int(told["message"].rsplit(":", 1)[1])
            if told.get("event") == "redis_connected":
                break
        else:
            raise AssertionError("the daemon does not start: " + "".join(lines))
        self.reader = threading.Thread(target=self.log.writelines, args=(self.process.stderr,), daemon=True)
        self.reader.start()  # a full pipe would block the daemon
        return self

    def __exit__(self, *_):
        self.process.terminate()
        status = self.process.wait(30)
        self.reader.join(10)
        self.log.close()
        assert status == 0, f"the daemon left with {status}"

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and the parsed body; text where it is not JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            if body is not None and not isinstance(body, bytes):
                body, headers = json.dumps(body).encode(), {"Content-Type": "application/json"} | (headers or {})
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            text = answer.read().decode()
            return (
                answer.status,
                answer.headers,
                json.loads(text) if "json" in answer.headers.get_content_type() else text,
            )
        finally:
            connection.close()
