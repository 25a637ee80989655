"""Tests how calls of the Python client end, with a daemon that patternd.testing starts."""
import asyncio
import contextlib
import gc
import logging
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from urllib.parse import quote

import patternd.aio
from gate import Gate, raised, run_tests, until
from patternd import Client, LockHeld, LockLost, Problem
from patternd._lease import Lease
from patternd._requests import Call, Settings
from patternd._threads.keeper import Keeper
from patternd.testing import daemon


class Interrupted(BaseException):
    """A signal handler raises it, like a soft time limit."""


def interrupted(call, after, begins=lambda: True):
    """Ends a call by an exception from a signal handler, `after` seconds after it begins. Works
    only in the main thread.
    """

    def interrupt(*_):
        raise Interrupted

    def alarm():
        until(begins, "the call begins")
        time.sleep(after)
        # With os.kill Linux may choose another thread, and then the main thread sleeps on.
        signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, interrupt)
    thread = threading.Thread(target=alarm)
    thread.start()
    try:
        return raised(Interrupted, call)[0]
    finally:
        thread.join()
        signal.signal(signal.SIGALRM, before)


def test_an_exception_closes_the_connection_of_each_call_that_waits():
    gc.disable()  # the collector must not close by chance what is left open
    calls = [
        lambda client: client.request("GET", "/x"),
        lambda client: client.lock("x", wait_ms=9000).acquire(),
        lambda client: client.queue("q").receive(wait_ms=9000),
        lambda client: next(client.queue("q").messages(wait_ms=9000)),
        lambda client: client.limit("k", limit=1, window_ms=1000, wait_ms=9000),
        lambda client: client.cached("k", 1000, lambda: 1),
        lambda client: client.hold("x", wait_ms=9000).__enter__(),
        lambda client: client.listen("t").__enter__(),
        lambda client: client.queue("q").work(print, signals=False, drain_ms=0),
    ]
    for number, call in enumerate(calls):
        gate, opened = Gate(), set()
        asking = Client(gate.url)
        # The error's traceback refers to all that the call had.
        error = interrupted(lambda: call(asking), 0.05, lambda: opened.update(gate.sockets) or opened)
        until(lambda: not gate.sockets & opened, f"the connection of call {number} ends")
        del error
    gc.enable()


def test_a_timeout_leaves_no_descriptor():
    gc.disable()
    gate = Gate()
    mute = Client(gate.url, timeout_ms=200, attempt_ms=50)
    raised(Problem, lambda: mute.request("GET", "/x"))
    until(lambda: not gate.sockets, "all connections end")
    gc.enable()


def test_a_waiter_that_is_interrupted_leaves_the_wait_queue():
    holder = client.lock("waited").acquire()
    interrupted(lambda: client.lock("waited", ttl_ms=60000, wait_ms=9000).acquire(), 0.1)
    until(lambda: client.request("GET", "/locks/waited").body["waiter_count"] == 0, "it leaves")
    holder.release()
    until(lambda: not client.request("GET", "/locks/waited").body["held"], "it is free")
    interrupted(lambda: client.queue("ghost").receive(wait_ms=9000), 0.1)
    time.sleep(0.1)
    client.queue("ghost").send("a")  # what it may have been granted is asked for, and returned
    until(lambda: client.queue("ghost").get()["in_flight"] == 0, "nobody has it")
    message = client.queue("ghost").receive(wait_ms=9000)
    assert message.receives == 1 and message.acknowledge()


def test_a_lock_that_nothing_refers_to_is_not_extended():
    """An interrupt may come between a grant and its `with` block."""
    lock = client.lock("forgotten", ttl_ms=300).acquire()
    gone = weakref.ref(lock)
    del lock
    assert gone() is None, "a reference is kept"
    until(lambda: not client.request("GET", "/locks/forgotten").body["held"], "it expires", 1.5)


