"""The machine of a run, and the versions of the programs."""
import json
import os
import pathlib
import platform
import re
import subprocess
import time

from environment import DAEMON, ROOT

PACKAGES = (
    "redis-server",
    "webdis",
    "wrk",
    "nginx",
    "libnginx-mod-http-lua",
    "lua-nginx-redis",
    "etcd-server",
    "beanstalkd",
)


def said(*command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else None


def first(pattern, path):
    found = re.search(pattern, pathlib.Path(path).read_text(), re.M)
    return found[1].strip().strip('"') if found else "unknown"


def versions():
    found = {name: said("dpkg-query", "-W", "-f", "${Version}", name) for name in PACKAGES}
    found |= json.loads((ROOT / "bench" / "peers" / "package.json").read_text())["dependencies"]
    found["node"] = said("node", "--version")
    found["patternd"] = said(DAEMON, "--version").removeprefix("patternd ")
    return {name: version for name, version in sorted(found.items()) if version}


def describe():
    return {
        "commit": said("git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*") or "unknown",
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "cores": os.cpu_count(),
        "processor": first(r"^model name\s*:\s*(.*)$", "/proc/cpuinfo"),
        "memory_gib": round(int(first(r"^MemTotal:\s*(\d+)", "/proc/meminfo")) / 2**20, 1),
        "system": first(r"^PRETTY_NAME=(.*)$", "/etc/os-release"),
        "kernel": platform.release(),
        "load_before": os.getloadavg()[0],
        "versions": versions(),
    }


def stated(machine):
    """What pages state of a run."""
    return f"Commit {machine['commit']}, {machine['date'][:10]}, {machine['cores']} cores of {machine['processor']}"
