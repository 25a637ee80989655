#!/usr/bin/env python3
"""/metrics is valid for Prometheus (exposition format 0.0.4), and its names follow Prometheus's
conventions. The daemon has each metric, label and operation that the alerts of examples/prometheus
and the dashboard of examples/grafana use. docs/metrics.md lists its metrics.
tests/test_observability.py PATTERND
"""
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

from stage import Daemon

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import contract as contract_file  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = TOP / "examples"
# The labels that Prometheus adds to each series.
OF_THE_SCRAPE = {"instance", "job"}
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? \S+$", re.M)
COMMENT = re.compile(r"# (HELP|TYPE) (\w+) (\S.*)")
LABEL = r'[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"'
SERIES = re.compile(rf"([a-z0-9_]+)(\{{{LABEL}(?:,{LABEL})*\}})? (\S+)")
# Figures that each daemon reads from Redis: docs/metrics.md.
OF_REDIS = re.compile(r"patternd_(queue_(messages|oldest_ready|paused|expired|dead)|lock_(waiters|holders))")
OF_THE_CHOSEN = re.compile(r'\bpatternd_\w+\{instance=~"\$instance"')
AGGREGATION = re.compile(r"\b(sum|max|min|count|histogram_quantile)\b")
OTHER_UNIT = re.compile(r"_(ms|us|milliseconds|microseconds|kb|kib|mb)$")
SELECTOR = re.compile(r"\b(up|patternd_\w+)\s*(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
SHOWN = re.compile(r"\{\{\s*(?:\$labels\.)?(\w+)")
NAMES = ["--metrics-names", "queues:q,policies:*,locks:l"]
# Alerts that have no data without an option.
ONLY_NAMED = {"PatterndLockWaiters"}
# Nothing listens at that address; the option alone makes the daemon serve the metric.
ONLY_WITH_OTHERS = {"patternd_cluster_nodes", "patternd_cluster_slots_unserved", "patternd_replicas_usable"}
QUORUM = ["--lock-quorum", ",".join(f"redis://127.0.0.1:{port}" for port in (1, 2, 3))]


def served(text):
    """The labels of each metric."""
    metrics = {}
    for name, labels in SAMPLE.findall(text):
        metrics.setdefault(name, set()).update(label for label, _ in MATCHER.findall(labels))
    return metrics


def misnamed(name, kind):
    """By Prometheus's conventions: counters end in _total, figures have base units."""
    if (kind == "counter") != name.endswith("_total"):
        yield f"{name} is a {kind}"
    if OTHER_UNIT.search(name) or (kind == "histogram" and not name.endswith(("_seconds", "_bytes"))):
        yield f"{name} has no base unit"
    if not name.startswith("patternd_"):
        yield f"{name} has a foreign prefix"


def wrong_histogram(name, buckets, series):
    """The buckets, each (le, count), increase in the order of the page up to +Inf, whose value is
    the count. There is a sum.
    """
    labels, bounds, counts = name[1], *zip(*buckets)
    if list(bounds) != sorted(set(bounds)) or list(counts) != sorted(counts) or bounds[-1] != math.inf:
        yield f"the buckets of {name} do not grow to +Inf: {buckets}"
    if series.get((f"{name[0]}_count", labels)) != counts[-1] or (f"{name[0]}_sum", labels) not in series:
        yield f"{name} has another count, or no sum"


def malformed(text):
    """The lines that Prometheus cannot read, or reads with another meaning."""
    families, series, histograms = {"HELP": {}, "TYPE": {}}, {}, {}
    for line in text.removesuffix("\n").split("\n"):
        comment, sample = COMMENT.fullmatch(line), SERIES.fullmatch(line)
        if comment:
            part, name, words = comment.groups()
            if name in families[part]:
                yield f"twice: {line}"
            families[part][name] = words
            continue
        if not sample:
            yield f"neither HELP, TYPE nor a series: {line}"
            continue
        name, labels, value = sample[1], tuple(MATCHER.findall(sample[2] or "")), float(sample[3])
        family = re.sub("_(bucket|sum|count)$", "", name)
        kind = families["TYPE"].get(name if name in families["TYPE"] else family)
        if not kind or (name not in families["TYPE"] and kind != "histogram"):
            yield f"without a TYPE before it: {line}"
        if (name, labels) in series or not 0 <= value < math.inf:
            yield f"twice, or no figure: {line}"
        series[name, labels] = value
        if kind == "histogram" and name.endswith("_bucket"):
            rest = tuple(pair for pair in labels if pair[0] != "le")
            histograms.setdefault((family, rest), []).append((float(dict(labels)["le"]), value))
    if families["HELP"].keys() != families["TYPE"].keys() or not text.endswith("\n") or len(histograms) < 2:
        yield f"no HELP, no TYPE, no end or no histograms: {families['HELP'].keys() ^ families['TYPE'].keys()}"
    for name, kind in families["TYPE"].items():
        yield from misnamed(name, kind)
    for name, buckets in histograms.items():
        yield from wrong_histogram(name, buckets, series)


def named_metrics(daemon, *wanted):
    """The exposition, after the queries that the first scrape began have ended."""
    daemon.ask("PUT", "/ratelimit/policies/p", {"limit": 1, "window_ms": 1000})
    daemon.ask("POST", "/ratelimit", {"key": "k", "policy": "p"})
    for _ in range(100):
        # On a busy machine the first attempt takes all of the wait, and the request waits no more.
        daemon.ask("POST", "/queues/q/receive", {"wait_ms": 20})
        text = daemon.ask("GET", "/metrics")[2]
        if all(name + "{" in text for name in [*wanted, "patternd_wait_seconds_bucket"]):
            return text
        time.sleep(0.1)
    sys.exit(f"these figures do not come: {wanted}")


def documented(texts):
    """docs/metrics.md lists each served family with its type and help, and no others."""
    rows = re.findall(r"^\| `(patternd_\w+)` \| (\w+) \| (.*) \|$", (TOP / "docs/metrics.md").read_text(), re.M)
    wanted = {(name, kind): words for name, kind, words in rows}
    for text in texts:
        helps = dict(re.findall(r"^# HELP (\w+) (.*)$", text, re.M))
        for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M):
            if wanted.get((name, kind)) != helps[name]:
                yield f"docs/metrics.md does not have {name}, {kind}: {helps[name]}"
    served = {name for text in texts for name in re.findall(r"^# TYPE (\w+)", text, re.M)} | ONLY_WITH_OTHERS
    yield from (f"docs/metrics.md has {name}, which is not served" for name, _ in wanted if name not in served)


