#!/usr/bin/env python3
"""A small shop that uses patternd, in Python with the client of clients/python. What it shows is in
../README.md.
"""
import time

from patternd import Client, LockHeld, LockLost, Problem

patternd = Client()
unpaid = patternd.queue("unpaid")


def lock_cart(tab):
    """The lock of ann's cart, so that two clicks in two tabs do not make two orders."""
    try:
        return patternd.lock("cart-ann", ttl_ms=10000, owner=tab).acquire()
    except LockHeld as held:
        print(f"checkout: {tab} has to wait, {held.body['holders'][0]['owner']} is at it")


def unlock_cart(lock):
    try:
        lock.release()
    except LockLost:
        pass  # it had expired


def place_order(tab, lock):
    """A holder that was suspended until another client got the lock has a lower fence, and is
    refused.
    """
    try:
        patternd.request("POST", "/fences/cart-ann", {"fence": lock.fence})
    except Problem as problem:
        if problem.code != "stale_fence":
            raise
        print(f"checkout: {tab} comes too late, its fence is stale")
        return None
    order = patternd.request("POST", "/counters/shop/increment", {"counters": {"orders": 1}}).body["counters"]["orders"]
    # A real shop waits half an hour for the money.
    unpaid.send({"order": order}, id=f"order-{order}", delay_ms=500)
    print(f"checkout: {tab} placed order {order}")
    return order


def pay(order):
    """Cancels the order's timeout, unless a worker has it."""
    try:
        unpaid.delete_message(f"order-{order}")
        print(f"payment: in time for order {order}")
    except Problem as problem:
        if problem.code not in ("not_found", "message_in_flight"):
            raise
        print(f"payment: too late for order {order}")


def work():
    """A real worker is unpaid.work(handler). Should it die within the block, another one gets
    the message.
    """
    with unpaid.receive(wait_ms=20000) as message:
        print(f"worker: order {message.body['order']} was not paid in time")


def comment(number):
    """Three in a row, and then one in three seconds."""
    while not (decision := patternd.limit("ann:comment", limit=20, window_ms=60000, burst=3)).allowed:
        print(f"comment {number}: not yet")
        time.sleep(decision.retry_after_ms / 1000)
    print(f"comment {number}: sent")


first = lock_cart("tab 1")
lock_cart("tab 2")
paid = place_order("tab 1", first)
unlock_cart(first)
second = lock_cart("tab 2")
place_order("tab 2", second)
place_order("tab 1", first)
unlock_cart(second)
pay(paid)
work()
for each in range(1, 5):
    comment(each)
places = {"bea": (13.3889, 52.5170), "cem": (13.4050, 52.5200), "dan": (13.0645, 52.3906)}
members = [{"member": member, "longitude": x, "latitude": y} for member, (x, y) in places.items()]
patternd.request("POST", "/geo/couriers/members", {"members": members})
around = {"name": "couriers", "longitude": 13.3777, "latitude": 52.5163, "radius": 5, "unit": "km"}
for near in patternd.request("GET", "/geo/nearby", query=around).body["items"]:
    print(f"courier: {near['member']} is {near['distance']:.1f} km away")
patternd.request("POST", "/uv/shop", {"visitors": ["ann", "bob", "ann"]})
print(f"visitors: {patternd.request('GET', '/uv/shop').body['count']} today")
