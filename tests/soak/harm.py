"""Faults of the daemon and its Redis, which happen under load. Each fault is a function of the
stage, and returns when it has repaired the stage. Its docstring is its name. `EXPLAINS` lists the
faults by which requests of other clients may fail with 503 or 504. `CROWDS` lists the faults that
make the daemon use more memory.
"""
import signal
import socket
import struct
import time

from stage import redis

LEAVING, IDLE = 200, 500
LINGER_S = 3


def connect(port, receive_bytes=None):
    s = socket.socket()
    if receive_bytes:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    s.settimeout(5)
    s.connect(("127.0.0.1", port))
    return s


def post(path, body):
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def stop_redis(stage):
    """redis stopped for 1 s"""
    stage.redis.stop()
    time.sleep(1)
    stage.redis.go_on()


def kill_redis(stage):
    """redis killed, and started again"""
    stage.redis.kill()
    stage.redis.start()
    stage.redis.wait_up()


def kill_connections(stage):
    """connections to redis killed"""
    redis(stage.redis.port, "CLIENT", "KILL", "TYPE", "normal")


def flush_scripts(stage):
    """scripts flushed"""
    redis(stage.redis.port, "SCRIPT", "FLUSH")


def leave(stage):
    """200 clients that leave in the middle"""
    whole = post("/queues/left/receive", '{"wait_ms":20000}')
    clients = [connect(stage.daemon.port) for _ in range(LEAVING)]
    for i, client in enumerate(clients):
        client.sendall(whole if i % 2 else whole[:-5])
    time.sleep(0.5)
    for i, client in enumerate(clients):
        if i % 4 > 1:  # with RST
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()


def idle(stage):
    """500 idle connections"""
    clients = [connect(stage.daemon.port) for _ in range(IDLE)]
    time.sleep(LINGER_S)
    for client in clients:
        client.close()


def read_slowly(stage):
    """a slow reader"""
    with connect(stage.daemon.port, receive_bytes=4096) as client:
        client.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        for _ in range(LINGER_S * 10):
            client.recv(100)
            time.sleep(0.1)


def cut(stage):
    """connections cut by a proxy"""
    asked = [post("/counters/cut/increment", '{"counters":{"n":1}}'), post("/queues/cut/receive", '{"wait_ms":20000}')]
    for at in ({"cut": 1}, {"cut": 1, "cut_at": 40}, {"reset": 1}):
        stage.front.set(0)
        clients = [connect(stage.front.ports[0]) for _ in range(30)]
        for i, client in enumerate(clients):
            client.sendall(asked[i % 2])
        stage.front.set(0, **at)
        for client in clients:
            try:
                client.sendall(asked[0])
            except OSError:
                pass  # the connection is cut already
        time.sleep(0.5)
        for client in clients:
            client.close()
    stage.front.set(0, reset=1)  # also resets connections that still wait at the proxy
    stage.front.set(0)


def reload(stage):
    """SIGHUP"""
    stage.daemon.send_signal(signal.SIGHUP)


EXPLAINS = (stop_redis, kill_redis, kill_connections)
CROWDS = (leave, idle, read_slowly, cut)
ALL = (*EXPLAINS, *CROWDS, flush_scripts, reload)
