"""Tests what the Python client promises, with a daemon. tests/test_libraries.py starts it."""
import concurrent.futures
import os
import pickle
import socket
import threading
import time
from urllib.parse import quote

from patternd import Client, LockHeld, LockLost, Problem

client = Client(os.environ["PATTERND_URL"])


def raised(kind, function):
    try:
        function()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def state(name):
    told = client.request("GET", f"/queues/{name}").body
    return {member: told[member] for member in ("ready", "delayed", "in_flight", "dead")}


def left(**counts):
    return {"ready": 0, "delayed": 0, "in_flight": 0, "dead": 0} | counts


def fills():
    """How often any client has asked for a value or the ticket to make it."""
    of = 'patternd_http_requests_total{operation="cache_fill"'
    lines = client.request("GET", "/metrics").body.splitlines()
    return sum(int(line.rpartition(" ")[2]) for line in lines if line.startswith(of))


def enter(lock):
    with lock:
        raise AssertionError("entered")


def test_lock_is_kept_and_released():
    with client.lock("kept", ttl_ms=2400, owner="test") as lock:
        time.sleep(4)
        assert not lock.lost.is_set()
        problem = raised(LockHeld, lambda: enter(client.lock("kept", wait_ms=50)))
        assert (problem.code, problem.status, problem.effect) == ("lock_held", 409, "none")
        assert 1 <= problem.retry_after <= 3 and "kept" in problem.detail
        assert problem.body["holders"][0]["owner"] == "test"
        assert pickle.loads(pickle.dumps(problem)).code == "lock_held"
    with client.lock("kept") as again:
        assert again.fence > lock.fence
    raised(ZeroDivisionError, lambda: divide_in(client.lock("kept")))
    assert not client.request("GET", "/locks/kept").body["held"]


def divide_in(block):
    with block:
        1 / 0


def test_lock_waits():
    first = client.lock("waited", ttl_ms=9000).acquire()
    threading.Timer(2.6, first.release).start()
    with client.lock("waited", ttl_ms=2400, wait_ms=9000) as second:  # longer than its time to live
        time.sleep(3)
        assert second.fence > first.fence and not second.lost.is_set()


def test_lost_lock_is_reported():
    def lose():
        with client.lock("lost", ttl_ms=6000) as lock:
            client.request("DELETE", "/locks/lost", query={"force": "true"})
            assert lock.lost.wait(4), "not reported within a third of ttl_ms"

    assert raised(LockLost, lose).code == "not_holder"


def test_lost_daemon_loses_the_lock_in_time():
    lonely = Client(os.environ["PATTERND_URL"])
    lock = lonely.lock("lonely", ttl_ms=600).acquire()
    lonely._transport.settings.port = 1
    lonely.close()
    assert lock.lost.wait(2) and abs(time.monotonic() - lock._lease.expires) < 0.5  # a busy machine wakes it late
    raised(LockLost, lock.release)


def test_quorum_lock_goes_without_a_key():
    """Such a daemon refuses an Idempotency-Key: 400 idempotency_unavailable."""
    quorum = Client(os.environ["PATTERND_QUORUM"])
    with quorum.lock("quorum", ttl_ms=2400) as lock:
        time.sleep(4)
        assert lock.fence and not lock.lost.is_set()
        raised(LockHeld, lambda: enter(quorum.lock("quorum")))
    assert not quorum.request("GET", "/locks/quorum").body["held"]


def test_messages_are_acknowledged():
    queue = client.queue("acknowledged")
    parent = "00-0000000000000000000000000000000a-000000000000000b-01"
    sent = queue.send({"n": 1}, id="one", headers={"tenant": "acme"}, traceparent=parent)
    assert (sent["id"], sent["duplicate"], queue.send(None, id="one")["duplicate"]) == ("one", False, True)
    assert len(queue.send_many([{"body": None, "priority": 9}, {"body": "late", "delay_ms": 300, "priority": 9}])) == 2
    stop, seen = threading.Event(), []
    for message in queue.messages(stop):
        seen.append(message.body)
        if message.id == "one":
            assert (message.headers, message.traceparent, message.receives) == ({"tenant": "acme"}, parent, 1)
        if message.body == "late":
            stop.set()
    assert seen == [{"n": 1}, None, "late"] and state("acknowledged") == left()


