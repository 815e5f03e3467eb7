"""A stand-in for `kgym serve` and for a model's endpoint: the wire as clients see it, and faults on
demand. A reply says by a word in it what becomes of it; see Service.FATES. Its jobs outlive a
restart of the server, as those of the real one do."""

import hashlib
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OK = {"verdict": "ok", "reason": None, "error": None, "correct": True,
      "speedup": {"ratio": 1.5, "lo": 1.4, "hi": 1.6}, "coverage": 0.5,
      "timing": {"status": "measured"},
      "rewards": {"dr-kernel": {"value": 3.0}, "binary": {"value": 1.0}}}
NO_VERDICT = {"verdict": None, "reason": None, "correct": None, "speedup": None, "coverage": None,
              "timing": {"status": "off"}, "rewards": {}}
RECORDS = {
    "@wrong": dict(OK, verdict="wrong", reason="value", correct=False, speedup=None,
                   timing={"status": "off"},
                   rewards={"dr-kernel": {"value": 0.0}, "binary": {"value": 0.0}}),
    "@host": dict(NO_VERDICT, error={"code": "host", "blame": "host", "message": "no memory"}),
    "@problem": dict(NO_VERDICT, error={"code": "problem", "blame": "problem", "message": "bad"}),
    "@gpu": dict(NO_VERDICT, error={"code": "needs_gpu", "blame": "candidate", "message": "gpu"},
                 rewards={"dr-kernel": {"value": 0.0}}),
    "@stopped": dict(NO_VERDICT, error=None),
    "@unrewarded": dict(OK, rewards={}),
    "@untrusted": dict(OK, timing={"status": "not_trusted"}),
    "@hack": dict(OK, verdict="hack", reason="none", correct=False),
    "@claimed": dict(OK, timing={"status": "measured", "claims": {"ratio": 9.0}}),
}


