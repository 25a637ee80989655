#!/usr/bin/env python3
"""Lint: the files of docker/ agree. Its YAML parses; every variable PATTERND_X there, and
in packaging/, is an option of service/process/options.def (another would be ignored without a
word); a kustomization names the files beside it; ports, volumes and labels that are used by name
exist. A container of patternd has the memory that docs/deploy/sizing.md computes from its options,
no variables of Services, a log level and probes. No container has rights that it does not need.
"""
import pathlib
import re
import sys

import yaml

import tree

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import options  # noqa: E402

VARIABLE = re.compile(r"\bPATTERND_[A-Z][A-Z0-9_]*")
OF_THE_BUILD = {"PATTERND_TESTS", "PATTERND_WEB", "PATTERND_CONFIG_DIR", "PATTERND_TEST_REDIS", "PATTERND_VERSION"}

lint = tree.Lint(
    "Name it as it is defined: an option in service/process/options.def, a port or volume in its own pod. "
    "Raise a limit of memory, or lower the options that it must hold. "
    "The rules: OF_THE_BUILD, memory(), check_daemon() and check_rights() of tools/lint/manifests.py."
)
# Of the options that only a command line can have, --config alone may also be a variable.
known = {"PATTERND_CONFIG"} | {
    "PATTERND_" + option.flag.upper().replace("-", "_")
    for _, group in options.groups()
    for option in group
    if option.kind != "ONCE"
}


def line_with(path, text):
    lines = path.read_text().split("\n")
    return next((number for number, line in enumerate(lines, 1) if text in line), 1)


PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
KIB, MIB = 1024, 1024 * 1024
RECEIVES = 32  # of 1 MiB that are answered at once
OPEN_PUSHES = 256  # at most, of one daemon
DEFAULTS = {option.flag: option.default for _, group in options.groups() for option in group if option.kind == "INT"}


def memory(container):
    """The most memory that a daemon with these options takes, in bytes, by the formula of
    docs/deploy/sizing.md.
    """
    given = {variable["name"]: variable.get("value") for variable in container.get("env", [])}

    def value(flag):
        return int(given.get("PATTERND_" + flag.upper().replace("-", "_")) or DEFAULTS[flag])

    requests, redis = value("max-request-memory"), value("pool-size")
    commands = min(requests, 64 * MIB * redis)
    replies = redis * (8 * MIB + 2 * value("max-body-bytes"))
    push = MIB + 30 * KIB * OPEN_PUSHES if given.get("PATTERND_PUSH") else 0
    return 10 * MIB + 20 * KIB * value("max-connections") + requests + commands + replies + RECEIVES * MIB + push


def check_daemon(path, pod, container):
    written = container["resources"]["limits"]["memory"]
    limit = int(written.removesuffix("Mi")) * MIB
    if limit < memory(container):
        most = f"{memory(container) / MIB:.0f}Mi"
        lint.finding(path, line_with(path, f"memory: {written}}}"), f"the daemon's options allow {most}, not {written}")
    if pod.get("enableServiceLinks") is not False:
        lint.finding(path, 1, "a Service named patternd sets PATTERND_PORT: set enableServiceLinks: false")


    if not any(variable["name"] == "PATTERND_LOG_LEVEL" for variable in container["env"]):
        lint.finding(path, 1, "the container of patternd does not set PATTERND_LOG_LEVEL")
    for probe in PROBES:
        if probe not in container:
            lint.finding(path, line_with(path, "name: patternd"), f"the container of patternd has no {probe}")


def check_rights(path, pod, container):
    """What Kubernetes's profile `restricted` requires, and a read-only root file system."""
    rights = pod.get("securityContext", {}) | container.get("securityContext", {})
    wanted = {
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for name, value in wanted.items():
        if rights.get(name) != value:
            line = line_with(path, f"name: {container['name']}")
            lint.finding(path, line, f"{container['name']}: {name} is not {value}")


def check_pod(path, pod):
    if pod.get("automountServiceAccountToken") is not False:
        lint.finding(path, 1, "no container calls Kubernetes: set automountServiceAccountToken: false")
    volumes = {v["name"] for v in pod.get("volumes", [])}
    for container in pod.get("initContainers", []) + pod["containers"]:
        check_rights(path, pod, container)
        if container["name"] == "patternd":
            check_daemon(path, pod, container)
        ports = {p["name"] for p in container.get("ports", [])}
        for probe in PROBES:
            port = container.get(probe, {}).get("httpGet", {}).get("port")
            if port and port not in ports:
                lint.finding(
                    path,
                    line_with(path, probe),
                    f"the {probe} asks port {port}, which {container['name']} does not name",
                )
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes:
                lint.finding(path, line_with(path, mount["mountPath"]), f"there is no volume {mount['name']}")


def check_object(path, thing):
    if thing.get("kind") == "Kustomization":
        beside = {p.name for p in path.parent.glob("*.yaml")} - {path.name}
        for name in sorted(beside ^ set(thing["resources"])):
            lint.finding(path, 1, f"{name} is in the folder or among the resources, not both")
        for name in (name for made in thing.get("configMapGenerator", []) for name in made["files"]):
            if not (path.parent / name).is_file():
                lint.finding(path, line_with(path, name), f"there is no file {name}")
    if thing.get("kind") == "Deployment":
        template = thing["spec"]["template"]
        if not thing["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items():
            lint.finding(path, line_with(path, "selector"), "the selector does not match the pod's labels")
        check_pod(path, template["spec"])


for path in tree.files("docker", ".yaml"):
    try:
        for thing in yaml.safe_load_all(path.read_text()):
            check_object(path, thing)
    except yaml.YAMLError as error:
        lint.finding(path, error.problem_mark.line + 1, error.problem)
for path in tree.files("docker") + tree.files("packaging"):
    text = path.read_text()
    for found in VARIABLE.finditer(text):
        if found.group() not in known | OF_THE_BUILD:
            lint.finding(path, tree.line_of(text, found.start()), f"{found.group()} is no option")
lint.done()
