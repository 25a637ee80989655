"""A caller of the daemons: it sends each call to one daemon, and writes the call with its outcome
to the history.
"""
import collections
import concurrent.futures
import http.client
import json
import random
import threading
import time

from stage import GaveUp

PATIENCE_S = 4  # beyond wait_ms; a daemon's own is --redis-timeout-ms
LOOKS_MOST = 100
SETTLED_MOST_S = 120  # longer than any outage
REMEMBERED = 20  # requests that may be repeated later


class Answer:
    def __init__(self, status, body, headers):
        self.status, self.body, self.headers = status, body, headers

    @property
    def is_ok(self):
        return 200 <= self.status < 300

    def is_worth_more_than(self, other):
        """Whether this answer granted something and the other answer to the same request did not.
        """
        return self.is_ok and not self.is_empty and (not other.is_ok or other.is_empty)

    @property
    def is_empty(self):
        """Whether this is the answer to a receive that found no messages."""
        return isinstance(self.body, dict) and self.body.get("messages") == []

    @property
    def effect(self):
        if self.status == 0:
            return self.body["effect"]
        return "applied" if self.is_ok else (self.body or {}).get("effect", "unknown")

    @property
    def is_settled(self):
        """Whether another attempt would have the same answer."""
        return self.is_ok or 400 <= self.status < 500 and (self.body or {}).get("code") != "request_in_progress"


NOT_SENT = Answer(0, {"effect": "none"}, {})
NO_ANSWER = Answer(0, {"effect": "unknown"}, {})


class Client:
    """One of the concurrent callers; not shared by threads."""

    def __init__(self, name, ports, recorder, rng, sales=()):
        self.name, self.ports, self.recorder, self.rng, self.sales = name, ports, recorder, rng, sales
        self.is_stopping = threading.Event()  # when set, the caller begins nothing new
        self.is_hopeless = threading.Event()  # when set, the caller no longer waits for an outcome
        self.connections = {}
        self.keys = 0
        self.answered = collections.deque(maxlen=REMEMBERED)
        self.twin, self.second_thread = None, None

    def ask(self, daemon, method, path, body, headers, patience_s):
        connection = self.connections.get(daemon)
        if not connection:
            connection = http.client.HTTPConnection("127.0.0.1", self.ports[daemon], timeout=patience_s)
            try:
                connection.connect()
            except OSError:
                return NOT_SENT
            self.connections[daemon] = connection
        connection.sock.settimeout(patience_s)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            text = response.read()
            if response.will_close:
                self.disconnect(daemon)
            if not text and response.status != 204:  # http.client reads headers that were cut off as complete
                raise http.client.IncompleteRead(text)
            return Answer(response.status, json.loads(text) if text else None, response.headers)
        except (OSError, http.client.HTTPException, ValueError):
            self.disconnect(daemon)
            return NO_ANSWER

    def disconnect(self, daemon):
        connection = self.connections.pop(daemon, None)
        if connection:
            connection.close()

    def another(self, daemon):
        return self.rng.choice([i for i in range(len(self.ports)) if i != daemon] or [daemon])

    def call(self, what, on, method, path, sent=None, body=None, headers=None, op=None, key=None, daemon=None):
        """Sends a request once, to `daemon` or else to a random one. `sent` is what the history
        records of the request, by default its body.
        """
        daemon = self.another(None) if daemon is None else daemon
        headers = dict(headers or {})
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key:
            headers["Idempotency-Key"] = key
        patience_s = PATIENCE_S + max((body or {}).get(name, 0) for name in ("wait_ms", "wait_result_ms")) / 1000
        start_us = self.recorder.now_us()
        answer = self.ask(daemon, method, path, json.dumps(body) if body is not None else None, headers, patience_s)
        self.recorder.write(
            "call",
            op=op or self.recorder.next_op(),
            what=what,
            on=on,
            worker=self.name,
            keyed=bool(key),
            daemon=daemon,
            start_us=start_us,
            gave_up_us=self.recorder.now_us(),
            status=answer.status,
            effect=answer.effect,
            retry_after=answer.headers.get("Retry-After"),
            sent=sent if sent is not None else body,
            got=answer.body,
        )
        if answer.status == 0 or answer.status >= 500:
            time.sleep(self.rng.uniform(0.02, 0.1))  # as any caller would, before it retries
        return answer

    def settle(self, what, on, method, path, sent=None, body=None, headers=None):
        """Sends a request with an Idempotency-Key, and retries it, each time at another daemon,
        until an answer states the outcome or the run ends. Sometimes it sends the request to two
        daemons at once. Sometimes it repeats the request, immediately or later, when its grant may
        have ended.
        """
        if self.answered and self.chance(0.15):
            self.repeat(*self.rng.choice(self.answered))
        self.keys += 1
        request = {
            "what": what,
            "on": on,
            "method": method,
            "path": path,
            "sent": sent,
            "body": body,
            "headers": headers,
            "key": f"{self.name}-{self.keys}",
            "op": self.recorder.next_op(),
        }
        daemon = self.another(None)
        takes_keys = method == "POST"
        second = self.ask_twice(request, daemon) if takes_keys and self.chance(0.1) else None
        deadline = time.monotonic() + SETTLED_MOST_S
        while True:
            answer = self.call(**request, daemon=daemon)
            if answer.is_settled or self.is_hopeless.is_set():
                break
            if time.monotonic() > deadline:
                raise GaveUp(f"for {SETTLED_MOST_S} s no answer to {method} {path} stated the outcome")
            daemon = self.another(daemon)
        if second and second.result().is_worth_more_than(answer):
            answer = second.result()
        if answer.is_ok and takes_keys:
            self.answered.append((request, daemon))
            if self.chance(0.1):
                self.repeat(request, daemon)
        return answer

    def repeat(self, request, daemon):
        self.call(**request, daemon=self.another(daemon))

    def ask_twice(self, request, daemon):
        """Sends the same request to another daemon while the first is under way. Returns a future
        of the answer.
        """
        if not self.twin:
            self.twin = Client(self.name + "-twin", self.ports, self.recorder, random.Random(self.name))
            self.second_thread = concurrent.futures.ThreadPoolExecutor(1)
        return self.second_thread.submit(self.twin.call, **request, daemon=self.another(daemon))

    def look(self, what, on, path):
        """Sends a GET until it succeeds."""
        for _ in range(LOOKS_MOST):
            answer = self.call(what, on, "GET", path)
            if answer.is_ok:
                return answer
        raise GaveUp(f"no answer to GET {path}")

    def pause(self, least_s, most_s):
        time.sleep(self.rng.uniform(least_s, most_s))

    def chance(self, of):
        return self.rng.random() < of
