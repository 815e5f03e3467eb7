"""Client of `kgym serve`, for training code. One file, standard library only, Python 3.9 or newer.

    from kgym import Gym
    gym = Gym("http://127.0.0.1:10907")
    record = gym.evaluate("relu", reply=text)   # kgym.record/1
    gym.reward("relu", reply=text)              # a float

Trainers take one of these by name (docs/trainers.md):

    compute_score         verl: custom_reward_function.path=clients/kgym.py, .name=compute_score
    reward_func           TRL: GRPOTrainer(reward_funcs=[reward_func])
    make_reward_func      the same with another reward, or another column

What the gym could not do raises GymError. It is never a reward, above all not 0: a trainer would
learn from it. Set in the environment: KGYM_URL, KGYM_TOKEN or KGYM_TOKEN_FILE, KGYM_REWARD
(dr-kernel), KGYM_TIMEOUT_S (3600: of one evaluation, its wait in the queue included).

A Gym may be used by several threads; each call has a connection of its own.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import random
import ssl
import sys
import threading
import time
import urllib.parse
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

__all__ = ["Gym", "GymError", "Refused", "compute_score", "make_reward_func", "reward_func",
           "reward_of"]

Record = Dict[str, Any]
Completion = Union[str, Sequence[Dict[str, Any]]]

_WAIT_S = 60.0  # one request waits so long for a result, then asks again
_REPLY_MOST = 256 << 20  # bytes of an answer
_LOST_MOST = 10  # answers that a record is lost: it will not come back
_TELL_S = 60.0  # whoever waits for a service that does not answer says so this often


class GymError(Exception):
    """The gym has no verdict. code: as in a record's error, or "unreachable", "certificate",
    "lost", "record_lost", "late"."""

    def __init__(self, message: str, code: str = "", blame: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.blame = blame


class Refused(GymError):
    """The service will not do it, however often it is asked: status 4xx. field: what is wrong."""

    def __init__(self, message: str, status: int, code: str = "", field: str = "") -> None:
        super().__init__(message, code)
        self.status = status
        self.field = field


def reward_of(record: Record, preset: str = "dr-kernel") -> float:
    """The reward of a record. GymError: there is none, by no fault of the candidate."""
    error = record.get("error")
    if isinstance(error, dict) and error.get("blame") != "candidate":
        raise GymError(f"not judged: {error.get('message')}", str(error.get("code")),
                       str(error.get("blame")))
    if not isinstance(error, dict) and not isinstance(record.get("verdict"), str):
        raise GymError("not judged: the evaluation stopped before a verdict", "stopped")
    reward = (record.get("rewards") or {}).get(preset)
    value = reward.get("value") if isinstance(reward, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise GymError(f"the record has no reward `{preset}`", "no_reward")
    return float(value)


def _token(path: Optional[str]) -> str:
    """A file that was asked for wins over the environment. Without any: ""."""
    if not path:
        token = os.environ.get("KGYM_TOKEN") or ""
        path = os.environ.get("KGYM_TOKEN_FILE") or ""
        if token or not path:
            return token
    with open(path, encoding="ascii") as f:
        token = f.readline().strip()
    if not token:
        raise ValueError(f"{path}: its first line holds no token")
    return token


class Gym:
    """A service. url None: KGYM_URL, else http://127.0.0.1:10907. token: of `kgym token add`, or
    the first line of token_file; None: KGYM_TOKEN, else that of the file KGYM_TOKEN_FILE."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None,
                 timeout_s: Optional[float] = None, token_file: Optional[str] = None) -> None:
        self.url = url or os.environ.get("KGYM_URL") or "http://127.0.0.1:10907"
        self.token = token or _token(token_file)
        self.timeout_s = timeout_s or float(os.environ.get("KGYM_TIMEOUT_S") or 3600)
        self._at = urllib.parse.urlsplit(self.url)
        if self._at.scheme not in ("http", "https") or not self._at.hostname:
            raise ValueError(f"not a URL of a service: {self.url}")

    # --- evaluations ---

    def evaluate(self, problem: Optional[str] = None, *, reply: Optional[str] = None,
                 source: Optional[str] = None, problem_source: Optional[str] = None,
                 preset: Optional[str] = None, set: Optional[Dict[str, Any]] = None,
                 rewards: Optional[str] = None, priority: Optional[str] = None,
                 deadline_s: Optional[float] = None, key: Optional[str] = None) -> Record:
        """Judges a reply (or a source, byte for byte) and returns the record, perhaps with an error.

        A call that is cut off goes on: it asks again under the same key, which joins the job.
        Raises GymError (unreachable, late, the service gave up) and Refused."""
        return self.evaluate_raw(problem, reply=reply, source=source, preset=preset, set=set,
                                 problem_source=problem_source, rewards=rewards, key=key,
                                 priority=priority, deadline_s=deadline_s)[1]

    def evaluate_raw(self, problem: Optional[str] = None, **members: Any) -> Tuple[str, Record, str]:
        """The same: (id of the evaluation, record, the record's text as the service has it)."""
        body = {name: value for name, value in dict(members, problem=problem).items()
                if value is not None}
        body.setdefault("key", uuid.uuid4().hex)
        end = time.monotonic() + self.timeout_s
        path = "/v1/evaluations"
        by_key = False
        job: Dict[str, Any] = {}
        while True:
            wait = max(1.0, min(_WAIT_S, end - time.monotonic()))
            ask = f"{path}?wait={wait:.0f}"
            try:
                if path == "/v1/evaluations":
                    job, text = self._until(end, "POST", ask, body, wait)
                else:
                    job, text = self._until(end, "GET", ask, None, wait)
            except Refused as refusal:
                # A service that lost its last writes knows the id no more, and a token that may
                # only submit reads no id: the key finds the job, or makes it.
                by_key = by_key or refusal.status == 403
                if (refusal.status not in (403, 404) or path == "/v1/evaluations"
                        or time.monotonic() >= end):
                    raise
                path = "/v1/evaluations"
                continue
            if job.get("state") not in ("waiting", "running"):
                return str(job.get("id")), _record_of(job), _raw_record(text)
            if time.monotonic() >= end:
                raise GymError(f"evaluation {job.get('id')} had no result in {self.timeout_s:g} s",
                               "late")
            if not by_key:
                path = "/v1/evaluations/" + urllib.parse.quote(str(job["id"]), safe="")

    def reward(self, problem: Optional[str] = None, *, preset_reward: str = "dr-kernel",
               **members: Any) -> float:
        """The reward of a reply; members as in evaluate(). Raises where there is none."""
        return reward_of(self.evaluate(problem, rewards=preset_reward, **members), preset_reward)

    def submit(self, problem: Optional[str] = None, **members: Any) -> str:
        """Accepted and durable: the id. Members as in evaluate()."""
        body = {name: value for name, value in dict(members, problem=problem).items()
                if value is not None}
        body.setdefault("key", uuid.uuid4().hex)
        end = time.monotonic() + self.timeout_s
        return str(self._until(end, "POST", "/v1/evaluations", body, 0)[0]["id"])

    def get(self, id: str) -> Dict[str, Any]:
        """{"id", "state", "record", ...} of an evaluation."""
        return self._call("GET", "/v1/evaluations/" + urllib.parse.quote(id, safe=""))

    def cancel(self, id: str) -> Dict[str, Any]:
        return self._call("DELETE", "/v1/evaluations/" + urllib.parse.quote(id, safe=""))

    def feedback(self, id: str) -> str:
        """What the model is told about a finished evaluation (docs/feedback.md)."""
        path = "/v1/evaluations/" + urllib.parse.quote(id, safe="") + "/feedback"
        return str(self._call("GET", path)["feedback"])

    # --- problems ---

    def problems(self) -> List[Dict[str, Any]]:
        return list(self._call("GET", "/v1/problems")["problems"])

    def prompt(self, problem: str, language: Optional[str] = None) -> str:
        """The first message for a problem (docs/prompts.md)."""
        path = "/v1/problems/" + urllib.parse.quote(problem, safe="") + "/prompt"
        if language:
            path += "?" + urllib.parse.urlencode({"language": language})
        return str(self._call("GET", path)["prompt"])

    # --- the wire ---

    def _call(self, method: str, path: str, body: Any = None) -> Dict[str, Any]:
        return self._until(time.monotonic() + self.timeout_s, method, path, body, 0)[0]

    def _until(self, end: float, method: str, path: str, body: Any,
               wait: float) -> Tuple[Dict[str, Any], str]:
        """Asks until there is an answer, up to `end`. Every request here may be made twice."""
        pause, lost = 0.25, 0
        while True:
            try:
                return self._once(method, path, body, wait)
            except Refused:
                raise
            except GymError as error:
                lost += error.code == "record_lost"
                if (error.code == "certificate" or lost >= _LOST_MOST
                        or time.monotonic() + pause >= end):
                    raise error
                self._waits(str(error))
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, 15.0)

    _told = [0.0]  # when anybody of this process said so last
    _telling = threading.Lock()

    def _waits(self, why: str) -> None:
        """It is asked once more. Standard error says so, once a minute."""
        with Gym._telling:
            tell = time.monotonic() >= Gym._told[0]
            if tell:
                Gym._told[0] = time.monotonic() + _TELL_S
        if tell:
            print(f"kgym: {why}: it is asked again, for up to {self.timeout_s:g} s", file=sys.stderr,
                  flush=True)

    def _once(self, method: str, path: str, body: Any, wait: float) -> Tuple[Dict[str, Any], str]:
        headers = {"Accept": "application/json"}
        data = None
        if body is not None:
            # Half a surrogate pair, which a tokenizer may leave, is no UTF-8.
            data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
            headers["Content-Type"] = "application/json"
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        kind = (http.client.HTTPSConnection if self._at.scheme == "https"
                else http.client.HTTPConnection)
        port = self._at.port or (10907 if self._at.scheme == "http" else 443)
        connection = kind(str(self._at.hostname), port, timeout=wait + 30)
        try:
            connection.request(method, self._at.path.rstrip("/") + path, data, headers)
            answer = connection.getresponse()
            text = answer.read(_REPLY_MOST).decode("utf-8", "replace")
            status = answer.status
        except ssl.SSLCertVerificationError as error:
            raise GymError(f"{self.url}: {error}", "certificate") from error
        except (OSError, http.client.HTTPException) as error:
            raise GymError(f"{self.url}: {error or type(error).__name__}", "unreachable") from error
        finally:
            connection.close()
        try:
            got = json.loads(text)
        except ValueError:
            got = None
        if 200 <= status < 300 and isinstance(got, dict):
            return got, text
        said = got if isinstance(got, dict) else {}
        message = f"{self.url}{path.split('?')[0]}: status {status}: {said.get('message', '')}"
        if 400 <= status < 500 and status not in (408, 425, 429):
            raise Refused(message, status, str(said.get("code", "")), str(said.get("field", "")))
        lost = said.get("code") == "record_lost"
        raise GymError(message, "record_lost" if lost else "unreachable")


