"""Results: a request gets the result of its own message, which a delivery of that message stored,
and all requests get the same. While no fault lasts, a request is answered soon after its message is
done.
"""
WAKE_US = 1000000


def check(history, findings):
    for name in history.names("result.ask"):
        asks, completes = history.of("result.ask", on=name), history.of("result.complete", on=name)
        given = {}  # {number: its completions}
        for call in completes:
            given.setdefault(call.sent["of"], []).append(call)
        first = {}
        for call in asks:
            end = call.got["messages"][0] if call.is_ok else {}
            if end.get("state") == "done":
                check_result(history, findings, name, call, end, given, first)
            if call.is_ok:
                check_woken(history, findings, name, call, given)


def check_result(history, findings, name, call, end, given, first):
    findings.count("results awaited")
    number, result = call.sent["id"], end.get("result")
    completions = given.get(number, ())
    by = {completion.sent["by"]: completion for completion in completions}
    if "result" not in end and not all(is_stored(completion) for completion in completions):
        return  # Redis had no memory for the result
    if not isinstance(result, dict) or result["of"] != number or result["by"] not in by:
        findings.violation("a result is of its message", f"{name}: {number} got {result}", call)
        return
    other = first.setdefault(number, (result, call))
    if other[0] != result and not any(history.may_be_lost(c) for c in (call, other[1], by[result["by"]])):
        findings.violation("a result stays", f"{name}: {number} had two results", other[1], call)


def is_stored(completion):
    return completion.is_ok and completion.got["deliveries"][0].get("result_stored")


def check_woken(history, findings, name, call, given):
    """Whether the request was answered long after its result was stored."""
    for completion in given.get(call.sent["id"], ()):
        since = max(completion.end, call.start)
        if is_stored(completion) and since + WAKE_US < call.gave_up and history.is_quiet(call.start, call.gave_up):
            findings.violation(
                "waiters are woken", f"{name}: {call.sent['id']} was done, and its request not answered", completion, call
            )
