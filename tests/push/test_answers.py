#!/usr/bin/env python3
"""Each kind of answer settles a pushed message as docs/push.md states."""
import tempfile
import time

from pushing import GIVEN, OK, App, Daemon, answer, main, wait_for

# With this backoff a message that failed does not come again during the test.
LATE = {"backoff": {"base_ms": 3600000, "max_ms": 3600000}}


def hang(request):
    request.app.ending.wait(30)


def drip(request, first, drop):
    """Sends `first`, then repeats `drop` until the program ends."""
    request.connection.sendall(first)
    while not request.app.ending.wait(0.001):
        request.connection.sendall(drop)


def send(request, bytes_sent):
    request.connection.sendall(bytes_sent)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FAILURES = {
    "hang": (hang, "no answer within 700 ms"),
    "nothing": (lambda r: None, ""),
    "half_of_a_status": (lambda r: send(r, b"HTTP/1.1 20"), ""),
    "half_of_a_head": (lambda r: send(r, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: b"), ""),
    "head_without_its_end": (lambda r: send(r, b"HTTP/1.1 200 OK\r\nX-A: b\r\n"), ""),
    "only_a_status": (lambda r: send(r, b"HTTP/1.1 204 No Content\r\n"), ""),
    "half_of_a_body": (lambda r: send(r, b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"), ""),
    "half_of_the_chunks": (
        lambda r: send(r, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"), ""),
    "only_100": (lambda r: send(r, b"HTTP/1.1 100 Continue\r\n\r\n"), ""),
    "only_103": (lambda r: send(r, b"HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n"), ""),
    "endless_head": (lambda r: drip(r, b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n" * 100), "larger than 16 KiB"),
    "endless_header": (lambda r: drip(r, b"HTTP/1.1 200 OK\r\nX-A: ", b"b" * 1000), "too long"),
    "endless_100": (lambda r: drip(r, b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), "larger than 16 KiB"),
    "endless_body": (lambda r: drip(r, b"HTTP/1.1 200 OK\r\n\r\n", b"b" * 1000000), "larger than 16 MiB"),
    "endless_chunks": (
        lambda r: drip(r, CHUNKED, b"f4240\r\n" + b"b" * 1000000 + b"\r\n"),
        "larger than 16 MiB"),
    "endless_chunk_size": (
        lambda r: drip(r, CHUNKED, b"0" * 1000), ""),
    "slow_drops": (
        lambda r: drip(r, b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", b"b"), "no answer within 700 ms"),
    "garbage": (lambda r: b"\x00\xff\r\n\r\n -1\r\n" * 20, "not HTTP/1.1"),
    "other_protocol": (lambda r: b"SSH-2.0-OpenSSH_9.2\r\n", "not HTTP/1.1"),
    "status_of_four_digits": (lambda r: b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", "not HTTP/1.1"),
    "status_0": (lambda r: b"HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n", ""),
    "switch": (lambda r: b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", ""),
    "negative_length": (lambda r: b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n12", ""),
    "status_301": (lambda r: answer(301, b"", f"Location: http://127.0.0.1:{r.app.other}/moved"), "HTTP 301"),
    "status_307": (lambda r: answer(307, b"", f"Location: http://127.0.0.1:{r.app.other}/moved"), "HTTP 307"),
    "status_304": (lambda r: b"HTTP/1.1 304 Not Modified\r\n\r\n", "HTTP 304"),
    "status_400": (lambda r: answer(400, {"no": 1}), "HTTP 400"),
    "status_401": (lambda r: answer(401, b"", 'WWW-Authenticate: Basic realm="x"'), "HTTP 401"),
    "status_404": (lambda r: answer(404, b"no"), "HTTP 404"),
    "status_407": (lambda r: answer(407, b"", 'Proxy-Authenticate: Basic realm="x"'), "HTTP 407"),
    "status_417": (lambda r: answer(417), "HTTP 417"),
    "status_500": (lambda r: answer(500, b"x" * 70000), "HTTP 500"),
    "status_599": (lambda r: answer(599), "HTTP 599"),
}  # fmt: skip


def test_failures():
    """Each failure counts, its message is due after the backoff, and no other request is sent."""
    with App() as other:
        apps = {name: App(act) for name, (act, _) in FAILURES.items()}
        for app in apps.values():
            app.other = other.port
        # What ends by its size has a long time-out: a busy machine is slow.
        targets = {
            name: {"url": apps[name].url, "timeout_ms": 30000 if "long" in reason or "larger" in reason else 700}
            for name, (_, reason) in FAILURES.items()
        }
        with Daemon(targets) as daemon:
            ids = {}
            for name in apps:
                daemon.put(name, **LATE)
                ids[name] = daemon.send(name, {"of": name})[0]
            for name, (_, reason) in FAILURES.items():
                message = wait_for(
                    lambda name=name: (m := daemon.message(name, ids[name])) and m["state"] == "delayed" and m,
                    what=lambda name=name: (name, daemon.message(name, ids[name]), daemon.target(name)),
                )
                assert message["receives"] == 1 and message["reason"], (name, message)
                assert reason in message["reason"], (name, message)
                failed = daemon.target(name)
                assert failed["counts"]["failed"] == 1 and failed["state"] == "on", (name, failed)
                assert failed["last_failure"]["detail"] == message["reason"], (name, failed)
                assert len(apps[name].requests) == 1, (name, [r.line for r in apps[name].requests])
                print("  ", name, "->", message["reason"])
            assert other.connections == 0
            wait_for(lambda: len(daemon.events("push_failed")) == len(FAILURES))
            wait_for(lambda: daemon.metric("patternd_push_requests_open") == 0)
            # A target that failed gets messages again.
            for name, app in apps.items():
                app.answer = lambda request: OK
                daemon.send(name, "again")
            for name, app in apps.items():
                wait_for(lambda app=app: len(app.requests) == 2, what=name)
        for app in apps.values():
            app.__exit__()


DONE = {
    "204": OK,
    "200": answer(200),
    "299": answer(299, b"<html>"),
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n0\r\nX-Trailer: 1\r\n\r\n",
    "until_it_closes": b"HTTP/1.0 200 OK\r\n\r\nall of it",
    "after_100": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + OK,
    "lines_by_lf": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "no_json": answer(200, b"{", "Content-Type: application/json"),
    "nul_in_header": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: \xff\xfe\r\n\r\n",
    "larger": answer(200, b'"' + b"x" * 70000 + b'"', "Content-Type: application/json"),
    "much_larger": answer(200, b"x" * 5000000),
    "encoded": answer(200, b"\x1f\x8b\x08", "Content-Type: application/json", "Content-Encoding: gzip"),
}


def test_done():
    """Any 2xx acknowledges, whatever its body."""

    def act(request):
        if request.json == "until_it_closes":
            return request.connection.sendall(DONE["until_it_closes"])
        return DONE[request.json]

    with App(act) as app, Daemon({"q": app}) as daemon:
        ids = {name: daemon.send("q", name)[0] for name in DONE}
        for name in DONE:
            wait_for(lambda name=name: daemon.message("q", ids[name]) is None, what=name)
        wait_for(lambda: daemon.is_empty("q"))
        app.check_once()
        assert len(app.requests) == len(DONE)
        counts = daemon.target("q")["counts"]
        assert counts.pop("acknowledged") == len(DONE) and not any(counts.values()), counts
        wait_for(lambda: len(daemon.events("push_result_dropped")) == 2)


def test_dead():
    """Patternd-Dead makes a dead letter at once, whatever the status."""
    said = {
        "plain": (answer(422, b"", "Patternd-Dead: no such customer"), "no such customer"),
        "fine": (answer(200, b"", "patternd-dead:  really  "), "really"),
        "busy": (answer(503, b"", "Patternd-Dead: x"), "x"),
        "empty": (answer(400, b"", "Patternd-Dead:"), "HTTP 400"),
        "utf8": (answer(400, b"", "Patternd-Dead: \xc3\xbc"), "ü"),
        "hostile": (answer(400, b"", "Patternd-Dead: \xff\x01\x1b[31m" + "y" * 2000), "???[31m" + "y" * 248),
        "cut": (answer(400, b"", "Patternd-Dead: " + "y" * 254 + "\xc3\xbc"), None),
    }
    with App(lambda r: said[r.json][0]) as app, Daemon({"q": app}) as daemon:
        for name, (_, reason) in said.items():
            message_id = daemon.send("q", name)[0]
            message = wait_for(
                lambda i=message_id: (m := daemon.message("q", i)) and m["state"] == "dead" and m,
                what=lambda i=message_id: (i, daemon.message("q", i)),
            )
            assert message["receives"] == 1 and reason in (None, message["reason"]), (name, message)
            assert reason or message["reason"].startswith("yyy"), (name, message)
        assert daemon.target("q")["counts"]["dead"] == len(said)
        app.check_once()


def test_busy():
    """429 and 503 return the message uncounted, and the target sends nothing during the pause."""
    waits = {"1": 1, None: 1, "soon": 1}
    for status in (429, 503):
        for value in waits:
            said = [answer(status, b"", *([f"Retry-After: {value}"] if value else [])), OK]
            with App(lambda r, said=said: said.pop(0)) as app, Daemon({"q": app}) as daemon:
                message_id = daemon.send("q", 1)[0]
                wait_for(lambda: len(app.requests) == 1)
                busy = wait_for(lambda: (t := daemon.target("q"))["reason"] == "busy" and t)
                assert busy["reason"] == "busy" and busy["allowed"] == 1, busy
                assert busy["until_ms"] - time.time() * 1000 <= 1600, busy
                assert 0 <= time.time() * 1000 - busy["failing_since_at_ms"] < 10000, busy
                wait_for(lambda: daemon.message("q", message_id)["state"] == "delayed")
                message = daemon.message("q", message_id)
                assert message["receives"] == 0 and message["reason"] is None, message
                other = daemon.send("q", 2)[0]  # due now, and not pushed before the pause ends
                said.append(OK)
                wait_for(lambda: daemon.is_empty("q"), what=lambda: daemon.target("q"))
                first, *later = app.requests
                assert all(r.at - first.at > 0.95 for r in later) and len(later) == 2, (status, value)
                assert {r.delivery for r in later} == {(message_id, 1), (other, 1)}
                goes_on = daemon.target("q")
                assert goes_on["state"] == "on" and goes_on["reason"] is None, goes_on
                assert goes_on["counts"]["busy"] == 1 and goes_on["counts"]["failed"] == 0, goes_on


def test_busy_dates():
    """Retry-After may be a date. A wait is at most an hour."""
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 60))
    for value, least, most in ((date, 50, 61), ("99999999999999999999", 3590, 3600)):
        said = [answer(429, b"", f"Retry-After: {value}")]
        with App(lambda r, said=said: said.pop(0) if said else OK) as app, Daemon({"q": app}) as daemon:
            daemon.send("q", 1)
            busy = wait_for(lambda: (t := daemon.target("q"))["reason"] == "busy" and t)
            assert least * 1000 <= busy["until_ms"] - time.time() * 1000 <= most * 1000, (value, busy)


def test_busy_without_a_pause():
    """A Retry-After of 0 or in the past does not shorten the daemon's own pauses, which grow. No
    message pays for a busy program, though others were acknowledged before.
    """
    for value in ("0", "Thu, 01 Jan 1970 00:00:01 GMT", "1"):
        warm = [OK]
        busy = answer(503, b"", f"Retry-After: {value}")
        app = App(lambda r, warm=warm, busy=busy: warm.pop() if warm else busy)
        with app, Daemon({"q": {"url": app.url, "concurrency": 1}}) as daemon:
            daemon.put("q", max_receives=1)
            daemon.send("q", "warm")
            wait_for(lambda: daemon.is_empty("q"))
            daemon.send("q", *range(100))
            wait_for(lambda: len(app.requests) >= 5, 20)
            _, *at = [r.at for r in app.requests[:5]]
            pauses = [later - earlier for earlier, later in zip(at, at[1:])]
            assert all(p > least for p, least in zip(pauses, (0.95, 0.95, 1.95))), (value, pauses)
            time.sleep(1)
            assert len(app.requests) == 5, (value, pauses)
            assert not daemon.counts("q")["dead"], daemon.counts("q")
            assert all(r.delivery[1] == 1 for r in app.requests)


def test_refused_message():
    """A message that the program refuses while it takes others is due later each time, and holds
    the others up for a second.
    """

    def act(request):
        return answer(503, b"", "Retry-After: 0") if request.json == "refused" else OK

    with App(act) as app, Daemon({"q": app}) as daemon:
        refused = daemon.send("q", "refused")[0]
        for n in range(4):
            wait_for(lambda n=n: len(app.pushes(refused)) > n, 20)
            daemon.send("q", "other")
            wait_for(lambda: daemon.counts("q")["ready"] + daemon.counts("q")["in_flight"] == 0)
        at = [r.at for r in app.pushes(refused)][:4]
        pauses = [later - earlier for earlier, later in zip(at, at[1:])]
        assert all(p > least for p, least in zip(pauses, (0.95, 0.95, 1.95))), pauses
        message = daemon.wait_for_state("q", refused, "delayed")
        assert message["receives"] == 0, message
        assert daemon.target("q")["counts"]["acknowledged"] == 4


def found(daemon):
    status, _, told = daemon.ask("GET", "/overview")
    assert status == 200, told
    return next((f for f in told["findings"] if f["kind"] == "push_failing"), None)


def test_a_program_that_fails_all_is_found():
    """The overview names the target of a program from the tenth failure in a row, until the program
    acknowledges a message.
    """
    with App(lambda request: answer(200 if request.json == "good" else 500)) as app, Daemon({"q": app}) as daemon:
        daemon.put("q", **LATE)
        began_ms = time.time() * 1000
        for count, is_found in ((9, False), (1, True)):
            before = daemon.target("q")["failed_in_a_row"]
            daemon.send("q", *["bad"] * count)
            wait_for(lambda: daemon.target("q")["failed_in_a_row"] == before + count)
            time.sleep(2.1)  # an answer is shared for 2 s
            assert bool(found(daemon)) == is_found, found(daemon)
        finding = found(daemon)
        assert finding["name"] == "q" and finding["severity"] == "error", finding
        assert began_ms - 1 <= finding["since_at_ms"] <= began_ms + 2000, (began_ms, finding)
        assert finding["detail"] == f"the last 10 requests to {app.url} failed: HTTP 500", finding
        daemon.send("q", "good")
        wait_for(lambda: not found(daemon))
        assert daemon.target("q")["failed_in_a_row"] == 0
        assert daemon.target("q")["failing_since_at_ms"] is None


def test_failures_of_an_hour_ago_are_not_found():
    """The messages may have been purged, so that none can succeed."""
    with tempfile.NamedTemporaryFile() as later, App(lambda request: answer(500)) as app:
        leaps = {"LD_PRELOAD": GIVEN["PATTERND_CLOCK_AHEAD"], "CLOCK_LATER_FILE": later.name}
        leaps["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        with Daemon({"q": app}, environment=leaps) as daemon:
            daemon.put("q", **LATE)
            daemon.send("q", *["bad"] * 10)
            wait_for(lambda: found(daemon))
            later.truncate(3600)
            wait_for(lambda: not found(daemon))
            assert daemon.target("q")["failed_in_a_row"] == 10


def test_busy_at_once():
    """Several busy answers at the same time are one pause, as long as the longest."""
    gate = []

    def act(request):
        if not gate and request.json == "warm":
            return OK
        wait_for(lambda: len(gate) > 0)
        if request.json == "long":
            return answer(429, b"", "Retry-After: 20")
        time.sleep(0.05)
        return answer(503)

    with App(act) as app, Daemon({"q": {"url": app.url, "concurrency": 20}}) as daemon:
        daemon.send("q", *["warm"] * 25)
        wait_for(lambda: daemon.is_empty("q") and daemon.target("q")["allowed"] == 20)
        daemon.send("q", *(["short"] * 19 + ["long"]))
        wait_for(lambda: app.active == 20)
        gate.append(1)
        wait_for(lambda: app.active == 0)
        busy = wait_for(lambda: (t := daemon.target("q"))["counts"]["busy"] == 20 and t)
        assert 15000 < busy["until_ms"] - time.time() * 1000 < 21000, busy
        wait_for(lambda: daemon.counts("q")["in_flight"] == 0)
        delayed = daemon.ask("GET", "/queues/q/messages?state=delayed")[2]["items"]
        delays = [message["deliver_at_ms"] - time.time() * 1000 for message in delayed]
        assert sum(d > 2500 for d in delays) == 1, delays


if __name__ == "__main__":
    main(at_once=4)