def _record_of(job: Dict[str, Any]) -> Record:
    record = job.get("record")
    if isinstance(record, dict):
        return record
    error = job.get("error") or {}
    said = error.get("message") or job.get("state")
    raise GymError(f"evaluation {job.get('id')} has no record: {said}",
                   str(error.get("code") or job.get("state") or "lost"),
                   str(error.get("blame") or "gym"))


def _raw_record(text: str) -> str:
    """The record is the last member of an answer, as it was written."""
    return text[text.index(',"record":') + len(',"record":'):].rstrip()[:-1]


# --- trainers ---

_shared: Dict[str, Gym] = {}


def _gym() -> Gym:
    url = os.environ.get("KGYM_URL") or "http://127.0.0.1:10907"
    if url not in _shared:
        _shared[url] = Gym(url)
    return _shared[url]


def _preset() -> str:
    return os.environ.get("KGYM_REWARD") or "dr-kernel"


def _speedup(record: Record) -> float:
    """Of a candidate that is ok, by the gym's own clock. A record also keeps the ratio of a hack,
    and of a time that is not trusted."""
    timing = record.get("timing") or {}
    measured = timing.get("status") == "measured" and not isinstance(timing.get("claims"), dict)
    if record.get("verdict") != "ok" or not measured:
        return 0.0
    return float((record.get("speedup") or {}).get("ratio") or 0.0)