def test_an_exception_at_any_step_keeps_no_later_lease_waiting():
    """A Condition that is locked when the exception comes would stay locked for ever."""

    def extended():
        yield

    def leases():
        return [Lease(60000, time.monotonic() + 60, extended, print) for _ in "abc"]

    for step in range(1, 120):
        keeper, left = Keeper(print), [step]

        def trace(frame, event, _, left=left):
            if not frame.f_code.co_filename.endswith("keeper.py"):
                return None
            frame.f_trace_opcodes = True
            left[0] -= event == "opcode"
            if left[0] == 0 and event == "opcode":
                raise Interrupted
            return trace

        kept = leases()
        sys.settrace(trace)
        try:
            for lease in kept:
                keeper.keep(lease)
            keeper.drop(kept[0])
        except Interrupted:
            pass
        finally:
            sys.settrace(None)
        more = leases()
        other = threading.Thread(target=lambda: [keeper.keep(lease) for lease in more], daemon=True)
        other.start()
        other.join(2)
        assert not other.is_alive(), f"step {step} has left a lock"


class Stalled:
    """A way to the daemon that passes requests on once `may_pass` is set, also requests of clients
    that have left: a Redis that was stopped for a moment executes them.
    """

    def __init__(self):
        self.may_pass, self.count = threading.Event(), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        request = client.recv(65536)
        self.count += 1
        self.may_pass.wait()
        with client, socket.create_connection(("127.0.0.1", port)) as daemon:
            daemon.sendall(request)
            threading.Thread(target=self.answer, args=(daemon, client)).start()
            while request := client.recv(65536):
                daemon.sendall(request)
            time.sleep(0.3)  # the daemon has done it before it sees that the client has left

    @staticmethod
    def answer(daemon, client):
        try:
            while data := daemon.recv(65536):
                client.sendall(data)
        except OSError:
            pass


