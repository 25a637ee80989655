#!/usr/bin/env python3
"""A small shop that uses patternd, in Python without libraries. What it shows is in
../README.md.
"""
import json
import os
import time
import urllib.error
import urllib.request
import uuid

BASE = os.environ.get("PATTERND_URL", "http://127.0.0.1:8379")


def call(method, path, body=None, token="", may_be=()):
    """The answer; or the problem, with `retry_after`, when its code is one that may be.

    While patternd or its Redis is away (503: nothing happened; 504, or no answer: unknown) it
    asks again. By the same Idempotency-Key what happened already does not happen twice: the first
    answer comes again.
    """
    headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4()), "Lock-Token": token}
    data = json.dumps(body).encode() if body else None
    for _ in range(5):
        try:
            request = urllib.request.Request(BASE + path, data, headers, method=method)
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or "{}")
        except urllib.error.HTTPError as error:
            problem, wait = json.load(error), int(error.headers.get("Retry-After", 1))
            if problem["code"] in may_be:
                return problem | {"retry_after": wait}
            if error.code not in (503, 504):
                raise SystemExit(f"{method} {path}: {problem['detail']}")
        except OSError:
            wait = 1
        time.sleep(wait)
    raise SystemExit(f"{method} {path}: patternd cannot be reached, or cannot reach its Redis")


def take_cart(tab):
    """The lock of ann's cart, so that two clicks in two tabs do not make two orders."""
    lock = call("POST", "/locks/cart-ann", {"owner": tab, "ttl_ms": 10000}, may_be=["lock_held"])
    if "code" in lock:
        print(f"checkout: {tab} has to wait, {lock['holder']['owner']} is at it")
    return lock


def give_cart_back(lock):
    call("DELETE", "/locks/cart-ann", token=lock["token"], may_be=["not_holder"])  # it had expired


def place_order(tab, lock):
    """A holder that was suspended until another client got the lock has a lower fence, and is
    refused.
    """
    passed = call("POST", "/fences/cart-ann", {"fence": lock["fence"]}, may_be=["stale_fence"])
    if "code" in passed:
        print(f"checkout: {tab} comes too late, its fence is stale")
        return None
    order = call("POST", "/counters/shop/increment", {"orders": 1})["counters"]["orders"]
    # A real shop waits half an hour for the money.
    call("POST", "/queues/unpaid/messages", {"id": f"order-{order}", "body": {"order": order}, "delay_ms": 500})
    print(f"checkout: {tab} placed order {order}")
    return order


def work():
    """A worker waits for a message, works, and acknowledges. Should it die before that, another one
    gets the message.
    """
    for message in call("POST", "/queues/unpaid/receive", {"wait_ms": 20000})["messages"]:
        print(f"worker: order {message['body']['order']} was not paid in time")
        call("DELETE", f"/queues/unpaid/deliveries/{message['receipt']}", may_be=["receipt_expired"])  # it was too slow


def comment(number):
    """Three in a row, and then one in three seconds."""
    limit = {"key": "ann:comment", "limit": 20, "window_ms": 60000, "burst": 3}
    while not (answer := call("POST", "/ratelimit", limit, may_be=["rate_limited"]))["allowed"]:
        print(f"comment {number}: not yet")
        time.sleep(answer["retry_after"])
    print(f"comment {number}: sent")


first = take_cart("tab 1")
take_cart("tab 2")
paid = place_order("tab 1", first)
give_cart_back(first)
second = take_cart("tab 2")
place_order("tab 2", second)
place_order("tab 1", first)
give_cart_back(second)
unpaid = call("DELETE", f"/queues/unpaid/messages/order-{paid}", may_be=["not_found", "message_in_flight"])
print(f"payment: {'too late' if unpaid else 'in time'} for order {paid}")
work()
for each in range(1, 5):
    comment(each)
places = {"bea": (13.3889, 52.5170), "cem": (13.4050, 52.5200), "dan": (13.0645, 52.3906)}
call(
    "POST",
    "/geo/couriers/members",
    {"members": [{"member": m, "longitude": x, "latitude": y} for m, (x, y) in places.items()]},
)
for near in call("GET", "/geo/nearby?name=couriers&longitude=13.3777&latitude=52.5163&radius=5&unit=km")["items"]:
    print(f"courier: {near['member']} is {near['distance']:.1f} km away")
call("POST", "/uv/shop", {"visitors": ["ann", "bob", "ann"]})
print(f"visitors: {call('GET', '/uv/shop')['count']} today")