class Service:
    """What the servers share, and what a test looks at."""

    def __init__(self):
        self.lock = threading.Lock()
        self.jobs = {}  # id -> job
        self.keys = {}  # key -> (id, body)
        self.seen = {}  # word -> how often it was asked for
        self.samples = 0  # replies of the model
        self.conversations = set()
        self.trajectories = {}  # id -> {wish, turns: [{body, job}]}
        self.token = ""
        self.failing = False
        self.submit_only = False  # the scope of the token

    def first(self, word, times=1):
        with self.lock:
            self.seen[word] = self.seen.get(word, 0) + 1
            return self.seen[word] <= times

    def submit(self, body):
        """(status, answer)"""
        with self.lock:
            key = body["key"]
            if key in self.keys and self.keys[key][1] != body:
                return 409, {"code": "conflict", "message": "another body", "field": "key"}
            if key not in self.keys:
                id = f"J{len(self.jobs):05d}"
                self.keys[key] = (id, body)
                self.jobs[id] = self.job(id, body)
            return 200, self.jobs[self.keys[key][0]]

    def job(self, id, body):
        text = body.get("reply") or body.get("source") or ""
        word = next((w for w in RECORDS if w in text), None)
        record = dict(RECORDS.get(word, OK), schema="kgym.record/1", id=id, config={"preset": "p"},
                      problem={"name": body["problem"], "sha256": "ab" * 32, "level": 1})
        job = {"id": id, "state": "done", "error": None, "record": record}
        if "@dead" in text:
            job = {"id": id, "state": "dead", "record": None,
                   "error": {"code": "gym", "blame": "gym", "message": "three attempts failed"}}
        return job


    # --- trajectories ---

    def open(self, wish):
        with self.lock:
            id = next((i for i, t in self.trajectories.items() if t["wish"]["key"] == wish["key"]),
                      None)
            if id is None:
                id = f"T{len(self.trajectories):05d}"
                self.trajectories[id] = {"wish": wish, "turns": [], "end": "open"}
            return id, self.trajectories[id]

    def take(self, id, body):
        """(status, answer)"""
        with self.lock:
            t = self.trajectories[id]
            turns, n = t["turns"], body["n"]
            if n <= len(turns) and turns[n - 1]["body"] != body:
                return 409, {"code": "conflict", "message": "other content", "field": ""}
            if n > len(turns) + 1 or (t["end"] != "open" and n > len(turns)):
                return 409, {"code": "conflict", "message": "not the next", "field": ""}
            old = turns[n - 1] if n <= len(turns) else None
            if old is None or (lost(old["job"]) and old["jobs"] < 8):
                job = self.job(f"J{len(self.jobs):05d}",
                               {"reply": body["reply"], "problem": t["wish"]["problem"]})
                self.jobs[job["id"]] = job
                turn = {"body": body, "job": job, "jobs": old["jobs"] + 1 if old else 1}
                turns[n - 1:n] = [turn]
            elif lost(old["job"]):
                return 409, {"code": "conflict", "message": "lost 8 times", "field": ""}
            if lost(turns[n - 1]["job"]):  # it is lost a moment later
                return 202, dict(self.turn(id, n), state="waiting")
            return 200, self.turn(id, n)

    def turn(self, id, n):
        t = self.trajectories[id]
        turn = t["turns"][n - 1]
        job = turn["job"]
        record = job["record"] or {}
        error = record.get("error") or job["error"] or {}
        state = ("lost" if lost(job) else
                 "defect" if error.get("blame") == "problem" else "judged")
        done = state == "defect" or (state == "judged" and n == t["wish"]["max_turns"])
        if done:
            t["end"] = "defect" if state == "defect" else "done"
        paid = record.get("rewards") or {}
        return dict(turn["body"], trajectory=id, state=state, evaluation=job["id"],
                    error=error or None, done=done, verdict=record.get("verdict"),
                    rewards={k: v["value"] for k, v in paid.items()} if state == "judged" else {},
                    feedback=f"Your answer: {record.get('verdict')}." if state == "judged" else None)

    def whole(self, id):
        t = self.trajectories[id]
        wish = t["wish"]
        turns = []
        for n, kept in enumerate(t["turns"], 1):
            got, record = self.turn(id, n), kept["job"]["record"] or {}
            text = json.dumps(record, separators=(",", ":")).encode()
            speedup = record.get("speedup") or {}
            turns.append({"turn": n, "reply": got["reply"], "finish": got["finish"],
                          "record": hashlib.sha256(text).hexdigest() if got["verdict"] else None,
                          "verdict": got["verdict"] or "", "reason": record.get("reason") or "",
                          "speedup": speedup.get("ratio"), "speedup_lo": speedup.get("lo"),
                          "coverage": record.get("coverage"), "rewards": got["rewards"],
                          "feedback": got["feedback"], "shared": False, "extra": got["extra"],
                          "state": got["state"], "evaluation": got["evaluation"],
                          "error": got["error"], "usage": got["usage"]})
        return {"schema": "kgym.trajectory/1", "id": id, "group": wish["group"],
                "problem": {"name": wish["problem"], "hash": "ab" * 32, "level": 1},
                "configuration": "cd" * 32, "source": "serve", "system": wish.get("system"),
                "prompt": prompt(wish), "turns": turns, "end": t["end"], "best": None,
                "extra": {}, "meta": wish["meta"]}

    def opened(self, id):
        t = self.trajectories[id]
        wish = t["wish"]
        messages = [{"role": "user", "content": prompt(wish)}]
        if wish.get("system"):
            messages.insert(0, {"role": "system", "content": wish["system"]})
        turns = [self.turn(id, n) for n in range(1, len(t["turns"]) + 1)]
        for turn in turns:
            messages.append({"role": "assistant", "content": turn["reply"]})
            if turn["feedback"] and turn["n"] < wish["max_turns"]:
                messages.append({"role": "user", "content": turn["feedback"]})
        return {"id": id, "state": "open" if t["end"] == "open" else "ended", "turns": len(turns),
                "done": bool(turns) and turns[-1]["done"], "messages": messages}


def lost(job):
    error = (job["record"] or {}).get("error") or job["error"] or {}
    return error.get("blame", "candidate") not in ("candidate", "problem")


