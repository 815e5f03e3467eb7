"""An OpenAI-compatible endpoint that fails on purpose, for tests. Standard library only.

    faulty_endpoint.py [CERTIFICATE KEY]

Prints its port, serves until its standard input ends. The first segment of a path names the fault:
POST /FAULT/ANYTHING/v1/chat/completions. What happens "first" happens to the first request of a
path; later ones succeed."""
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
seen = {}
under_way = {}
most = {}


def words(message, code=None, param=None, kind="invalid_request_error"):
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    # --- writing ---

    def head(self, status, kind, length=None, more=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        for name, value in more:
            self.send_header(name, value)
        self.end_headers()

    def send(self, status, body, kind="application/json", more=()):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.head(status, kind, len(data), more)
        self.wfile.write(data)

    def chunk(self, data):
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

    def last_chunk(self):
        self.wfile.write(b"0\r\n\r\n")

    def cut(self, reset):
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.wfile.flush()
        if not reset:
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    # --- answers that are right ---

    def completion(self, text, finish="stop", **more):
        """A whole body as the events of a stream, or as one."""
        o = {"reasoning": None, "member": "reasoning_content", "usage": True, "model": "tiny",
             "logprobs": None, **more}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        if not self.body.get("stream"):
            message = {"role": "assistant", "content": text}
            if o["reasoning"] is not None:
                message[o["member"]] = o["reasoning"]
            choice = {"index": 0, "message": message, "finish_reason": finish}
            if o["logprobs"]:
                choice["logprobs"] = {"content": [{"token": "a", "logprob": x}
                                                  for x in o["logprobs"]]}
            return {"id": "c", "object": "chat.completion", "model": o["model"],
                    "choices": [choice], **({"usage": usage} if o["usage"] else {})}
        events = [{"role": "assistant", "content": ""}]
        if o["reasoning"] is not None:
            events += [{o["member"]: o["reasoning"][:4]}, {o["member"]: o["reasoning"][4:]}]
        events += [{"content": text[i:i + 6]} for i in range(0, len(text), 6)]
        out = []
        for i, delta in enumerate(events):
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            if o["logprobs"] and i < len(o["logprobs"]):
                choice["logprobs"] = {"content": [{"token": "a", "logprob": o["logprobs"][i]}]}
            out.append({"id": "c", "model": o["model"], "choices": [choice]})
        out.append({"id": "c", "model": o["model"],
                    "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        if o["usage"] and self.body.get("stream_options", {}).get("include_usage"):
            out.append({"id": "c", "model": o["model"], "choices": [], "usage": usage})
        return out

    @staticmethod
    def stream_of(events, ending="\n", done=True):
        lines = ["data: " + json.dumps(e, ensure_ascii=False) for e in events]
        lines += ["data: [DONE]"] if done else []
        return "".join(line + ending + ending for line in lines).encode()

    def say(self, text, finish="stop", **more):
        c = self.completion(text, finish, **more)
        if isinstance(c, dict):
            self.send(200, c)
            return
        self.head(200, "text/event-stream; charset=utf-8")
        self.chunk(self.stream_of(c))
        self.last_chunk()

    def pieces(self, data, size, pause):
        self.head(200, "text/event-stream")
        for i in range(0, len(data), size):
            self.chunk(data[i:i + size])
            time.sleep(pause)
        self.last_chunk()

    def messages(self):
        return "%d messages, the last says: %s" % (len(self.body["messages"]),
                                                   self.body["messages"][-1]["content"])

    # --- requests ---

    def do_GET(self):
        name = self.path.split("/")[1]
        ids = {"two": ["a-model", "another\u001b[31m"], "none": []}.get(name, ["tiny"])
        if name == "key-told":
            ids = ["tiny " + self.headers.get("Authorization")]
        if name == "refused":
            self.send(401, words("Incorrect API key provided: %s"
                                 % self.headers.get("Authorization")))
        elif name == "page":
            self.send(200, "<html><body>Welcome</body></html>", "text/html")
        elif name == "mute":
            time.sleep(60)
            self.cut(True)
        elif name == "loading" and self.count() == 1:
            self.send(503, words("Loading model", kind="unavailable_error"))
        else:
            self.send(200, {"object": "list", "data": [
                {"id": i, "object": "model", "max_model_len": 4096} for i in ids]})

    def count(self):
        with lock:
            seen[self.path] = seen.get(self.path, 0) + 1
            return seen[self.path]

    def do_POST(self):
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = self.path.split("/")[1]
        try:
            getattr(self, "on_" + fault.replace("-", "_"))(self.count())
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def on_ok(self, n):
        self.say(self.messages())

    def on_parameters(self, n):
        self.say(json.dumps({k: v for k, v in self.body.items() if k != "messages"}))

    def on_roles(self, n):
        self.say(json.dumps([[m["role"], m["content"]] for m in self.body["messages"]]))

    def on_key(self, n):
        given = self.headers.get("Authorization")
        self.say("yes" if given == "Bearer sk-secret-0123456789" else "no")

    def on_key_told(self, n):
        key = self.headers["Authorization"].split()[1]
        self.say("your key is " + key, reasoning="it is " + key, model="tiny " + key)

    def on_tries(self, n):
        self.say("try %d" % n)

    def on_busy(self, n):
        """Tells how many were under way at once; the first of a path wait for each other."""
        with lock:
            under_way[self.path] = under_way.get(self.path, 0) + 1
            most[self.path] = max(most.get(self.path, 0), under_way[self.path])
        time.sleep(0.1)
        with lock:
            under_way[self.path] -= 1
        self.say("%d" % most[self.path])

    def on_count(self, n):
        """How many requests of the path behind /count have come."""
        self.say("%d" % seen.get(self.path[len("/count"):], 0))

    # --- statuses ---

    def on_429(self, n):
        if n <= 2:
            self.send(429, words("Rate limit reached"), more=[("Retry-After", "0")])
        else:
            self.say("try %d" % n)

    def on_429_second(self, n):
        if n == 1:
            with lock:
                most[self.path] = time.monotonic()
            self.send(429, words("Rate limit reached"), more=[("Retry-After", "1")])
        else:
            self.say("%.3f" % (time.monotonic() - most[self.path]))

    def on_429_date(self, n):
        if n == 1:
            with lock:
                most[self.path] = time.time()
            # Whole seconds: the date lies 1 to 2 s ahead.
            self.send(429, words("Rate limit reached"),
                      more=[("Retry-After", formatdate(int(time.time()) + 2, usegmt=True))])
        else:
            self.say("%.3f" % (time.time() - int(most[self.path])))

    def on_429_hour(self, n):
        self.send(429, words("Rate limit reached"), more=[("Retry-After", "3600")])

    def on_quota(self, n):
        self.send(429, words("You exceeded your current quota", code="insufficient_quota"))

    def first(self, n, status, body="<html><h1>Bad\r\nGateway</h1></html>", kind="text/html"):
        if n <= 2:
            self.send(status, body, kind)
        else:
            self.say("try %d" % n)

    def on_408(self, n):
        self.first(n, 408, "")

    def on_409(self, n):
        self.first(n, 409, "{}", "application/json")

    def on_500(self, n):
        self.first(n, 500)

    def on_503(self, n):
        self.first(n, 503)

    def on_500_always(self, n):
        self.send(500, words("out\nof \u001b[31mmemory"))

    def on_401(self, n):
        self.send(401, words("Incorrect API key provided: %s. Get one elsewhere."
                             % self.headers.get("Authorization"), code="invalid_api_key"))

    def on_403(self, n):
        self.send(403, "Forbidden", "text/plain")

    def on_404(self, n):
        self.send(404, words("The model `x` does not exist", code="model_not_found"))

    def on_400(self, n):
        self.send(400, words("Unsupported value: temperature", param="temperature"))

    def on_unknown(self, n):
        """Knows none of the three parameters that can be left out."""
        for name in ("seed", "stream_options", "max_tokens"):
            if name in self.body:
                self.send(400, words("Unsupported parameter", "unsupported_parameter", name))
                return
        self.say("%d" % self.body["max_completion_tokens"])

    def on_unknown_fastapi(self, n):
        if "seed" in self.body:
            self.send(422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"],
                                        "msg": "Extra inputs are not permitted"}]})
        else:
            self.say("without")

    def on_full_openai(self, n):
        self.send(400, words("This model's maximum context length is 8192 tokens.",
                             code="context_length_exceeded", param="messages"))

    def on_full_vllm(self, n):
        self.send(400, {"object": "error", "code": 400, "type": "BadRequestError",
                        "message": "This model's maximum context length is 4096 tokens. However, "
                                   "you requested 9000 tokens."})

    def on_full_llama(self, n):
        self.send(400, {"error": {"code": 400, "n_ctx": 512, "type": "exceed_context_size_error",
                                  "message": "the request exceeds the available context size"}})

    def on_redirect(self, n):
        self.send(307, "", more=[("Location", "/ok/moved/v1/chat/completions")])

    # --- connections and bodies ---

    def on_silent(self, n):
        if n == 1:
            time.sleep(1.5)
            self.cut(True)
        else:
            self.say("try %d" % n)

    def on_drip(self, n):
        self.pieces(self.stream_of(self.completion("drop by drop")), 32, 0.05)

    def on_drip_comments(self, n):
        self.head(200, "text/event-stream")
        for _ in range(200):
            self.chunk(b": still here\n\n")
            time.sleep(0.05)

    def on_reset(self, n):
        data = self.stream_of(self.completion("try %d, with a text of some length" % n))
        if n > 1:
            self.pieces(data, len(data), 0)
            return
        self.head(200, "text/event-stream")
        self.chunk(data[:len(data) // 2])
        time.sleep(0.05)
        self.cut(True)

    def on_no_end(self, n):
        events = self.completion("try %d" % n)
        if n > 1:
            self.pieces(self.stream_of(events), 4096, 0)
            return
        self.pieces(self.stream_of(events[:2], done=False), 4096, 0)

    def on_no_done(self, n):
        self.head(200, "text/event-stream")
        self.chunk(self.stream_of(self.completion("try %d" % n, usage=False), done=False))
        self.cut(False)

    def on_half_json(self, n):
        if n == 1:
            self.head(200, "application/json", 5000)
            self.wfile.write(b'{"choices": [{"index": 0, "message": {"content": "half')
            self.cut(False)
        else:
            self.say("try %d" % n)

    def on_garbage(self, n):
        if n == 1:
            self.pieces(b"data: {\"choices\": [oops \x1b[31m\n\n", 4096, 0)
        else:
            self.say("try %d" % n)

    def on_garbage_always(self, n):
        self.send(200, "sk-secret-0123456789 {{{")

    def on_other_json(self, n):
        self.send(200, {"hello": "world", "choices": []})

    def on_page(self, n):
        self.send(200, "<html><body>Sign\x1b[31m in</body></html>", "text/html")

    def on_no_http(self, n):
        self.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        self.cut(False)

    def on_huge(self, n):
        part = b"a" * (1 << 20)
        self.head(200, "application/json", (1 << 30) + 1)
        self.wfile.write(b'{"choices": [{"index": 0, "message": {"content": "')
        for _ in range(1 << 10):
            self.wfile.write(part)

    def on_huge_stream(self, n):
        event = self.stream_of([{"choices": [{"index": 0, "delta": {"content": "a" * (1 << 20)}}]}],
                               done=False)
        self.head(200, "text/event-stream")
        for _ in range(1 << 10):
            self.chunk(event)

    def on_huge_line(self, n):
        self.head(200, "text/event-stream")
        for _ in range(1 << 14):
            self.chunk(b"data: " + b"a" * (1 << 16))

    def on_error_event(self, n):
        if n == 1:
            self.pieces(self.stream_of(self.completion("half")[:2] + [
                words("engine died", kind="server_error")], done=False), 4096, 0)
        else:
            self.say("try %d" % n)

    def on_full_event(self, n):
        self.pieces(self.stream_of([{"error": {"code": 400, "message": "prompt is too long"}}]),
                    4096, 0)

    def on_abort(self, n):
        self.say("try %d" % n, finish="abort" if n == 1 else "stop")

    # --- answers that are right and unusual ---

    def on_reasoning(self, n):
        self.say("the answer", reasoning="let me think")

    def on_reasoning2(self, n):
        self.say("the answer", reasoning="let me think", member="reasoning")

    def on_length(self, n):
        self.say("cut of", finish="length")

    def on_filter(self, n):
        self.say("", finish="content_filter")

    def on_logprobs(self, n):
        self.say("abc", logprobs=[-0.5, -0.25] if self.body.get("logprobs") else None)

    def on_no_usage(self, n):
        self.say("a text of 24 bytes here.", usage=False)

    def on_model(self, n):
        self.say("hello", model="tiny-%d" % n)

    def on_latin(self, n):
        data = self.stream_of(self.completion("caf\u00e9"))
        self.pieces(data.replace(b"\xc3\xa9", b"\xe9"), 99, 0)

    def on_parts(self, n):
        self.send(200, {"choices": [{"index": 0, "finish_reason": "stop", "message": {
            "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]}}]})

    def on_unicode(self, n):
        events = self.completion("h\u00e9llo \U0001f680 \u4e16\u754c, split")
        data = b"\xef\xbb\xbf: a comment\r\nevent: x\r\nid: 1\r\nretry: 5\r\n\r\n" + \
            self.stream_of(events, "\r\n")
        self.pieces(data, 1, 0)

    def on_keep_alive(self, n):
        self.body["stream"] = False
        data = json.dumps(self.completion("patient")).encode()
        self.head(200, "application/json")
        for _ in range(8):
            self.chunk(b"\n\n")
            time.sleep(0.05)
        self.chunk(data)
        self.last_chunk()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args):
        """A client that goes away is what many tests are about."""


def main():
    server = Server(("127.0.0.1", 0), Handler)
    if len(sys.argv) == 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


main()
