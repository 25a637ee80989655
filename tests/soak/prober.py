"""Requests the daemon's health every 50 ms, each time over a new connection, as a kubelet does:
prober.py HEALTH_PORT DAEMON_PID.

The machine may be busy with other programs. Two times are therefore not the daemon's fault. The
first is the time that an idle control server takes to answer at the same instant. The second is the
time in which the daemon was ready to run and had no processor (/proc/PID/schedstat). Prints a line
of JSON for each probe until stdin ends.
"""
import json
import os
import select
import socket
import sys
import time

EACH_S, PATIENCE_S = 0.05, 2
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def serve_control():
    """Starts the control server as a child, which ends with its parent. Returns its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    parent = os.getpid()
    if os.fork():
        return listener.getsockname()[1]
    listener.settimeout(1)
    while os.getppid() == parent:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        with connection:
            connection.recv(1024)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    os._exit(0)


def kept_waiting_ms(pid):
    with open(f"/proc/{pid}/schedstat") as stat:
        return int(stat.read().split()[1]) / 1e6


def ask(port):
    """Connects and sends the request. Returns the connection, or None if it could not connect."""
    try:
        connection = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        connection.sendall(REQUEST)
        return connection
    except OSError:
        return None


def probe(ports):
    """Returns the answer of each port and its time in ms. If no answer comes, the time is the whole
    timeout.
    """
    began = time.monotonic()
    connections = {ask(port): port for port in ports}
    got = {port: ("", PATIENCE_S * 1000) for port in ports}
    waiting = [connection for connection in connections if connection]
    while waiting and time.monotonic() - began < PATIENCE_S:
        for connection in select.select(waiting, [], [], 0.1)[0]:
            try:
                said = connection.recv(1024)
            except OSError:
                said = b""
            got[connections[connection]] = (said[9:12].decode(), (time.monotonic() - began) * 1000)
            waiting.remove(connection)
    for connection in connections:
        if connection:
            connection.close()
    return [got[port] for port in ports]


def main():
    port, pid = int(sys.argv[1]), int(sys.argv[2])
    control = serve_control()
    due = time.monotonic()
    while not select.select([sys.stdin], [], [], max(0, due - time.monotonic()))[0]:
        at, before = time.monotonic(), kept_waiting_ms(pid)
        (status, took_ms), (_, control_ms) = probe((port, control))
        print(
            json.dumps(
                {
                    "at": at,
                    "ok": status == "200",
                    "ms": took_ms,
                    "control_ms": control_ms,
                    "kept_waiting_ms": kept_waiting_ms(pid) - before,
                }
            ),
            flush=True,
        )
        due = max(due + EACH_S, time.monotonic())


if __name__ == "__main__":
    main()