def prompt(wish):
    return f"Write {wish['problem']} in {wish.get('language') or 'c'}.\n```c\nexample\n```"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        data = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def hang_up(self):
        self.close_connection = True
        self.connection.close()

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")

    def do_GET(self):
        self.route(None)

    def do_DELETE(self):
        self.route(None)

    def do_POST(self):
        self.route(self.body())

    def route(self, body):
        at = urllib.parse.urlsplit(self.path)
        path = [urllib.parse.unquote(part) for part in at.path.split("/") if part]
        service = self.server.service
        if path[-2:] == ["chat", "completions"]:
            return self.complete(body)
        if service.failing:
            return self.hang_up()
        if service.token and self.headers.get("Authorization") != "Bearer " + service.token:
            return self.answer(401, {"code": "no_token", "message": "a token is needed",
                                     "field": ""})
        if path == ["v1", "evaluations"] and body is not None:
            return self.evaluate(body)
        if path[:2] == ["v1", "evaluations"] and service.submit_only:
            return self.answer(403, {"code": "no_scope", "message": "not for this", "field": ""})
        if path[:2] == ["v1", "evaluations"] and len(path) >= 3:
            return self.get(path[2], path[3:])
        if path[:2] == ["v1", "trajectories"]:
            return self.trajectory(path[2:], body, urllib.parse.parse_qs(at.query))
        if path[:2] == ["v1", "problems"]:
            return self.problem(path[2:], urllib.parse.parse_qs(at.query))
        self.answer(404, {"code": "not_found", "message": "no such path", "field": ""})

    def evaluate(self, body):
        service, text = self.server.service, body.get("reply") or body.get("source") or ""
        if body["problem"] == "nothing":
            return self.answer(404, {"code": "no_problem", "message": "unknown",
                                     "field": "problem"})
        if "@flaky" in text and service.first("flaky", 2):
            return self.answer(503, {"code": "store", "message": "ask again", "field": ""})
        if "@gone" in text:
            service.first("gone")
            return self.answer(503, {"code": "record_lost", "message": "the record can't be read",
                                     "field": ""})
        if "@full" in text and service.first("full"):
            return self.answer(429, {"code": "queue_full", "message": "ask again", "field": ""})
        status, job = service.submit(body)
        if "@reset" in text and service.first("reset"):
            return self.hang_up()  # accepted, and the client does not know
        if ("@slow" in text or "@lost" in text) and status == 200 and service.first("waits"):
            return self.answer(202, dict(job, state="running", record=None))
        self.answer(status, job)

    def get(self, id, rest):
        service = self.server.service
        job = service.jobs.get(id)
        body = next((b for i, b in service.keys.values() if i == id), {})
        if job is None or ("@lost" in body.get("reply", "") and service.first("lost")):
            return self.answer(404, {"code": "not_found", "message": "unknown id", "field": ""})
        if rest == ["feedback"]:
            return self.answer(200, {"feedback": f"Your answer: {job['record']['verdict']}."})
        self.answer(200, job)

    def trajectory(self, rest, body, query):
        service = self.server.service
        if not rest:
            if body["problem"] == "nothing":
                return self.answer(404, {"code": "no_problem", "message": "unknown",
                                         "field": "problem"})
            return self.answer(200, service.opened(service.open(body)[0]))
        if rest[1:] == ["turns"]:
            return self.answer(*service.take(rest[0], body))
        if rest[1:2] == ["turns"]:
            return self.answer(200, service.turn(rest[0], int(rest[2])))
        if self.command == "DELETE":
            service.trajectories[rest[0]]["end"] = query["end"][0]
        self.answer(200, service.whole(rest[0]))

    def problem(self, rest, query):
        if not rest:
            return self.answer(200, {"problems": [{"problem": "relu"}, {"problem": "gelu"}]})
        if rest[0] == "nothing":
            return self.answer(404, {"code": "no_problem", "message": "unknown",
                                     "field": "problem"})
        language = (query.get("language") or ["c"])[0]
        self.answer(200, {"prompt": prompt({"problem": rest[0], "language": language})})

    def complete(self, body):
        """The model: no two of its replies are the same."""
        service, messages = self.server.service, body["messages"]
        with service.lock:
            service.samples += 1
            sample = service.samples
            service.conversations.add(json.dumps(messages))
        turn = sum(m["role"] == "assistant" for m in messages) + 1
        text = messages[0]["content"]
        if "overlong" in text and turn == 2:
            return self.answer(400, {"error": {"message": "maximum context length exceeded"}})
        word = "@host" if "unlucky" in text and turn == 2 else "@wrong" if turn == 1 else ""
        if "defective" in text:
            word = "@problem"
        choice = {"message": {"role": "assistant", "content": f"turn {turn} {word} {sample}"},
                  "finish_reason": "length" if turn == 3 else "stop",
                  "logprobs": {"content": [{"token": "t", "logprob": -0.5}]}}
        self.answer(200, {"choices": [choice], "usage": {"completion_tokens": 1}})


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service, port=0):
        self.service = service
        super().__init__(("127.0.0.1", port), Handler)
        self.port = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02},
                         daemon=True).start()

    def handle_error(self, *_):
        pass

    def end(self):
        self.shutdown()
        self.server_close()
