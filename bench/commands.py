"""Visitors, places and boards: patternd's operations beside the nearest Redis commands through
webdis.

webdis runs no scripts here, so Redis does less work for it: visitors have no days, and on boards
the earlier of two equal scores is not first.
"""
import json
import random

from contest import Contest, Contestant, Goal
from environment import ask, expect, redis_cli, start_webdis
from wrk import wrk

MEMBERS = 10000
CHUNK = 1000
LONGITUDE, LATITUDE, RADIUS_KM = 116.33, 40.02, 5
WIDTH = 0.5  # half the side of the square that contains the places, in degrees


NEARBY = f"/geo/nearby?name=bench&longitude={LONGITUDE}&latitude={LATITUDE}&radius={RADIUS_KM}&unit=km&limit=10"
GEOSEARCH = f"/GEOSEARCH/geo/FROMLONLAT/{LONGITUDE}/{LATITUDE}/BYRADIUS/{RADIUS_KM}/km/ASC/COUNT/10"
BEST, ZREVRANGE = "/leaderboards/bench/members?limit=10", "/ZREVRANGE/board/0/9/WITHSCORES"
POINTS = {"scores": {"points": 7}}
# For each operation: its description, patternd's request, and the path of webdis's GET.
PAIRS = [
    ("a visitor", ("POST", "/uv/bench", json.dumps({"visitors": ["u@"]})), "/PFADD/uv/u@"),
    ("visitors of a day", ("GET", "/uv/bench"), "/PFCOUNT/uv"),
    ("the 10 nearest of 10,000 places", ("GET", NEARBY), GEOSEARCH),
    ("a score", ("PUT", "/leaderboards/bench/members/m@", json.dumps(POINTS)), "/ZADD/board/7/m@"),
    ("the best 10 of a board", ("GET", BEST), ZREVRANGE),
]

# Upper bounds of Redis's CPU, as multiples of the plain command's.
AT_MOST = {
    "a score": 6,
    "a visitor": 5,
    "visitors of a day": 5,
    "the 10 nearest of 10,000 places": 1.5,
    "the best 10 of a board": 3,
}


def loads(pair, url, webdis):
    _, asked, command = pair
    return wrk(url, "numbered", *asked), wrk(webdis, "numbered", "GET", command)


def fill(url, redis):
    """Creates 10000 visitors, places and scores, the same for both contestants and in each run."""
    draw = random.Random(15)
    near = lambda middle: middle + draw.uniform(-WIDTH, WIDTH)
    places = [(f"m{i + 1}", near(LONGITUDE), near(LATITUDE)) for i in range(MEMBERS)]
    ask("PUT", f"{url}/leaderboards/bench", {"dimensions": ["points"]})
    for at in range(0, MEMBERS, CHUNK):
        some = places[at : at + CHUNK]
        ask(
            "POST",
            f"{url}/geo/bench/members",
            {"members": [dict(zip(("member", "longitude", "latitude"), p)) for p in some]},
        )
        redis_cli(
            redis, "GEOADD", "geo", *(str(x) for name, longitude, latitude in some for x in (longitude, latitude, name))
        )
        visitors = [f"u{at + i + 1}" for i in range(CHUNK)]
        ask("POST", f"{url}/uv/bench", {"visitors": visitors})
        redis_cli(redis, "PFADD", "uv", *visitors)
        ask("POST", f"{url}/leaderboards/bench/members", {"put": [{"member": p[0]} | POINTS for p in some]})
        redis_cli(redis, "ZADD", "board", *(x for p in some for x in ("7", p[0])))


def verify(url, webdis):
    """Checks that both contestants find the same places and count nearly the same visitors."""
    near = ask("GET", url + NEARBY)["items"]
    names = ask("GET", webdis + GEOSEARCH)["GEOSEARCH"]
    expect(len(names) == 10 and [place["member"] for place in near] == names, f"nearby: {near}, {names}")
    counts = ask("GET", f"{url}/uv/bench")["count"], ask("GET", f"{webdis}/PFCOUNT/uv")["PFCOUNT"]
    expect(all(abs(count / MEMBERS - 1) < 0.05 for count in counts), f"visitors: {counts}")
    best = ask("GET", url + BEST)["items"], ask("GET", webdis + ZREVRANGE)["ZREVRANGE"]
    expect(len(best[0]) == 10 and len(best[1]) == 20, f"boards: {best}")


def contest(environment):
    url, redis = environment.url, environment.redis
    service = start_webdis(environment.stage, redis)
    webdis = f"http://127.0.0.1:{service.port}"
    fill(url, redis)
    verify(url, webdis)
    contestants = []
    for pair in PAIRS:
        ours, theirs = loads(pair, url, webdis)
        contestants += [
            Contestant(f"{pair[0]}: patternd", ours, (environment.daemon,)),
            Contestant(f"{pair[0]}: webdis", theirs, (service,), pair[2].split("/")[1]),
        ]
    return Contest(
        "Visitors, places, boards",
        "request",
        contestants,
        notes=[
            "patternd counts visitors by day; returns distance and position of a place, and the rank of a member; and of equal "
            "scores it ranks the earlier one first."
        ],
    )


def goals(contest):
    """Redis's CPU per request, as a multiple of the plain command's in the same round."""
    return [
        Goal(
            f"CPU of Redis for {what}, of {command.split('/')[1]}'s",
            contest.ratios("redis_us", f"{what}: patternd", f"{what}: webdis"),
            at_most=AT_MOST[what],
        )
        for what, _, command in PAIRS
    ]
