"""Tests what `work` of the Python client promises while it runs, by threads and by asyncio."""
import asyncio
import logging
import time

from gate import Gate, raised, run_tests, until
from loops import Loop, client, filled, for_both, is_empty, port, requests, sleeping


@for_both
def test_a_turn_is_one_request(is_aio, name):
    def counts():
        return requests("queue_message_receive"), requests("queue_delivery_settle")

    queue, seen, before = filled(name, 8), [], counts()
    loop = Loop(name, sleeping(is_aio, seen, 0.06), is_aio, concurrency=1, visibility_ms=500)  # nothing ahead
    until(lambda: is_empty(queue), "all are done")
    loop.end()
    receives, settles = (now - then for now, then in zip(counts(), before))
    assert seen == list(range(8)) and receives <= 8 + 4 and settles <= 4, (receives, settles)


@for_both
def test_as_many_at_once_as_it_may_and_ahead_in_batches(is_aio, name):
    queue, seen, before = filled(name, 2000), [], requests("queue_message_receive")
    loop = Loop(name, sleeping(is_aio, seen), is_aio)
    until(lambda: is_empty(queue), "all are done", 20)
    loop.end()
    assert sorted(seen) == list(range(2000)) and requests("queue_message_receive") - before < 400
    queue, seen = filled(f"{name}-wide", 20), []
    loop = Loop(queue.name, sleeping(is_aio, seen, 0.5), is_aio, concurrency=20)
    until(lambda: len(seen) == 20, "all run at once", 2)
    until(lambda: is_empty(queue), "all are done")
    loop.end()


@for_both
def test_what_is_slow_is_left_for_other_workers(is_aio, name):
    queue, seen = filled(name, 20), []
    loop = Loop(name, sleeping(is_aio, seen, 0.7), is_aio, concurrency=2)
    until(lambda: len(seen) >= 4, "a second round")
    # Two acknowledgements may be under way. The next round begins after 0.7 s.
    until(lambda: queue.get()["in_flight"] <= 3, "no more are held than are worked on", 0.6)
    loop.end()
    assert queue.get()["in_flight"] == 0


@for_both
def test_a_handler_that_raises_rejects_with_its_reason(is_aio, name):
    queue, seen = filled(name, 1, max_receives=2), []

    def handle(message):
        seen.append(message.receives)
        raise ZeroDivisionError("by zero")

    async def handle_aio(message):
        handle(message)

    loop = Loop(name, handle_aio if is_aio else handle, is_aio)
    until(lambda: queue.get()["dead"] == 1, "it is dead")
    queue.send("more")
    until(lambda: queue.get()["dead"] == 2, "the loop goes on")
    loop.end()
    items = client.request("GET", f"/queues/{name}/messages", query={"state": "dead"}).body["items"]
    assert {item["reason"] for item in items} == {"ZeroDivisionError: by zero; max_receives"}, items
    assert seen == [1, 2, 1, 2], seen


@for_both
def test_what_the_handler_settled_is_left_alone(is_aio, name):
    queue = filled(name, 3)

    def handle(message):
        return [lambda: message.reject(60000), message.acknowledge, lambda: message.reject(dead=True)][message.body]()

    async def handle_aio(message):
        await handle(message)

    loop = Loop(name, handle_aio if is_aio else handle, is_aio)
    until(lambda: queue.get()["dead"] == 1 and queue.get()["delayed"] == 1, "all are settled")
    loop.end()
    counts = queue.get()
    assert (counts["ready"], counts["in_flight"], counts["delayed"], counts["dead"]) == (0, 0, 1, 1), counts


