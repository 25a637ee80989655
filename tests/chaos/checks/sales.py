"""Sales: the items that are held or sold never exceed the stock, nor the limit of one user. A claim
lasts for its time, and a sold item stays sold.

A claim surely lasts from the instant when its caller got the answer. It lasts until the caller
began to release it, or until the hold expired, counted from the request. A confirmed claim lasts
for ever.
"""
from history import FOREVER, answers, by_op

from .held import never_more

ROUNDING_US = 2000


class Claim:
    def __init__(self, tries, answer):
        self.id, self.user, self.quantity = answer.got["claim"], answer.sent["user"], answer.sent["quantity"]
        self.asked, self.known, self.calls = tries[0].start, answer.end, [answer]
        self.until = self.asked
        self.confirmed, self.may_be_confirmed, self.released = None, False, None


def check(history, findings):
    for name in history.names("sale.configure"):
        settings = history.of("sale.configure", on=name)[0].sent
        claims = read_claims(history, findings, name, settings)
        read_ends(history, findings, name, settings, claims)
        sure = [claim for claim in claims.values() if not any(history.may_be_lost(call) for call in claim.calls)]
        never_more(findings, "never oversold", f"{name} as a whole", settings["stock"], sure)
        for user in sorted({claim.user for claim in sure}):
            never_more(
                findings,
                "never oversold",
                f"{name} for {user}",
                settings["per_user"],
                [claim for claim in sure if claim.user == user],
            )
        for final in history.of("sale.final", on=name)[-1:]:
            check_final(findings, name, settings, claims, sure, final)


def read_claims(history, findings, name, settings):
    claims = {}
    for tries in by_op(history.of("sale.claim", on=name)).values():
        answered = answers(tries)
        if len({call.got["claim"] for call in answered}) > 1 and not any(history.may_be_lost(call) for call in tries):
            findings.violation("one key, one effect", f"{name}: one key got two claims", *tries)
        if answered:
            claim = Claim(tries, answered[0])
            claim.until = claim.asked + settings["hold_ms"] * 1000 - ROUNDING_US
            claims[claim.id] = claim
    return claims


def read_ends(history, findings, name, settings, claims):
    for tries in by_op(history.of("sale.confirm", "sale.give_back", on=name)).values():
        claim = claims.get(tries[0].sent["claim"])
        for call in tries if claim else ():
            claim.calls.append(call)
            if call.what == "sale.give_back":
                judge_release(history, findings, name, claim, call)
            else:
                judge_confirm(history, findings, name, settings, claim, tries[0], call)


def judge_release(history, findings, name, claim, call):
    if call.effect != "none":
        claim.until = min(claim.until, call.start)
    if call.is_ok:
        claim.released = call
    elif (
        call.code == "claim_expired" and call.end < claim.until and not any(history.may_be_lost(c) for c in claim.calls)
    ):
        findings.violation(
            "a claim stands for its time", f"{name}: {claim.id} was gone before its time", claim.calls[0], call
        )


def judge_confirm(history, findings, name, settings, claim, first, call):
    if call.effect != "none":
        claim.may_be_confirmed = True
    if not call.is_ok:
        if (
            call.code == "claim_expired"
            and call.end < claim.until
            and not any(history.may_be_lost(c) for c in claim.calls)
        ):
            findings.violation(
                "a claim stands for its time", f"{name}: {claim.id} was gone before its time", claim.calls[0], call
            )
        return
    is_late = first.start > claim.known + settings["hold_ms"] * 1000 + ROUNDING_US
    if is_late or claim.released and claim.released.end < first.start:
        findings.violation(
            "a claim stands for its time", f"{name}: {claim.id} was confirmed after its end", claim.calls[0], call
        )
    claim.until, claim.confirmed = FOREVER, claim.confirmed or call


def check_final(findings, name, settings, claims, sure, final):
    sold = final.got["confirmed"]
    least = sum(claim.quantity for claim in sure if claim.confirmed)
    most = sum(claim.quantity for claim in claims.values() if claim.may_be_confirmed)
    if not least <= sold <= min(most, settings["stock"]):
        findings.violation(
            "books", f"{name}: {sold} are sold, between {least} and {most} must be, of {settings['stock']}", final
        )
    if final.got["held"] or final.got["remaining"] != settings["stock"] - sold:
        findings.violation("books", f"{name}: {final.got['held']} are held, {final.got['remaining']} remain", final)
    findings.count("sold", sold)
