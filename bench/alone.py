"""The time of a rate decision for one client that waits for each answer."""
import ratelimit
from contest import Contest, Contestant, Goal
from wrk import wrk

UNIT = "decision"


def contest(environment):
    sha = ratelimit.load_script(environment.redis)
    url = f"{environment.url}/ratelimit"
    contestants = [
        ratelimit.posts("patternd", url, environment.daemon, clients=1),
        ratelimit.through_webdis(environment, sha, clients=1),
        ratelimit.through_floor(environment, sha, clients=1),
        Contestant(
            "patternd GET /healthz",
            wrk(f"{environment.url}/healthz", "fixed", "GET", clients=1),
            (environment.daemon,),
            "no Redis",
        ),
    ]
    return Contest("A rate decision for one client", UNIT, contestants)


def goals(contest):
    return [
        Goal(
            "p50 of POST /ratelimit with one client, of webdis's", contest.ratios("p50_ms", "patternd", "webdis"), 1.0
        ),
        Goal(
            "p50 of POST /ratelimit with one client, of the floor's", contest.ratios("p50_ms", "patternd", "floor"), 1.3
        ),
    ]