@for_both
def test_results_are_kept_and_one_that_cannot_be_harms_no_other(is_aio, name):
    queue = filled(name, 0, result_ms=60000)
    deep = []
    for _ in range(40):
        deep = [deep]
    results = {"good": {"n": 7}, "none": None, "long": "x" * 70000, "deep": deep, "lone": "\ud800"}
    for id in results:
        queue.send(id, id=id)

    def handle(message):
        return results[message.body]

    async def handle_aio(message):
        return results[message.body]

    loop = Loop(name, handle_aio if is_aio else handle, is_aio)
    told = {id: queue.get_message(id, wait_ms=5000) for id in results}
    loop.end()
    assert {each["state"] for each in told.values()} == {"done"}, told
    assert {id: each["result"] for id, each in told.items()} == dict.fromkeys(results) | {"good": {"n": 7}}


@for_both
def test_no_message_is_done_without_work(is_aio, name):
    """A body that nothing runs, or a result that JSON refuses, must not count as success."""

    async def coroutine(*_):
        raise AssertionError("nothing awaits it")

    def generator(*_):
        yield

    async def generator_aio(*_):
        yield

    class Handler:
        __call__ = generator

    refused = [None, generator, generator_aio, Handler()] + ([] if is_aio else [coroutine])
    queue = filled(name, 0, max_receives=1)
    for handler in refused:
        raised(TypeError, Loop(name, handler, is_aio).end)
    for count in (0, -1, True, 1.5):
        raised(ValueError, Loop(name, print, is_aio, concurrency=count).end)
    returned = [generator, generator_aio, object, lambda: {1}, lambda: [object()]] + ([] if is_aio else [coroutine])
    for n in range(len(returned)):
        queue.send(n)
    loop = Loop(name, lambda message: returned[message.body](), is_aio)
    until(lambda: queue.get()["dead"] == len(returned), "all are dead")
    loop.end()
    for message in client.request("GET", f"/queues/{name}/messages?state=dead").body["items"]:
        assert "TypeError: the handler returned no JSON" in message["reason"], message


class Mute(Exception):
    def __str__(self):
        return None


class Broken(Exception):
    def __str__(self):
        raise SystemExit


class Counted(dict):
    """Its items can be read once."""

    def items(self):
        self.clear()
        return {"n": 1}.items()


class Cracked(dict):
    def items(self):
        raise Mute


@for_both
def test_a_slot_outlives_all_that_its_handler_raises_or_returns(is_aio, name):
    """Errors whose text cannot be had, results that cannot be read, a log whose handlers fail."""

    def fail(error):
        raise error

    ends = [
        lambda: fail(Mute()),
        lambda: fail(Broken()),
        lambda: fail(RuntimeError("\ud800 x" * 900)),
        lambda: fail(RuntimeError("loud")),
        lambda: fail(RecursionError()),
        lambda: Counted(n=1),
        lambda: Cracked(n=1),
        lambda: {"n": float("nan")},
        lambda: "x" * 70000,
    ]
    acknowledged = (5, 8)
    queue, seen = filled(name, len(ends), max_receives=1), []

    def handle(message):
        seen.append(message.body)
        return ends[message.body]()

    loop = Loop(name, handle, is_aio, concurrency=1)
    until(lambda: len(seen) == len(ends) and queue.get()["in_flight"] == 0, "all are worked on and settled")
    loop.end()
    counts = queue.get()
    assert (counts["ready"], counts["dead"]) == (0, len(ends) - len(acknowledged)), counts
    dead = client.request("GET", f"/queues/{name}/messages?state=dead").body["items"]
    reasons = {message["body"]: message["reason"] for message in dead}
    assert all(reason.endswith("; max_receives") for reason in reasons.values()), reasons
    assert reasons[0].startswith("an error whose text") and reasons[4].startswith("RecursionError;"), reasons


@for_both
def test_it_goes_on_after_an_outage_and_warns_once(is_aio, name):
    gate, queue, seen = Gate(port), filled(name, 3), []
    loop = Loop(name, sleeping(is_aio, seen), is_aio, url=gate.url)
    until(lambda: is_empty(queue), "all are done")
    gate.shut()
    time.sleep(1.2)
    queue.send("after")
    gate.open()
    until(lambda: "after" in seen and is_empty(queue), "it goes on", 30)
    loop.end()
    own = [line for line in warnings if f"'{name}'" in line]
    assert len(own) == 2 and "again after" in own[1], own


