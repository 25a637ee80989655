import json, os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Mails(BaseHTTPRequestHandler):
    def do_POST(self):
        mail = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print("a mail to", mail["to"], flush=True)  # an exception is a failed delivery
        self.send_response(204)
        self.end_headers()

ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 3000))), Mails).serve_forever()
