"""An OpenAI-compatible endpoint that answers problems with the candidates that ship: in the first
turn the wrong one, then the fast one. For a PyTorch problem CANDIDATES is problems/torch_candidates;
one that does not ship gets text without a kernel, then its own reference as ModelNew. Standard
library only.

    kernel_endpoint.py CANDIDATES LEDGER [SECONDS]

Prints its port, serves until its standard input ends. LEDGER gets a line for each request, its seed,
when it comes in; the reply holds the same seed. A reply takes SECONDS. The model's name is `kernels`;
below the path /other/ it is another one from the fourth request on. Below /refuses/ the fourth and later
requests are refused at once, while earlier ones are answered a second later. Below /html/ it sends a page,
below /small/ no conversation fits the context."""
import json
import os
import pathlib
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

candidates, ledger = sys.argv[1], open(sys.argv[2], "a", buffering=1)
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0
lock = threading.Lock()
served = 0


def module(prompt, kind):
    """A candidate for the last module of a prompt that defines Model: earlier ones are examples."""
    asked = [t for t in re.findall(r"```python\n(.*?)```", prompt, re.S) if "class Model(" in t][-1]
    folder = pathlib.Path(candidates)
    for problem in folder.parent.glob("torch/*/*.py"):
        if problem.read_text().strip() == asked.strip():
            return (folder / f"{problem.stem.partition('_')[2]}.{kind}.py").read_text()
    if kind == "wrong":
        return "# nothing yet"
    # the parent's name in `super(Model, self)`, too
    return re.sub(r"\bModel\b", "ModelNew", asked)


def answer(body):
    messages = body["messages"]
    prompt = messages[0]["content"]
    turn = sum(m["role"] == "assistant" for m in messages)
    kind = "fast" if turn > 0 else "wrong"
    entry = re.search(r"\nvoid (\w+)\(", prompt)
    if entry:
        language, text = "c", pathlib.Path(f"{candidates}/{entry.group(1)}.{kind}.c").read_text()
    else:
        language, text = "python", module(prompt, kind)
    return f"request {body['seed']} ends\n```{language}\n{text}\n```\n"


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
            counts = self.path.startswith(("/other/", "/refuses/"))
            served += counts
            late = counts and served > 3
            other = late and self.path.startswith("/other/")
            ledger.write(f"{body['seed']}\n")
        if self.path.startswith("/refuses/"):
            if late:
                self.give({"error": {"message": "no such key", "code": "invalid_api_key"}}, 401)
                return
            time.sleep(1)
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
