"""Loads a service over HTTP by wrk, with one thread and the scripts of loads/."""
import dataclasses
import json
import os
import pathlib
import resource
import subprocess

LOADS = pathlib.Path(__file__).resolve().parent / "loads"
CLIENTS = 64
PATIENCE = ("--timeout", "30s")  # the machine may pause


@dataclasses.dataclass
class Load:
    """The result of a load generator. `cpu_s` is its own CPU time, if it is not also the service.
    """

    operations: int
    seconds: float
    p50_us: float
    p99_us: float
    cpu_s: float = 0.0


def children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def wrk(url, load, *arguments, clients=CLIENTS):
    """Returns a function of seconds. It loads the URL over `clients` connections with the requests
    that loads/`load`.lua makes from the arguments.
    """

    def run(seconds):
        script = LOADS / f"{load}.lua"
        command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", *PATIENCE, "-s", script, url, "--", *arguments]
        before = children_cpu_seconds()
        out = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"LUA_PATH": f"{LOADS}/?.lua"})
        cpu = children_cpu_seconds() - before
        if out.returncode or not out.stdout.rstrip().endswith("}"):
            raise RuntimeError(f"wrk {url}: {out.stdout}{out.stderr}")
        said = json.loads(out.stdout.rstrip().splitlines()[-1])
        if said.pop("failed"):
            raise RuntimeError(f"wrk {url}: answers that are errors:\n{out.stdout}")
        return Load(cpu_s=cpu, **said)

    return run