def compute_score(data_source: str, solution_str: str, ground_truth: Any,
                  extra_info: Optional[Dict[str, Any]] = None, **_: Any) -> Dict[str, Any]:
    """verl's custom reward function. ground_truth names the problem."""
    preset = _preset()
    record = _gym().evaluate(str(ground_truth), reply=solution_str, rewards=preset)
    score = reward_of(record, preset)
    return {"score": score, "acc": float(record.get("verdict") == "ok"),
            "speedup": _speedup(record), "verdict": str(record.get("verdict") or "")}


def _text_of(completion: Completion) -> str:
    """A completion is a text, or messages of which the assistant's last one counts."""
    if isinstance(completion, str):
        return completion
    for message in reversed(completion):
        if message.get("role", "assistant") == "assistant":
            content = message.get("content")
            if isinstance(content, list):
                content = "".join(part.get("text", "") for part in content)
            return str(content or "")
    return ""


def make_reward_func(preset: Optional[str] = None, column: str = "problem",
                     gym: Optional[Gym] = None, jobs: int = 64) -> Callable[..., List[float]]:
    """A reward function for TRL. column: of the data set, names the problem. jobs: requests at a
    time; the service queues what it cannot judge at once."""

    def reward(prompts: Any = None, completions: Sequence[Completion] = (),
               **columns: Any) -> List[float]:
        if column not in columns:
            raise ValueError(f"the data set needs a column `{column}` with names of problems")
        name, service = preset or _preset(), gym or _gym()
        work = list(zip(columns[column], completions))
        if len(work) != len(completions):
            raise ValueError(f"column `{column}` has {len(columns[column])} entries, and there are "
                             f"{len(completions)} completions")

        def one(item: Tuple[str, Completion]) -> float:
            record = service.evaluate(item[0], reply=_text_of(item[1]), rewards=name)
            return reward_of(record, name)

        with ThreadPoolExecutor(max_workers=max(1, min(jobs, len(work)))) as pool:
            return list(pool.map(one, work))

    reward.__name__ = f"kgym_{(preset or 'reward').replace('-', '_')}"
    return reward


reward_func = make_reward_func()
