"""Flask: a limit for each user, and jobs that are sent once. flask --app flask_app run"""
from flask import Flask, request
from patternd import Client, Problem

patternd = Client(timeout_ms=1500)
app = Flask(__name__)


@app.before_request
def limit():
    user = request.headers.get("X-User", request.remote_addr)  # in your program: what the login verified
    try:
        decision = patternd.limit(user, policy="api")
    except Problem as problem:
        app.logger.warning("no decision, so the request is served: %s", problem)
        return None
    if decision.allowed:
        return None
    return {"error": "too many requests"}, 429, {"Retry-After": str(-(-decision.retry_after_ms // 1000))}


@app.errorhandler(Problem)
def unavailable(problem):
    app.logger.error("%s", problem)
    return {"error": "try again"}, 503, {"Retry-After": "1"}


@app.post("/orders/<int:order>")
def place(order):
    sent = patternd.queue("mails").send({"order": order}, id=f"order-{order}")
    return {"order": order, "repeated": sent["duplicate"]}, 202


@app.get("/")
def home():
    return {"hello": "world"}
