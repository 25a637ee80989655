"""Sends the mails of the queue `mails`, each of which comes as a POST request. It knows no queue
and no client. At SIGTERM it accepts no more, and finishes what it has.
"""
import json
import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Mails(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(204)

    def do_POST(self):
        mail = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(self.headers["Patternd-Message-Id"], "a mail to", mail["to"], flush=True)  # the id: to send it once
        self.answer(204)

    def answer(self, status):
        self.send_response_only(status)
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 3000))), Mails)
server.daemon_threads = False  # server_close waits for them
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
server.serve_forever()
server.server_close()
