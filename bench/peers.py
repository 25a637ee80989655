"""Peers of npm: servers, and generators that load a peer by its own client. peers/package.json pins
them.
"""
import json
import pathlib
import select
import subprocess

from wrk import Load

PATIENCE_S = 30  # for what is in progress when the time has ended
PEERS = pathlib.Path(__file__).resolve().parent / "peers"


def start_node(stage, program, *arguments, **options):
    return stage.start("node", PEERS / program, *arguments, **options)


def node_load(stage, program, *arguments):
    """The process, which is the client, and a function of seconds: peers/load.mjs answers a line
    with a line.
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