def test_left_loops_reject():
    queue = client.queue("rejected")
    client.request("PUT", "/queues/rejected", {"backoff": {"base_ms": 0, "max_ms": 0}})
    queue.send("a")
    for leave in (leave_by_error, leave_by_break, leave_by_with):
        leave(queue)
        assert state("rejected") == left(ready=1), leave
    told = client.request("GET", "/queues/rejected/messages").body["items"][0]
    assert told["receives"] == 3 and told["reason"] == "ZeroDivisionError: division by zero", told
    for message in queue.messages():
        assert message.reject(200)
        break
    assert state("rejected") == left(delayed=1)
    for message in queue.messages():
        assert message.acknowledge() and not message.acknowledge()
        break
    assert state("rejected") == left()


def leave_by_error(queue):
    def work():
        for _ in queue.messages():
            1 / 0

    raised(ZeroDivisionError, work)


def leave_by_break(queue):
    for _ in queue.messages():
        break


def leave_by_with(queue):
    messages = queue.messages()  # a second reference, so that the end of the loop does not close it

    def work():
        for message in messages:
            with message:
                1 / 0

    raised(ZeroDivisionError, work)


def test_work_is_extended():
    queue = client.queue("extended")
    queue.send("slow")
    message = queue.receive(visibility_ms=2400, worker="w-1")
    in_flight = client.request("GET", f"/queues/{queue.name}/messages?state=in_flight").body["items"]
    assert [m["worker"] for m in in_flight] == ["w-1"]
    time.sleep(4)
    assert not message.lost.is_set() and state("extended") == left(in_flight=1) and message.acknowledge()
    queue.send("forgotten")
    message = queue.receive(visibility_ms=200, max_work_ms=300)
    assert message.lost.wait(2) and queue.receive(wait_ms=1000).acknowledge() and not message.acknowledge()


def test_late_ends_count():
    queue = client.queue("late")
    client.request("PUT", "/queues/late", {"backoff": {"base_ms": 60000, "max_ms": 60000}, "result_ms": 60000})
    for end in (
        lambda message: message.acknowledge(late=True),
        lambda message: message.acknowledge({"n": 1}, late=True),
        lambda message: message.reject(60000, reason="late", late=True),
    ):
        queue.send("late")
        message = queue.receive(visibility_ms=200, max_work_ms=300)
        assert message.lost.wait(2)
        time.sleep(0.3)  # it is lost a little before its delivery ends
        assert state("late") == left(delayed=1) and end(message)
    assert state("late") == left(delayed=1)
    assert client.request("GET", "/queues/late/messages?state=delayed").body["items"][0]["reason"] == "late"


def test_idle_worker_stops():
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    began = time.monotonic()
    assert not list(client.queue("idle").messages(stop)) and time.monotonic() - began < 4
    queue = client.queue("idle")
    threading.Timer(2.6, queue.send, ("late",)).start()
    message = queue.receive(wait_ms=9000, visibility_ms=2400)  # waits for longer than its visibility
    time.sleep(3)
    assert not message.lost.is_set() and message.acknowledge()


def test_limit():
    granted, refused = [client.limit("user", limit=1, window_ms=60000) for _ in "ab"]
    assert granted.allowed and granted.remaining == 0 and granted.retry_after_ms is None
    assert not refused.allowed and 59000 < refused.retry_after_ms <= 60000 and refused.limit == 1
    assert (refused.window_ms, refused.capacity) == (60000, 1)
    client.request("PUT", "/ratelimit/policies/slow", {"limit": 10, "window_ms": 1000, "burst": 1})
    for _ in "ab":
        waited = client.limit("user", policy="slow", wait_ms=2000)
        assert (waited.allowed, waited.limit, waited.window_ms, waited.capacity) == (True, 10, 1000, 1)


def test_cached():
    calls = []

    def fill():
        calls.append(1)
        time.sleep(0.3)
        return {"n": len(calls)}

    asked = fills()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda _: client.cached("value", ttl_ms=60000, fill=fill), range(8)))
    assert values == [{"n": 1}] * 8 and len(calls) == 1
    assert fills() == asked + 8  # the others wait at the daemon, without asking again
    assert client.cached("nothing", 60000, lambda: None) is None and client.cached("nothing", 60000, fill) is None
    raised(ZeroDivisionError, lambda: client.cached("failing", 60000, lambda: 1 / 0, fill_ms=100))
    assert client.cached("failing", 60000, lambda: 2) == 2
    slow = client.cached("slow", 60000, lambda: time.sleep(0.3) or 3, fill_ms=100)  # its ticket has expired
    assert slow == 3 and client.cached("slow", 60000, lambda: 4) == 4


