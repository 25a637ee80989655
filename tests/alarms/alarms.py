"""What GET /overview and Prometheus report during a run."""
import time

from scene import get

# A pending alert counts at the end of a run if it has been pending for longer than the largest
# range of a rule that has a `for`. One event is in that range for so long, so only what lasts
# stays pending. In a shorter run the bound is half of its time.
PENDING_S = 300
NAMES = ("queue", "lock", "policy")  # labels of alerts about one name


class Alarms:
    def __init__(self, scene, seconds):
        self.scene, self.began, self.pending_s = scene, time.monotonic(), min(PENDING_S, seconds / 2)
        self.seen = {}  # each false alarm once, as a member of the report
        self.pending = {}  # since when
        self.was_pending = set()
        self.looks = 0

    def now_s(self):
        return round(time.monotonic() - self.began, 1)

    def report(self, source, what, detail):
        """Prints a false alarm when it is first seen."""
        at_s = self.now_s()
        if (source, what) not in self.seen:
            self.seen[source, what] = {"source": source, "what": what, "detail": detail, "first_s": at_s}
            print(f"{at_s:7.1f} s  {source:<8} {what}: {detail}", flush=True)
        self.seen[source, what]["last_s"] = at_s

    def look(self):
        for daemon in self.scene.daemons:
            overview = get(daemon.port, "/overview")
            for found in overview["findings"]:
                self.report("finding", f"{found['kind']} {found['name'] or 'the daemon'}", found["detail"])
            for part in overview["unknown"]:
                self.report("unknown", part["of"], f"{part['code']}: {part['detail']}")
            if not overview["complete"]:
                self.report("finding", "incomplete", f"the overview of {daemon.name} is not complete")
            self.looks += 1
        self.look_at_alerts()

    def look_at_alerts(self):
        pending = {}
        for alert in get(self.scene.prometheus.port, "/api/v1/alerts")["data"]["alerts"]:
            labels, summary = alert["labels"], alert["annotations"]["summary"]
            name = " ".join([labels["alertname"], *(labels[label] for label in NAMES if label in labels)])
            if alert["state"] == "firing":
                self.report("alert", name, summary)
            else:
                pending[name, summary] = self.pending.get((name, summary), self.now_s())
        self.pending = pending
        self.was_pending.update(name for name, _ in pending)

    def end(self):
        """Reports the alerts that would fire if the load continued."""
        for (name, summary), since_s in self.pending.items():
            if self.now_s() - since_s > self.pending_s:
                self.report("alert", name, f"pending for {self.now_s() - since_s:.0f} s at the end: {summary}")

    def blind_spots(self, seconds):
        """Why the alerts could not have been seen."""
        port = self.scene.prometheus.port
        rules = [rule for group in get(port, "/api/v1/rules")["data"]["groups"] for rule in group["rules"]]
        yield from (f"rule {rule['name']}: {rule['health']}" for rule in rules if rule["health"] != "ok")
        if not rules:
            yield "Prometheus has no rules"
        told = get(port, "/api/v1/query", query="sum_over_time(up[1d])")["data"]["result"]
        scrapes = [int(series["value"][1]) for series in told]
        if len(scrapes) != len(self.scene.daemons) or min(scrapes) < seconds / 10:
            yield f"Prometheus scraped the daemons {scrapes} times"
