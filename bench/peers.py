"""Peers from npm: servers, and generators that load a peer with its own client library.
peers/package.json pins them.
"""
import json
import pathlib
import select
import subprocess

from wrk import Load

PATIENCE_S = 30  # for operations that are in progress at the end of the time
PEERS = pathlib.Path(__file__).resolve().parent / "peers"


def start_node(stage, program, *arguments, **options):
    return stage.start("node", PEERS / program, *arguments, **options)


def node_load(stage, program, *arguments):
    """Starts the client process. Returns it, and a function that loads the peer for some seconds:
    peers/load.mjs answers each line with a line.
    """
    process = start_node(stage, program, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def run(seconds):
        try:
            process.child.stdin.write(f"{seconds}\n".encode())
            if not select.select([process.child.stdout], [], [], seconds + PATIENCE_S)[0]:
                raise ValueError("no answer")
            return Load(**json.loads(process.child.stdout.readline()))
        except (BrokenPipeError, ValueError) as error:
            raise RuntimeError(f"{program}: {process.log.read_text()}") from error

    return process, run
