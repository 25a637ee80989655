"""What a run needs: a Redis, two daemons, a program that gets pushes, and a Prometheus with the
alerts of examples/prometheus.
"""
import http.server
import json
import pathlib
import threading
import urllib.parse
import urllib.request

from stage import Process, free_port, is_ready, redis_server

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
DAEMONS = 2
STOP_S = 20  # more than --drain-ms
SCRAPE_S = 5


def get(port, path, **query):
    """The JSON of an answer."""
    target = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}".removesuffix("?")
    with urllib.request.urlopen(target, timeout=10) as answer:
        return json.load(answer)


def prometheus_is_ready(port):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=1).status == 200
    except OSError:
        return False


class Program(http.server.BaseHTTPRequestHandler):
    """The program that gets pushes. It answers 200 to each of them."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.pushes += 1
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Scene:
    def __init__(self, folder, daemon):
        self.folder = folder
        self.program = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Program)
        self.program.pushes = 0
        # A slow disk of the machine must not matter.
        self.redis = redis_server("redis", folder, free_port(), "--appendfsync", "no")
        targets = folder / "push.json"
        # No program listens at the second address. Only messages to `bills` make the daemon notice.
        ports = {"webhooks": self.program.server_port, "bills": free_port()}
        targets.write_text(json.dumps({name: {"url": f"http://127.0.0.1:{port}/"} for name, port in ports.items()}))
        self.daemons = [self.daemon(f"daemon-{i}", daemon, targets) for i in range(DAEMONS)]
        self.prometheus = self.prometheus_of(free_port())

    def daemon(self, name, program, targets):
        port = free_port()
        command = (program, "--listen", f"127.0.0.1:{port}", "--redis", f"redis://127.0.0.1:{self.redis.port}/0")
        # Locks have metrics, too, so that no rule lacks data. A busy machine may stop Redis for
        # seconds, which must not count.
        options = ("--metrics-names", "queues:*,policies:*,locks:*", "--redis-timeout-ms", "10000")
        command += ("--push", targets, *options, "--log-level", "warn")
        return Process(name, self.folder, port, command, is_ready)

    def prometheus_of(self, port):
        """The interval is shorter than the usual one, so that no short-lived value is missed."""
        addresses = [f"127.0.0.1:{daemon.port}" for daemon in self.daemons]
        configuration = {
            "global": {"scrape_interval": f"{SCRAPE_S}s", "evaluation_interval": f"{SCRAPE_S}s"},
            "rule_files": [str(TREE / "examples/prometheus/patternd.rules.yml")],
            "scrape_configs": [{"job_name": "patternd", "static_configs": [{"targets": addresses}]}],
        }
        file = self.folder / "prometheus.yml"
        file.write_text(json.dumps(configuration))  # YAML contains JSON
        options = (f"--config.file={file}", f"--storage.tsdb.path={self.folder / 'samples'}", "--log.level=warn")
        command = ("prometheus", *options, f"--web.listen-address=127.0.0.1:{port}")
        return Process("prometheus", self.folder, port, command, prometheus_is_ready, [("GOMAXPROCS", "1")])

    def start(self):
        threading.Thread(target=self.program.serve_forever, daemon=True).start()
        for process in (self.redis, *self.daemons, self.prometheus):
            process.start()
            process.wait_up()

    def restart(self, daemon):
        """Ends it as an upgrade does, and starts it again. Returns whether it ended in time."""
        status = daemon.end(STOP_S)
        daemon.start()
        daemon.wait_up()
        return status == 0

    def close(self):
        for process in (self.prometheus, *self.daemons, self.redis):
            process.kill()
        self.program.shutdown()
