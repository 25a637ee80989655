"""Django: a limit for each user, and jobs that are sent once. python3 django_app.py runserver

In a project, `limit` is a line of MIDDLEWARE behind the login, and the views are in views.py.
"""
import logging
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from patternd import Client, Problem

patternd = Client(timeout_ms=1500)
settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"], MIDDLEWARE=[f"{__name__}.Limit"], ROOT_URLCONF=__name__, SECRET_KEY="of the example"
)


class Limit:
    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        user = request.headers.get("X-User", request.META["REMOTE_ADDR"])  # in your program: request.user.pk
        try:
            decision = patternd.limit(user, policy="api")
        except Problem as problem:
            logging.warning("no decision, so the request is served: %s", problem)
            return self.get_response(request)
        if decision.allowed:
            return self.get_response(request)
        response = JsonResponse({"error": "too many requests"}, status=429)
        response["Retry-After"] = -(-decision.retry_after_ms // 1000)
        return response

    def process_exception(self, request, exception):
        if not isinstance(exception, Problem):
            return None
        logging.error("%s", exception)
        response = JsonResponse({"error": "try again"}, status=503)
        response["Retry-After"] = 1
        return response


@csrf_exempt
def place(request, order):
    sent = patternd.queue("mails").send({"order": order}, id=f"order-{order}")
    return JsonResponse({"order": order, "repeated": sent["duplicate"]}, status=202)


def home(request):
    return JsonResponse({"hello": "world"})


urlpatterns = [path("orders/<int:order>", place), path("", home)]

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
