"""Sets that are created and deleted, and the list of their names."""
NAMES = range(60)


def come_and_go(client):
    name = f"set-{client.rng.choice(NAMES)}"
    if client.rng.random() < 0.6:
        client.call("name.put", name, "PUT", f"/sets/{name}/members/a")
    else:
        client.call("name.delete", name, "DELETE", f"/sets/{name}")
    client.pause(0, 0.02)


def read_list(client):
    client.call("name.page", "sets", "GET", "/sets?match=set-*&limit=10")
    client.pause(0.05, 0.2)


def prepare(client):
    pass


def finish(client):
    cursor = ""
    while cursor is not None:
        page = client.look("name.list", "sets", f"/sets?limit=25&cursor={cursor}" if cursor else "/sets?limit=25")
        cursor = page.body["next_cursor"]
    for i in NAMES:
        client.look("name.final", f"set-{i}", f"/sets/set-{i}")


WORKERS = ((2, come_and_go), (1, read_list))
