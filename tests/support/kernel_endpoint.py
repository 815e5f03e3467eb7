"""An OpenAI-compatible endpoint that answers C problems with the candidates that ship: in the first
turn the wrong one, then the fast one. Standard library only.

    kernel_endpoint.py CANDIDATES LEDGER [SECONDS]

Prints its port, serves until its standard input ends. LEDGER gets a line for each request, its seed,
when it comes in; the reply holds the same seed. A reply takes SECONDS. The model's name is `kernels`;
below the path /other/ it is another one from the fourth request on. Below /html/ it sends a page,
below /small/ no conversation fits the context."""
import json
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

candidates, ledger = sys.argv[1], open(sys.argv[2], "a", buffering=1)
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0
lock = threading.Lock()
served = 0


def answer(body):
    messages = body["messages"]
    entry = re.search(r"\nvoid (\w+)\(", messages[0]["content"]).group(1)
    turn = sum(m["role"] == "assistant" for m in messages)
    kind = "fast" if turn > 0 else "wrong"
    with open(f"{candidates}/{entry}.{kind}.c") as f:
        return f"request {body['seed']} ends\n```c\n{f.read()}\n```\n"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def give(self, value, status=200, kind="application/json"):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.give({"object": "list", "data": [{"id": "kernels", "object": "model"}]})

    def do_POST(self):
        global served
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with lock:
            served += self.path.startswith("/other/")
            other = self.path.startswith("/other/") and served > 3
            ledger.write(f"{body['seed']}\n")
        time.sleep(seconds)
        if self.path.startswith("/html/"):
            self.give("<html>Welcome to the proxy</html>", 200, "text/html")
            return
        if self.path.startswith("/small/"):
            self.give({"error": {"message": "too long", "code": "context_length_exceeded"}}, 400)
            return
        text = answer(body)
        usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        message = {"role": "assistant", "content": text, "reasoning_content": "because"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        model = "kernels-2" if other else "kernels"
        self.give({"id": "x", "object": "chat.completion", "model": model, "choices": [choice],
                   "usage": usage})


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that was killed


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