def rules():
    for group in yaml.safe_load((EXAMPLES / "prometheus/patternd.rules.yml").read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"], " ".join(rule["annotations"].values())


def silent_alerts(metrics):
    """The alerts that have no data although they need no option."""
    for alert, expression, _ in rules():
        missing = {name for name, _ in SELECTOR.findall(expression)} - metrics.keys()
        if missing and alert not in ONLY_NAMED:
            yield f"{alert}: by default there is no {', '.join(missing)}"


def panels():
    board = json.loads((EXAMPLES / "grafana/patternd.json").read_text())
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]["query"], ""
    for panel in board["panels"]:
        for target in panel.get("targets", []):  # a row has none
            yield panel["title"], target["expr"], target["legendFormat"]


def empty_panels(text):
    """Panels of one figure that show none for a daemon that has answered without an error."""
    board = json.loads((EXAMPLES / "grafana/patternd.json").read_text())
    samples = (line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#"))
    series = [{"series": sample, "values": "0+1x10"} for sample in samples if sample]
    for panel in (panel for panel in board["panels"] if panel["type"] == "stat"):
        query = panel["targets"][0]["expr"].replace("$instance", ".*").replace("$__rate_interval", "5m")
        expected = {"expr": f"count({query}) > bool 0", "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": 1}]}
        test = {"tests": [{"interval": "1m", "input_series": series, "promql_expr_test": [expected]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump(test, file)  # YAML contains JSON
            file.flush()
            if subprocess.run(["promtool", "test", "rules", file.name], capture_output=True).returncode:
                yield f"{panel['title']}: shows nothing without errors: {query}"


def unexplained_panels(idle):
    """Panels over time that are empty for a daemon that nothing uses, without a reason."""
    board = json.loads((EXAMPLES / "grafana/patternd.json").read_text())
    for panel in (panel for panel in board["panels"] if panel["type"] == "timeseries"):
        names = {name for target in panel["targets"] for name, _ in SELECTOR.findall(target["expr"])}
        if not names & served(idle).keys() and "noValue" not in panel["fieldConfig"]["defaults"]:
            yield f"{panel['title']}: is empty without an explanation (noValue)"


def wrong_panels():
    """Finds expressions that show gaps or wrong sums. These have a window other than Grafana's
    (which follows the scrape interval), or count daemons that are not selected. Others sum a figure
    that each daemon reads from Redis, instead of its maximum. Others give lines of several daemons
    one name, or join gaps.
    """
    board = json.loads((EXAMPLES / "grafana/patternd.json").read_text())
    variables = {variable["name"] for variable in board["templating"]["list"]}
    for title, expression, legend in (panel for panel in panels() if panel[0] not in variables):
        windows = set(re.findall(r"\[([^\]]*)\]", expression))
        if windows - {"$__rate_interval"}:
            yield f"{title}: its window is {windows}"
        if len(OF_THE_CHOSEN.findall(expression)) != len(SELECTOR.findall(expression)):
            yield f"{title}: of all daemons: {expression}"
        if OF_REDIS.search(expression) and not expression.startswith("max by"):
            yield f"{title}: not the largest of what each daemon reads: {expression}"
        if not AGGREGATION.search(expression) and "{{instance}}" not in legend:
            yield f"{title}: daemons have one name: {expression}"
    for panel in board["panels"]:
        if panel.get("fieldConfig", {}).get("defaults", {}).get("custom", {}).get("spanNulls"):
            yield f"{panel['title']}: joins gaps"


def faults(where, expression, legend, metrics, operations):
    selectors = SELECTOR.findall(expression)
    if not selectors:
        yield f"{where}: asks for nothing: {expression}"
    known = set(OF_THE_SCRAPE)
    for name, matchers in selectors:
        if name not in metrics:
            yield f"{where}: there is no {name}"
        labels = metrics.get(name, set()) | OF_THE_SCRAPE
        known |= labels
        for label, value in MATCHER.findall(matchers):
            if label not in labels:
                yield f"{where}: {name} has no label {label}"
            if label == "operation":
                yield from (
                    f"{where}: there is no operation {part}"
                    for part in value.split("|")
                    if not any(re.fullmatch(part, operation) for operation in operations)
                )
    asked = {label.strip() for group in GROUPING.findall(expression) for label in group.split(",")}
    shown = {label for label in SHOWN.findall(legend)}
    yield from (f"{where}: nothing has the label {label}" for label in sorted((asked | shown) - known))


def main():
    with Daemon(sys.argv[1], *QUORUM) as daemon:
        daemon.ask("GET", "/healthz")
        idle = daemon.ask("GET", "/metrics")[2]
        text = named_metrics(daemon, "patternd_queue_messages")
    with Daemon(sys.argv[1], *NAMES) as daemon:
        named = named_metrics(daemon, "patternd_queue_messages", "patternd_lock_waiters")
    metrics = served(text) | served(named) | {"up": set()} | {name: set() for name in ONLY_WITH_OTHERS}
    contract = contract_file.load()
    operations = {o["operationId"] for path in contract["paths"].values() for o in path.values() if "operationId" in o}
    found = [fault for asked in (*rules(), *panels()) for fault in faults(*asked, metrics, operations)]
    found += wrong_panels()
    found += unexplained_panels(idle)
    found += [fault for page in (text, named) for fault in malformed(page)]
    found += documented((text, named))
    found += silent_alerts(served(text) | {"up": set()} | {name: set() for name in ONLY_WITH_OTHERS})
    if shutil.which("promtool"):
        found += empty_panels(text)
    if found:
        sys.exit("\n".join(found))


main()
