#!/usr/bin/env python3
"""KEDA, as docker/kubernetes/keda configures it, gets the numbers by which it scales from a daemon
of docker/kubernetes/standalone. tests/test_keda.py PATTERND
"""
import hashlib
import pathlib
import re
import sys
import tempfile
import urllib.parse

import yaml

from stage import Daemon

KUBERNETES = pathlib.Path(__file__).resolve().parent.parent / "docker/kubernetes"
KEDA = KUBERNETES / "keda/scaledobject.yaml"
MINE, ITS = "token-of-the-test", "token-of-KEDA"


def named(path, kind):
    return next(thing for thing in yaml.safe_load_all(path.read_text()) if thing["kind"] == kind)


def token_lines():
    """A tokens file with KEDA's token, and with the scope from the recipe at the top of the
    manifest.
    """
    scopes = re.search(r"new_token KEDA (\S+)\)", KEDA.read_text()).group(1)
    for token, given in ((MINE, "queues:orders:*"), (ITS, scopes)):
        yield f"{hashlib.sha256(token.encode()).hexdigest()} {given}\n"


def allowed_hosts():
    pod = named(KUBERNETES / "standalone/deployment.yaml", "Deployment")["spec"]["template"]["spec"]
    variables = {v["name"]: v.get("value", "") for v in pod["containers"][0]["env"]}
    return variables["PATTERND_ALLOWED_HOSTS"].replace("$(NAMESPACE)", "default")


def value_at(answer, location):
    """The value at a GJSON path, which has no special characters."""
    assert re.fullmatch(r"\w+(\.\w+)*", location), location
    for name in location.split("."):
        answer = answer[name]
    assert isinstance(answer, int) and not isinstance(answer, bool), answer
    return answer


def values(daemon, scaled):
    """The value that each trigger finds, by the trigger's name."""
    found = {}
    for trigger in scaled["spec"]["triggers"]:
        asked = trigger["metadata"]
        url = urllib.parse.urlsplit(asked["url"])
        assert asked["authMode"] == "bearer" and url.scheme == "http", asked
        headers = {"Host": url.netloc, "Authorization": f"Bearer {ITS}"}
        status, _, answer = daemon.ask("GET", url.path, headers=headers)
        assert status == 200, answer
        found[trigger["name"]] = value_at(answer, asked["valueLocation"])
    return found


def check_service(scaled):
    """The address is the address of the Service, and the network policy admits KEDA to its pods."""
    service = named(KUBERNETES / "standalone/service.yaml", "Service")
    labels = named(KUBERNETES / "standalone/deployment.yaml", "Deployment")["spec"]["template"]["metadata"]["labels"]
    policy = named(KEDA, "NetworkPolicy")["spec"]
    ports = {port["port"] for port in service["spec"]["ports"]}
    for trigger in scaled["spec"]["triggers"]:
        url = urllib.parse.urlsplit(trigger["metadata"]["url"])
        assert url.hostname.split(".")[0] == service["metadata"]["name"] and url.port in ports, url
        assert {"port": url.port, "protocol": "TCP"} in policy["ingress"][0]["ports"], policy
        assert trigger["authenticationRef"]["name"] == named(KEDA, "TriggerAuthentication")["metadata"]["name"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items(), policy


def main():
    scaled = named(KEDA, "ScaledObject")
    check_service(scaled)
    with tempfile.NamedTemporaryFile("w") as tokens:
        tokens.writelines(token_lines())
        tokens.flush()
        with Daemon(sys.argv[1], "--tokens", tokens.name, "--allowed-hosts", allowed_hosts()) as daemon:
            mine = {"Authorization": f"Bearer {MINE}"}
            assert values(daemon, scaled) == {"ready": 0, "in_flight": 0}, "a queue that was never used"
            for body in range(3):
                status, _, answer = daemon.ask("POST", "/queues/orders/messages", {"body": body}, mine)
                assert status == 201, answer
            status, _, answer = daemon.ask("POST", "/queues/orders/receive", {}, mine)
            assert status == 200, answer
            found = values(daemon, scaled)
            assert found == {"ready": 2, "in_flight": 1}, found
    formula = scaled["spec"]["advanced"]["scalingModifiers"]["formula"]
    assert eval(formula, {"__builtins__": {}}, found) == 3, formula


main()
