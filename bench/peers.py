"""Peers of npm: servers, and generators that load a peer by its own client. peers/package.json pins them."""
import json
import pathlib
import subprocess

from wrk import Load

PEERS = pathlib.Path(__file__).resolve().parent / "peers"


def start_node(stage, program, *arguments, **options):
    return stage.start("node", PEERS / program, *arguments, **options)


def node_load(stage, program, *arguments):
    """The process, which is the client, and a function of seconds: peers/load.mjs answers a line with a line."""
    process = start_node(stage, program, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(seconds):
        process.child.stdin.write(f"{seconds}\n".encode())
        process.child.stdin.flush()
        line = process.child.stdout.readline()
        if not line:
            raise RuntimeError(f"{program}: {process.log.read_text()}")
        return Load(**json.loads(line))

    return process, run
