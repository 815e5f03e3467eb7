#!/usr/bin/env python3
"""Collects trajectories of several turns: a model behind an OpenAI-compatible endpoint writes
kernels, `kgym serve` judges them and says what to tell the model.

    clients/collect.py --endpoint http://127.0.0.1:8000/v1 --model M --problems relu,softmax \\
        --samples 8 --turns 3 --out trajectories.jsonl

OUT gets one line of kgym.trajectory/1 (docs/trajectory.md) for each problem and sample, which
`kgym sft` reads. The service holds the conversations, under keys of --run, problem and sample. So
the same command goes on where an earlier one was stopped or killed, on another host, too: what
the service has taken is neither sampled nor judged again. Exit status: 0, all are there; 1, some
are not, and the same command tries them again; 2, the command is wrong.

What the gym could not judge ends a trajectory as `infra`, or `defect` where the problem is at
fault; it has no reward. Standard library only, with kgym.py beside it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import sys
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Dict, List, Optional, Tuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kgym import Gym, GymError, Refused  # noqa: E402

LOST_MOST = 2  # times that a turn which the gym could not judge is sent


class Full(Exception):
    """The conversation no longer fits the model's context."""


class Unreachable(Exception):
    """The endpoint gives no reply."""


class Outage:
    """Tells that something is asked again and again, at most once a minute."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.told: Optional[float] = None

    def tell(self, why: str) -> None:
        with self.lock:
            now = time.monotonic()
            if self.told is None or now - self.told >= 60:
                self.told = now
                print(f"collect: {why}: asking again", file=sys.stderr, flush=True)


class Endpoint:
    """POST BASE/chat/completions, asked again until deadline_s."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.at = urllib.parse.urlsplit(options.endpoint.rstrip("/") + "/chat/completions")
        self.options = options
        self.key = os.environ.get(options.api_key_env, "")
        self.outage = Outage()
        if self.at.scheme not in ("http", "https") or not self.at.hostname:
            raise ValueError(f"not a URL of an endpoint: {options.endpoint}")

    def reply(self, messages: List[Dict[str, str]]) -> Tuple[str, str, Dict[str, Any]]:
        """(text, "stop" or "length", extra)."""
        o = self.options
        body = {"model": o.model, "messages": messages, "temperature": o.temperature,
                "top_p": o.top_p, "max_tokens": o.max_tokens}
        if o.logprobs:
            body["logprobs"] = True
        end, pause = time.monotonic() + o.deadline_s, 0.5
        while True:
            status, got = self._once(body)
            if status == 200 and isinstance(got, dict) and got.get("choices"):
                return _reply_of(got)
            said = json.dumps(got)[:300]
            if status == 400 and "context" in said.lower():
                raise Full(said)
            fatal = 400 <= status < 500 and status not in (408, 409, 425, 429)
            if fatal or time.monotonic() + pause >= end:
                raise Unreachable(f"endpoint: status {status}: {said}")
            self.outage.tell(f"endpoint {o.endpoint}: status {status}: {said}")
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, 20.0)

    def _once(self, body: Dict[str, Any]) -> Tuple[int, Any]:
        kind = (http.client.HTTPSConnection if self.at.scheme == "https"
                else http.client.HTTPConnection)
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = "Bearer " + self.key
        connection = kind(str(self.at.hostname), self.at.port, timeout=self.options.deadline_s)
        try:
            connection.request("POST", self.at.path, json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            return 0, str(error) or type(error).__name__
        finally:
            connection.close()


def _reply_of(got: Dict[str, Any]) -> Tuple[str, str, Dict[str, Any]]:
    choice = got["choices"][0]
    message = choice.get("message") or {}
    extra: Dict[str, Any] = {"usage": got.get("usage")}
    content = (choice.get("logprobs") or {}).get("content")
    if content:
        extra["tokens"] = [token.get("token") for token in content]
        extra["logp"] = [token.get("logprob") for token in content]
    finish = "length" if choice.get("finish_reason") == "length" else "stop"
    text = str(message.get("content") or "").encode("utf-8", "replace").decode()
    return text, finish, extra


class File:
    """OUT: whole lines, synced. A line that a kill has cut off is taken away."""

    def __init__(self, out: str) -> None:
        self.out = out
        self.lock = threading.Lock()
        self.done = {line["id"] for line in self._lines(out)}

    @staticmethod
    def _lines(path: str) -> List[Dict[str, Any]]:
        try:
            with open(path, "rb") as f:
                data = f.read()
        except FileNotFoundError:
            return []
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(path, whole)
        return [json.loads(line) for line in data[:whole].splitlines() if line]

    def add(self, text: str) -> None:
        with self.lock:
            whole = os.path.getsize(self.out) if os.path.exists(self.out) else 0
            try:
                with open(self.out, "ab") as f:
                    f.write(text.encode("utf-8", "replace") + b"\n")
                    f.flush()
                    os.fsync(f.fileno())
            except OSError:  # a full disk, say: the next line must not stand behind half of this
                if os.path.exists(self.out):
                    os.truncate(self.out, whole)
                raise


class Service(Gym):
    """The trajectories of a service (docs/service.md)."""

    outage = Outage()

    def _waits(self, why: str) -> None:
        self.outage.tell(why)

    def open(self, body: Dict[str, Any]) -> Dict[str, Any]:
        return self._call("POST", "/v1/trajectories", body)

    def turn(self, id: str, body: Dict[str, Any]) -> Dict[str, Any]:
        """Turn n, once it has ended. What the gym lost is sent again, LOST_MOST times in all: each
        time is three attempts of the service. Then its state is "lost" still."""
        path = f"/v1/trajectories/{id}/turns"
        end = time.monotonic() + self.timeout_s
        for _ in range(LOST_MOST):
            got = self._until(end, "POST", path, body, 0)[0]
            while got["state"] in ("waiting", "running"):
                if time.monotonic() >= end:
                    raise GymError(f"a turn of {id} had no verdict in {self.timeout_s:g} s", "late")
                got = self.look(id, body["n"], max(1.0, min(60.0, end - time.monotonic())))
            if got["state"] != "lost":
                break
        return got

    def look(self, id: str, n: int, wait: float) -> Dict[str, Any]:
        path = f"/v1/trajectories/{id}/turns/{n}?wait={wait:.0f}"
        return self._until(time.monotonic() + self.timeout_s, "GET", path, None, wait)[0]

    def close(self, id: str, how: str) -> None:
        self._call("DELETE", f"/v1/trajectories/{id}?end={how}")

    def whole(self, id: str) -> Dict[str, Any]:
        return self._call("GET", f"/v1/trajectories/{id}")


class Collector:
    def __init__(self, options: argparse.Namespace) -> None:
        self.o = options
        self.gym = Service(options.gym, timeout_s=options.deadline_s,
                           token_file=options.token_file)
        self.endpoint = Endpoint(options)
        self.file = File(options.out)

    def trajectory(self, problem: str, sample: int) -> bool:
        """One conversation, from its first turn that the service has not taken. False: it ended
        without a turn, so there is no line of it."""
        o = self.o
        name = f"{o.run}-{problem}-{sample}"
        wish = {"problem": problem, "key": name, "group": f"{o.run}-{problem}",
                "max_turns": o.turns, "idle_s": 30 * 86400, "preset": o.preset,
                "rewards": o.rewards, "language": o.language, "system": o.system,
                "meta": {"name": name, "model": o.model, "temperature": o.temperature,
                         "top_p": o.top_p}}
        opened = self.gym.open({key: value for key, value in wish.items() if value is not None})
        id, messages, n = str(opened["id"]), list(opened["messages"]), int(opened["turns"])
        if n and not opened["done"] and messages[-1]["role"] == "assistant":
            n = self._judge_again(id, n, messages)
        while n < o.turns and opened["state"] == "open" and not opened["done"]:
            try:
                reply, finish, extra = self.endpoint.reply(messages)
            except Full:
                if n == 0:
                    raise
                self.gym.close(id, "full")
                break
            n += 1
            if not self._turn(id, {"n": n, "reply": reply, "finish": finish, "extra": extra,
                                   "usage": extra.pop("usage")}, messages):
                break
        return self._write(id, name)

    def _judge_again(self, id: str, n: int, messages: List[Dict[str, str]]) -> int:
        """Turn n was taken, and its feedback is not there yet. Returns the turns that have it."""
        got = self.gym.look(id, n, 0)
        body = {name: got[name] for name in ("n", "reply", "finish", "extra", "usage")}
        del messages[-1]
        return n if self._turn(id, body, messages) else self.o.turns

    def _turn(self, id: str, body: Dict[str, Any], messages: List[Dict[str, str]]) -> bool:
        """False: no turn follows."""
        got = self.gym.turn(id, body)
        if got["state"] == "lost":
            self.gym.close(id, "infra")
            return False
        messages += [{"role": "assistant", "content": body["reply"]},
                     {"role": "user", "content": got["feedback"] or ""}]
        return not got["done"]

    def _write(self, id: str, name: str) -> bool:
        whole = self.gym.whole(id)
        if not whole["turns"]:
            return False  # readers refuse a line without a turn
        if whole["end"] == "open":  # its last turn is judged, and the service is about to end it
            last = whole["turns"][-1]
            whole["end"] = "defect" if last.get("state") == "defect" else "done"
        whole["extra"] = dict(whole["extra"], trajectory=whole["id"])
        whole["id"] = name
        whole["turns"][-1]["feedback"] = None
        self.file.add(json.dumps(whole, ensure_ascii=False, separators=(",", ":")))
        return True

    def run(self) -> int:
        work = [(problem, sample) for sample in range(self.o.samples)
                for problem in self.o.problems
                if f"{self.o.run}-{problem}-{sample}" not in self.file.done]
        written = left = 0
        with ThreadPoolExecutor(max_workers=self.o.jobs) as pool:
            runs = {pool.submit(self.trajectory, *item): item for item in work}
            for run in as_completed(runs):
                try:
                    written += run.result()
                except (GymError, Unreachable, Full, OSError) as error:
                    left += 1
                    problem, sample = runs[run]
                    print(f"collect: {problem} {sample}: {error}", file=sys.stderr, flush=True)
                    if isinstance(error, Refused) and error.status in (401, 403):
                        pool.shutdown(wait=True, cancel_futures=True)
                        break
        print(f"collect: {written} written, {len(self.file.done)} were there, "
              f"{left} left", file=sys.stderr)
        return 1 if left else 0


def _problems(text: str) -> List[str]:
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as f:
            names = [line.strip() for line in f]
    else:
        names = text.split(",")
    names = [name for name in names if name]
    if not names or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError("names of problems, each once, are needed")
    return names


def _options(arguments: Optional[List[str]]) -> argparse.Namespace:
    p = argparse.ArgumentParser(description="Collect trajectories of several turns.")
    p.add_argument("--endpoint", required=True, help="base URL, such as http://host:8000/v1")
    p.add_argument("--model", required=True)
    p.add_argument("--api-key-env", default="OPENAI_API_KEY", help="variable that holds the key")
    p.add_argument("--gym", default=None, help="URL of kgym serve (KGYM_URL)")
    p.add_argument("--token-file", default=None,
                   help="file whose first line is a token of the gym (KGYM_TOKEN)")
    p.add_argument("--problems", required=True, type=_problems, help="A,B,... or @FILE")
    p.add_argument("--samples", type=int, default=1, help="conversations of each problem")
    p.add_argument("--turns", type=int, default=3, help="replies of each conversation")
    p.add_argument("--jobs", type=int, default=16, help="conversations at a time")
    p.add_argument("--out", required=True, help="file of trajectories")
    p.add_argument("--run", default="collect", help="name that ids and keys begin with")
    p.add_argument("--preset", default=None, help="how the gym judges (docs/presets.md)")
    p.add_argument("--rewards", default=None, help="presets of rewards (docs/rewards.md)")
    p.add_argument("--language", default=None, help="of answers to PyTorch problems")
    p.add_argument("--system", default=None, help="system message")
    p.add_argument("--temperature", type=float, default=1.0)
    p.add_argument("--top-p", type=float, default=1.0)
    p.add_argument("--max-tokens", type=int, default=8192)
    p.add_argument("--logprobs", action="store_true", help="keep tokens and log-probabilities")
    p.add_argument("--deadline-s", type=float, default=3600, help="of one reply or evaluation")
    o = p.parse_args(arguments)
    if o.samples < 1 or o.turns < 1 or o.jobs < 1:
        p.error("--samples, --turns and --jobs must be at least 1")
    return o


def main(arguments: Optional[List[str]] = None) -> int:
    try:
        collector = Collector(_options(arguments))
    except (ValueError, OSError) as error:
        print(f"collect: {error}", file=sys.stderr)
        return 2
    return collector.run()


if __name__ == "__main__":
    sys.exit(main())
