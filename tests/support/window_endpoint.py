"""An OpenAI-compatible endpoint with a small window, for tests of kgym refine. Standard library.

    window_endpoint.py FILE REPLY WINDOW LOG

Writes its port to FILE and answers each chat with the text of REPLY. Refuses one that leaves no
room for max_tokens in WINDOW tokens of four bytes. LOG gets a line for each request: roles, tokens,
refused. Ends when the process that started it does."""
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

port_file, reply_file, window, log = sys.argv[1:]
with open(reply_file) as f:
    reply = f.read()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def send(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.send(200, {"object": "list", "data": [{"id": "tiny", "object": "model"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = body["messages"]
        tokens = sum(len(m["content"].encode()) for m in messages) // 4
        most = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        refused = tokens + most > int(window)
        with open(log, "a") as f:
            f.write("%s %d %s\n" % ("".join(m["role"][0] for m in messages), tokens,
                                    "refused" if refused else "ok"))
        if refused:
            self.send(400, {"error": {"message": "This model's maximum context length is %s tokens."
                                      % window, "type": "invalid_request_error",
                                      "code": "context_length_exceeded"}})
            return
        self.send(200, {"id": "1", "object": "chat.completion", "model": "tiny",
                        "choices": [{"index": 0, "finish_reason": "stop",
                                     "message": {"role": "assistant", "content": reply}}],
                        "usage": {"prompt_tokens": tokens, "completion_tokens": len(reply) // 4,
                                  "total_tokens": tokens + len(reply) // 4}})


def end_with(parent):
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
server = HTTPServer(("127.0.0.1", 0), Handler)
with open(port_file + ".new", "w") as f:
    f.write(str(server.server_address[1]))
os.rename(port_file + ".new", port_file)
server.serve_forever()