@for_both
def test_an_outcome_outlives_an_outage(is_aio, name):
    gate, queue, seen = Gate(port), filled(name, 4), []
    loop = Loop(name, sleeping(is_aio, seen, 0.3), is_aio, url=gate.url)
    until(lambda: len(seen) == 4, "all run")
    gate.shut()
    time.sleep(1)
    gate.open()
    until(lambda: is_empty(queue), "all are acknowledged", 30)
    loop.end()
    assert sorted(seen) == [0, 1, 2, 3], "worked on twice"


@for_both
def test_a_handler_is_told_in_time_that_its_message_is_lost(is_aio, name):
    gate, queue, told = Gate(port), filled(name, 1), []

    def handle(message):
        began.append(time.monotonic())
        told.append((message.lost.wait(5), time.monotonic()))
        raise RuntimeError("the work was given up")

    async def handle_aio(message):
        began.append(time.monotonic())
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            told.append((message.lost.is_set(), time.monotonic()))
            raise

    began = []
    loop = Loop(name, handle_aio if is_aio else handle, is_aio, url=gate.url, visibility_ms=900)
    until(lambda: began, "it runs")
    gate.shut()
    until(lambda: told, "it is told")
    assert told[0][0] and told[0][1] - began[0] < 3, (told, began)  # a busy machine wakes it late
    gate.open()
    until(lambda: len(began) == 2, "it is delivered again", 30)
    loop.stop.set()
    queue.delete()  # the next extension ends the second delivery
    until(lambda: len(told) == 2, "it is told")
    loop.end()


@for_both
def test_what_runs_for_long_or_waits_behind_it_is_extended(is_aio, name):
    queue, seen = filled(name, 6), []
    loop = Loop(name, sleeping(is_aio, seen, 6), is_aio, concurrency=3, visibility_ms=4000)
    until(lambda: is_empty(queue), "all are done", 30)
    loop.end()
    assert sorted(seen) == list(range(6)), "worked on twice"


@for_both
def test_what_comes_after_a_long_wait_is_worked_on_at_once(is_aio, name):
    """The request was sent earlier than the message, by more than the visibility."""
    queue, receives = filled(name, 0), []
    record = lambda message: receives.append(message.receives)  # noqa: E731

    async def record_aio(message):
        record(message)

    loop = Loop(name, record_aio if is_aio else record, is_aio, visibility_ms=1000)
    time.sleep(1.6)
    queue.send("late")
    until(lambda: is_empty(queue), "it is done")
    loop.end()
    assert receives == [1], receives


@for_both
def test_one_request_extends_what_is_held(is_aio, name):
    """It also extends messages that were received at other times: 20 messages, one every 20 ms."""

    def counts():
        return requests("queue_delivery_list_extend"), requests("queue_delivery_extend")

    queue, seen, (before, alone) = filled(name, 0), [], counts()
    loop = Loop(name, sleeping(is_aio, seen, 3), is_aio, concurrency=20, visibility_ms=1500)
    for number in range(20):
        queue.send(number)
        time.sleep(0.02)
    until(lambda: is_empty(queue), "all are done", 30)
    loop.end()
    extended, alone = counts()[0] - before, counts()[1] - alone
    assert sorted(seen) == list(range(20)), "worked on twice"
    assert 5 <= extended <= 20 and alone == 0, f"{extended} requests for 20 messages of 3 s, {alone} of one"


warnings = []
handler = logging.Handler()
handler.emit = lambda record: warnings.append(record.getMessage()) or "loud" in str(record.exc_info) and 1 / 0
logging.getLogger("patternd").addHandler(handler)
run_tests(globals(), alone=["test_a_turn_is_one_request", "test_one_request_extends_what_is_held"])