def test_problems():
    problem = raised(Problem, lambda: client.limit("user", limit=0, window_ms=60000))
    assert (problem.code, problem.status, problem.effect, problem.repeated) == ("out_of_range", 400, "none", False)
    assert problem.body["errors"][0]["pointer"] == "/limit"
    assert raised(Problem, lambda: client.queue("..").send(1)).code == "reserved_name"
    for name in ("a/b", "ü", "a b?c#d", "%2F"):
        client.queue(name).send(1)
        assert state(quote(name, safe="")) == left(ready=1), name
    raised(ValueError, lambda: client.queue("q").send(float("nan")))
    raised(ValueError, lambda: Client("redis://127.0.0.1"))


def test_deadlines():
    nothing = Client("http://127.0.0.1:1", timeout_ms=300)
    began = time.monotonic()
    problem = raised(Problem, lambda: nothing.queue("q").send(1))
    assert (problem.code, problem.effect) == ("no_connection", "none") and time.monotonic() - began < 2
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system accepts, and nothing answers
        mute = Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_ms=400, attempt_ms=100)
        began = time.monotonic()
        problem = raised(Problem, lambda: mute.queue("q").send(1))
        assert (problem.code, problem.effect, problem.repeated) == ("no_connection", "unknown", True)
        assert time.monotonic() - began < 2
        assert raised(Problem, lambda: mute.request("GET", "/x")).effect == "none"


def test_trickle_ends_at_the_deadline():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle():
            try:
                while True:
                    with listener.accept()[0] as peer:
                        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200:
                            peer.send(bytes([byte]))
                            time.sleep(0.05)
            except OSError:
                pass

        threading.Thread(target=trickle, daemon=True).start()
        slow = Client(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout_ms=400)
        began = time.monotonic()
        assert raised(Problem, lambda: slow.request("GET", "/healthz")).code == "no_connection"
        assert time.monotonic() - began < 2


def test_unix_socket():
    with Client("http+unix://" + quote(os.environ["PATTERND_SOCKET"], safe="")).lock("unix") as lock:
        assert client.request("GET", "/locks/unix").body["fence"] == lock.fence


def test_threads_and_forks_share_a_client():
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        body = {"counters": {"n": 1}}
        list(pool.map(lambda n: client.request("POST", "/counters/shared/increment", body), range(200)))
    child = os.fork()
    own = "child" if child == 0 else "parent"
    for _ in range(50):
        told = client.request("POST", "/counters/forked/increment", {"counters": {own: 1}})
        if list(told.body["counters"]) != [own]:
            os._exit(1)  # the answer to another request
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert client.request("GET", "/counters/shared").body["counters"] == {"n": 200}
    assert client.request("GET", "/counters/forked").body["counters"] == {"child": 50, "parent": 50}


def test_failures_are_repeated_by_their_effect():
    """Each request is refused with Retry-After, then lost, then answered: see BadWay."""
    bad = Client(os.environ["PATTERND_BAD_WAY"])

    def lock():
        with bad.lock("bad", ttl_ms=20000):
            assert client.request("GET", "/locks/bad").body["held"]
        assert not client.request("GET", "/locks/bad").body["held"]

    def receive():
        client.queue("bad").send("a")
        assert bad.queue("bad").receive(wait_ms=100).acknowledge()
        assert state("bad") == left()

    def send():
        bad.queue("bad-sent").send("a")
        assert state("bad-sent") == left(ready=1)

    def limit():
        assert bad.limit("bad", limit=5, window_ms=60000).remaining == 3  # one was counted and not answered

    def cached():
        assert bad.cached("bad", 60000, lambda: 7) == 7 and client.cached("bad", 60000, lambda: 8) == 7

    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        for done in [pool.submit(test) for test in (lock, receive, send, limit, cached)]:
            done.result()


def run(name):
    began = time.monotonic()
    globals()[name]()
    print(f"{name} {time.monotonic() - began:.1f} s", flush=True)


tests = [name for name in list(globals()) if name.startswith("test_")]
run("test_threads_and_forks_share_a_client")  # alone, because a fork copies only one thread
with concurrent.futures.ThreadPoolExecutor(8) as pool:  # they mostly wait
    for result in [pool.submit(run, name) for name in tests if "fork" not in name]:
        result.result()
