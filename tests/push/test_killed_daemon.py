#!/usr/bin/env python3
"""A daemon that is killed while it has 100 requests open: all are back within the lease of 15 s,
and another daemon goes on with them.
"""
import time

from pushing import OK, App, Daemon, Redis, main, wait_for


def test_killed_daemon():
    def act(request):
        if request.json == "slow" and request.header("Patternd-Receives") == "1":
            request.wait_left()
            return None
        return OK

    with Redis() as redis, App(act) as app:
        targets = {"q": {"url": app.url, "concurrency": 100}}
        with Daemon(targets, redis=redis) as first:
            first.send("q", *["quick"] * 110)
            wait_for(lambda: first.is_empty("q") and first.target("q")["allowed"] == 100)
            ids = first.send("q", *["slow"] * 100)
            wait_for(lambda: app.active == 100)
            quick = first.send("q", *["quick"] * 20)
            time.sleep(1)
            first.kill()
            killed = time.monotonic()
        wait_for(lambda: app.active == 0, 2)
        with Daemon(targets, redis=redis) as second:
            wait_for(lambda: second.is_empty("q"), 30, what=lambda: (second.counts("q"), second.target("q")))
            took = time.monotonic() - killed
            assert took < 17, took
            print(f"   all were done {took:.1f} s after the kill")
        for message_id in ids:
            assert [r.delivery[1] for r in app.pushes(message_id)] == [1, 2], message_id
        for message_id in quick:
            assert [r.delivery[1] for r in app.pushes(message_id)] == [1], message_id
        app.check_once()


if __name__ == "__main__":
    main()