def test_what_a_call_got_that_was_ended_is_given_back():
    """Cancelled, timed out and interrupted, with and without a wait, while the daemon stalls."""

    async def cancel(stalled, name, wait_ms):
        async with patternd.aio.Client(stalled.url) as asking:
            queue = asking.queue(name)
            calls = [asking.lock(f"{name}-{n}", ttl_ms=60000, wait_ms=wait_ms).acquire() for n in range(5)]
            calls += [queue.receive(wait_ms=wait_ms, visibility_ms=60000) for _ in range(5)]
            ends = await asyncio.gather(*[asyncio.wait_for(call, 0.4) for call in calls], return_exceptions=True)
            assert all(isinstance(end, asyncio.TimeoutError) for end in ends), ends
            stalled.may_pass.set()
            await asyncio.to_thread(free, name) if sys.version_info > (3, 9) else free(name)

    def time_out(stalled, name, wait_ms):
        brief = Client(stalled.url, timeout_ms=300, attempt_ms=300)
        calls = [brief.lock(f"{name}-{n}", ttl_ms=60000).acquire for n in range(5)]
        calls += [lambda: brief.queue(name).receive(visibility_ms=60000)] * 5
        threads = [threading.Thread(target=raised, args=(Problem, call)) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stalled.may_pass.set()
        free(name)

    def free(name):
        held = lambda: [n for n in range(5) if client.request("GET", f"/locks/{name}-{n}").body["held"]]  # noqa: E731
        queue = client.queue(name)
        time.sleep(0.5)  # what was stalled is done
        until(lambda: not held() and queue.get()["in_flight"] == 0, f"{name}: all is given back", 20)
        messages = client.request("GET", f"/queues/{name}/messages?state=ready").body["items"]
        assert [message["receives"] for message in messages] == [0] * 5, messages

    for wait_ms in (0, 5000):
        for end in (time_out, lambda *what: asyncio.run(cancel(*what))):
            name = f"ended-{wait_ms}-{end.__name__ == 'time_out'}"
            client.queue(name).send_many({"body": n} for n in range(5))
            end(Stalled(), name, wait_ms)


def test_a_refusal_ends_a_doubt_unless_it_may_pass():
    """An attempt without an answer may have been granted, until a later one is refused."""
    settings = Settings("http://127.0.0.1:1", None, 9000, 3000, None, None, None)
    for status, code, effect, is_doubtful in (
        (409, "lock_held", "none", False),
        (409, "request_in_progress", "none", True),
        (503, "not_ready", "none", True),
        (504, "no_answer", "unknown", True),
    ):
        call = Call("POST", "/locks/a", {})
        call.begin(settings, 0)
        for problem in (Problem(504, {"code": "no_answer"}), Problem(status, {"code": code, "effect": effect})):
            assert call.attempt(0)
            with contextlib.suppress(Problem):
                call.failed(problem, 0)
        assert call.may_hold is is_doubtful, code


def test_an_answer_before_the_end_of_the_body_is_read():
    body = {"body": "x" * (8 << 20)}

    async def ask(url):
        async with patternd.aio.Client(url) as asking:
            await asking.request("POST", "/queues/large/messages", body)

    with tempfile.TemporaryDirectory() as folder, daemon(None, "--listen", f"unix:{folder}/socket") as other:
        for url in (started.url, other.url):
            for call in (
                lambda: Client(url).request("POST", "/queues/large/messages", body),
                lambda: Client(url).queue("large").send(body["body"]),
                lambda: asyncio.run(ask(url)),
            ):
                problem, seconds = raised(Problem, call)
                assert problem.code == "body_too_large" and seconds < 5, (problem, seconds)


def test_a_body_that_a_method_does_not_have_leaves_the_connection_to_the_next_call():
    client = Client(started.url)
    for method in ("GET", "DELETE"):
        problem, _ = raised(Problem, lambda: client.request(method, "/queues/zz", {}))  # noqa: B023
        assert problem.code == "unexpected_body", problem
        client.queue("after").send(method)
    assert client.request("OPTIONS", "/queues/zz", {}).status == 204
    client.queue("after").send("OPTIONS")
    client.close()


def test_a_short_extension_is_followed_in_time():
    """It is extended before the time that it was given has passed, and not lost."""
    queue = client.queue("short")
    queue.send(1)
    message = queue.receive(visibility_ms=30000)
    assert message.extend(1000)
    assert not message.lost.wait(2.5)
    assert message.acknowledge()


def test_a_send_waits_for_room_as_long_as_it_may():
    """The wait belongs to the time of one attempt, so that its place is not lost."""
    queue = Client(started.url, attempt_ms=200).queue("room")
    queue.put(max_messages=1)
    queue.send(1)
    problem, took = raised(Problem, lambda: queue.send(2, wait_room_ms=1000))
    assert (problem.code, problem.effect) == ("queue_full", "none"), problem
    assert took > 0.9, took


def test_a_send_may_need_its_queue():
    queue = client.queue("absent")
    for call in (
        lambda: queue.send(1, must_exist=True),
        lambda: queue.send_many([{"body": 1}], must_exist=True),
        lambda: queue.send_many([{"body": 1}, {"body": 2}], must_exist=True),
    ):
        assert raised(Problem, call)[0].detail == "queue 'absent' does not exist"
    queue.send_many([{"body": 1}, {"body": 2}], must_exist=False)
    queue.send_many([{"body": 1}, {"body": 2}], must_exist=True)
    assert queue.get()["ready"] == 4


def test_a_duplicate_is_told_from_a_retry():
    queue = client.queue("deduped")
    first = queue.send(1, dedupe_id="d")
    assert not first["duplicate"]
    again = queue.send(1, dedupe_id="d")
    assert again["duplicate"] and again["id"] == first["id"] and again["sequence"] == first["sequence"]
    told = queue.send_many({"body": 1, "dedupe_id": id} for id in "dee")
    assert [one["duplicate"] for one in told] == [True, False, True]
    with queue.receive() as message:
        assert (message.dedupe_id, message.sequence) == ("d", first["sequence"])


def test_the_receiver_is_named():
    queue = client.queue("named")
    queue.send_many({"body": n, "id": str(n)} for n in range(3))
    held = [queue.receive(), queue.receive(worker="porter"), queue.receive(worker="")]
    assert len(held) == 3
    workers = [queue.get_message(str(n))["worker"] for n in range(3)]
    assert workers == [f"{socket.gethostname()}/{os.getpid()}", "porter", None], workers


def test_no_call_outlives_its_timeout():
    gate = Gate(port)
    brief = Client(gate.url, timeout_ms=1000)
    lock = brief.lock("brief", ttl_ms=60000).acquire()
    hold = brief.hold("held", ttl_ms=60000).__enter__()
    brief.queue("brief").send("a")
    message = brief.queue("brief").receive(visibility_ms=60000)
    gate.shut()
    began = time.monotonic()
    lock.release()  # what cannot be released expires
    assert time.monotonic() - began < 6
    assert raised(LockLost, lambda: hold.__exit__(None))[1] < 6
    for call in (message.acknowledge, message.extend, lambda: brief.cached("k", 1000, lambda: 1)):
        assert raised(Problem, call)[1] < 6, call
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.listen(0)
        for scheme in ("http", "https"):  # a connection that is accepted, and a handshake that is not made
            mute = Client(f"{scheme}://127.0.0.1:{silent.getsockname()[1]}", timeout_ms=300)
            assert raised(Problem, lambda: mute.request("GET", "/x"))[1] < 6
    lost = Client("http://nowhere.invalid", timeout_ms=300)
    assert raised(Problem, lambda: lost.request("GET", "/x"))[1] < 6


def test_what_failed_with_none_can_be_repeated():
    repeat_after("none", lambda gate: gate.shut(), lambda gate: gate.open())


def test_what_failed_with_unknown_can_be_repeated():
    def mute(gate):
        gate.is_mute = True

    def speak(gate):
        gate.is_mute = False

    repeat_after("unknown", mute, speak)


def repeat_after(effect, harm, heal):
    gate = Gate(port)
    unsure = Client(gate.url, timeout_ms=1000)
    queue = unsure.queue(f"repeated-{effect}")
    queue.put(backoff={"base_ms": 0, "max_ms": 0})
    ends = {
        "acknowledge": lambda message: message.acknowledge(),
        "reject": lambda message: message.reject(60000),
        "extend": lambda message: message.extend(),
    }
    for name, end in ends.items():
        queue.send(name)
        message = queue.receive(visibility_ms=20000)
        harm(gate)
        problem, _ = raised(Problem, lambda: end(message))
        assert problem.effect == effect, (name, problem)
        assert not message.lost.is_set() and not message.is_settled
        heal(gate)
        # After a rejection that took effect, the client only learns that the delivery has ended.
        expected = not (name == "reject" and effect == "unknown")
        assert end(message) is expected, name
        assert message.lost.is_set() is not expected
        if name == "extend":
            assert message.acknowledge()
        assert message.acknowledge() is False
    counts = queue.get()
    assert (counts["ready"], counts["delayed"], counts["in_flight"]) == (0, 1, 0), counts


def test_a_delivery_is_lost_in_time_when_its_end_could_not_be_sent():
    gate = Gate(port)
    unsure = Client(gate.url, timeout_ms=500)
    unsure.queue("unsent").send("a")
    began = time.monotonic()
    message = unsure.queue("unsent").receive(visibility_ms=3000)
    gate.shut()
    raised(Problem, message.acknowledge)
    gate.open()
    assert message.lost.wait(6) and time.monotonic() - began < 5, "extended after its end was asked for"
    until(lambda: client.queue("unsent").get()["in_flight"] == 0, "its delivery ends")
    assert not message.acknowledge()


def test_a_first_refused_connection_is_one_warning():
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("patternd").addHandler(handler)
    gate = Gate(port)
    gate.shut()
    away = Client(gate.url, timeout_ms=700)
    problem, _ = raised(Problem, lambda: away.request("GET", "/healthz"))
    own = [line for line in lines if gate.url in line]
    assert len(own) == 1 and "refused" in own[0], own
    assert problem.__cause__ is None and problem.__suppress_context__, "a double traceback"
    gate.open()
    away.request("GET", "/healthz")
    gate.shut()
    raised(Problem, lambda: away.request("GET", "/healthz"))
    own = [line for line in lines if gate.url in line]
    assert len(own) == 2, own
    logging.getLogger("patternd").removeHandler(handler)


def certificates(folder):
    """Makes an authority, and the certificates of a server and a client that it signs."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    subject = ("-nodes", "-days", "2", "-newkey", "rsa:2048")
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")  # Python 3.13 refuses an authority without it
    openssl("req", "-x509", *subject, "-subj", "/CN=authority", *usage, "-keyout", "ca.key", "-out", "ca.pem")
    for name in ("server", "caller"):
        pathlib.Path(folder, f"{name}.cnf").write_text("subjectAltName=IP:127.0.0.1\n")
        files = ("-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl("req", *subject[:1], *subject[3:], "-subj", f"/CN={name}", *files)
        signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2")
        openssl("x509", "-req", "-in", f"{name}.csr", *signing, "-extfile", f"{name}.cnf", "-out", f"{name}.pem")
    return {name: os.path.join(folder, name) for name in os.listdir(folder)}


def test_https_with_an_authority_and_a_client_certificate_and_a_unix_socket():
    with tempfile.TemporaryDirectory() as folder:
        files = certificates(folder)
        path = os.path.join(folder, "socket")
        tls = ("--tls-cert", files["server.pem"], "--tls-key", files["server.key"], "--tls-client-ca", files["ca.pem"])
        with daemon(None, "--listen", f"127.0.0.1:0,unix:{path}", *tls) as secured:
            url = secured.url
            own = {"ca_file": files["ca.pem"], "cert_file": files["caller.pem"], "key_file": files["caller.key"]}
            assert Client(url, **own).queue("q").send(1)["id"]
            problem, _ = raised(Problem, lambda: Client(url, timeout_ms=2000).request("GET", "/healthz"))
            assert "certificate" in problem.detail.lower(), problem
            stranger = Client(url, ca_file=files["ca.pem"], timeout_ms=200)
            raised(Problem, lambda: stranger.request("GET", "/healthz"))
            raised(ValueError, lambda: Client("http://127.0.0.1", ca_file=files["ca.pem"]))

            async def ask():
                for address, more in ((url, own), ("http+unix://" + quote(path, safe=""), {})):
                    async with patternd.aio.Client(address, **more) as asking:
                        assert (await asking.queue("q").get())["ready"] == 1

            asyncio.run(ask())


def test_a_held_lock_is_free_after_it_and_lost_when_its_connection_breaks():
    gate = Gate(port)
    far = Client(gate.url)

    def is_held():
        return client.request("GET", "/locks/hold").body["held"]

    with far.hold("hold", ttl_ms=1000) as hold:
        assert hold.fence and is_held() and not hold.lost.is_set()
        raised(LockHeld, lambda: client.hold("hold").__enter__())
        time.sleep(1.5)
        assert is_held() and not hold.lost.is_set()
    assert not is_held() and not hold.lost.is_set()

    def break_it():
        with far.hold("hold", ttl_ms=1000) as hold:
            gate.shut()
            assert hold.lost.wait(1), "not reported"

    raised(LockLost, break_it)
    until(lambda: not is_held(), "it is free")
    hold = client.hold("hold").__enter__()
    del hold  # its block was never entered
    until(lambda: not is_held(), "it is free")


def test_a_listener_connects_again_and_yields_a_gap():
    gate = Gate(port)
    far, seen = Client(gate.url), []
    with far.listen("prices", "news.*") as events:

        def listen():
            for event in events:
                seen.append((event.type, event.topic, event.body))

        listener = threading.Thread(target=listen)
        listener.start()
        client.publish("prices", {"price": 1})
        until(lambda: seen == [("message", "prices", {"price": 1})], "a message")
        gate.shut()
        time.sleep(0.1)
        gate.open()
        until(lambda: ("gap", None, None) in seen, "a gap")
        client.publish("news.sport", 2)
        until(lambda: seen[-1] == ("message", "news.sport", 2), "a message")
        events.close()
        listener.join(2)
        assert not listener.is_alive(), "close does not end it"


def test_settings_schedules_policies():
    queue = client.queue("made")
    assert queue.put(max_receives=7)["settings"]["max_receives"] == 7
    assert queue.patch(max_receives=None, paused=True)["settings"]["paused"]
    assert queue.get()["settings"]["max_receives"] == 25
    queue.patch(annotations={"some_team": "a", "owner": "b"})
    assert queue.patch(annotations={"owner": None})["settings"]["annotations"] == {"some_team": "a"}
    assert queue.get()["changed_at_ms"] >= queue.get()["created_at_ms"] > 10**12
    for number in range(3):
        queue.put_schedule(f"s{number}", {"n": number}, every_ms=60000)
    assert sorted(each["id"] for each in queue.schedules()) == ["s0", "s1", "s2"]
    assert queue.patch_schedule("s0", priority=2)["priority"] == 2 == queue.get_schedule("s0")["priority"]
    queue.run_schedule("s0")
    queue.patch(paused=False)
    message = queue.receive(wait_ms=1000)
    assert message.schedule["id"] == "s0" and message.acknowledge()
    queue.delete_schedule("s0")
    assert raised(Problem, lambda: queue.get_schedule("s0"))[0].code == "not_found"
    queue.send(1, id="one")
    assert queue.get_message("one")["state"] == "ready"
    taken = queue.receive()
    queue.delete_message("one", in_flight=True)
    assert taken.id == "one" and not taken.acknowledge() and taken.lost
    assert queue.pause(60000)["paused_until_ms"] and queue.pause()["paused"] and not queue.resume()["paused"]
    assert queue.pause_group("tenant-7", 60000)["reason"] == "paused"
    assert [(each["group"], each["reason"]) for each in queue.groups()] == [("tenant-7", "paused")]
    assert queue.resume_group("tenant-7")["reason"] is None
    queue.delete()
    assert client.put_policy("calls", 10, 1000, burst=2)["burst"] == 2
    assert client.patch_policy("calls", limit=20)["limit"] == 20 == client.get_policy("calls")["limit"]
    assert [policy["name"] for policy in client.policies()] == ["calls"]
    client.delete_policy("calls")
    assert list(client.policies()) == []


def test_a_queue_is_purged_and_its_dead_letters_are_redriven():
    queue = client.queue("purged")
    queue.send_many({"id": id, "body": id, "group": f"group-{id}"} for id in "abc")
    for _ in "abc":
        queue.receive().reject(dead=True)
    assert queue.redrive(["b", "d"]) == {"name": "purged", "redriven": 1, "duplicates": 0}
    assert queue.redrive(limit=1, to="purged-2", interval_ms=1000)["redriven"] == 1
    assert queue.redrive(group="group-a")["redriven"] == 0
    assert client.queue("purged-2").receive().body == "a"
    assert [queue.get()[state] for state in ("ready", "dead")] == [1, 1]
    assert queue.purge("ready", group="group-b") == {"name": "purged", "purged": 1}
    assert raised(Problem, lambda: queue.redrive("c"))[0].status == 400, "each letter is an id"
    assert queue.purge()["purged"] == 1 and queue.purge()["purged"] == 0


def test_a_daemon_for_tests_is_ready_whatever_it_logs_and_at_a_unix_socket():
    with tempfile.TemporaryDirectory() as folder:
        listen = f"unix:{folder}/socket"
        for options in (["--log-level", "error"], ["--log-format", "text"], ["--listen", listen]):
            with daemon(None, *options) as started, started.client() as asking:
                assert asking.request("GET", "/readyz").status == 200, options
                assert started.url.startswith("http+unix:" if listen in options else "http://127.0.0.1:")
    assert "loud" in str(raised(RuntimeError, daemon(None, "--log-level", "loud").__enter__)[0])


def test_asyncio_calls_end_when_they_are_cancelled():
    gate = Gate()

    async def cancel():
        async with patternd.aio.Client(gate.url) as asking:
            queue = asking.queue("q")
            calls = [
                lambda: asking.request("GET", "/x"),
                lambda: asking.lock("x", wait_ms=9000).acquire(),
                lambda: queue.receive(wait_ms=9000),
                lambda: asking.limit("k", limit=1, window_ms=1000, wait_ms=9000),
                lambda: asking.cached("k", 1000, lambda: 1),
                lambda: asking.hold("x", wait_ms=9000).__aenter__(),
                lambda: asking.listen("t").__aenter__(),
                lambda: queue.work(print, signals=False),
            ]
            for call in calls:
                task = asyncio.ensure_future(call())
                while not gate.sockets:
                    await asyncio.sleep(0.005)
                opened = set(gate.sockets)
                task.cancel()
                await asyncio.wait({task})
                assert task.cancelled(), task
                deadline = time.monotonic() + 20
                while gate.sockets & opened:
                    assert time.monotonic() < deadline, "the connection does not end"
                    await asyncio.sleep(0.005)

    asyncio.run(cancel())


def test_asyncio_has_the_same():
    gate = Gate(port)

    async def use():
        async with patternd.aio.Client(gate.url) as asking:
            async with asking.lock("aio", ttl_ms=2000) as lock:
                await asyncio.sleep(3)
                assert lock.fence and not lock.lost.is_set()
            async with asking.hold("aio") as hold:
                assert hold.fence > lock.fence
            queue = asking.queue("aio")
            await queue.send_many([{"body": number} for number in range(3)])
            async for message in queue.messages():
                async with message:
                    if message.body == 2:
                        break
            assert (await queue.get())["in_flight"] == 0
            assert (await queue.purge("dead"))["purged"] == (await queue.redrive(["0"], to="aio-2"))["redriven"] == 0
            await queue.put_schedule("s", 1, every_ms=60000)
            assert [each["id"] async for each in queue.schedules()] == ["s"]
            assert await asking.cached("aio", 1000, lambda: asyncio.sleep(0, 7)) == 7
            assert (await asking.limit("aio", limit=1, window_ms=1000)).allowed
            async with asking.listen("aio") as events:
                await asking.publish("aio", 1)
                async for event in events:
                    assert (event.topic, event.body) == ("aio", 1)
                    break
            lock = await asking.lock("aio", ttl_ms=700).acquire()
            gate.shut()
            await asyncio.wait_for(lock.lost.wait(), 2)

    asyncio.run(use())


logging.getLogger("patternd").addHandler(logging.NullHandler())
with daemon() as started:
    client = started.client()
    port = int(started.url.rsplit(":", 1)[1])
    run_tests(
        globals(),
        alone=[
            "test_an_exception_closes_the_connection_of_each_call_that_waits",
            "test_a_timeout_leaves_no_descriptor",
            "test_a_waiter_that_is_interrupted_leaves_the_wait_queue",
            "test_what_a_call_got_that_was_ended_is_given_back",
            "test_an_answer_before_the_end_of_the_body_is_read",
        ],
    )
