"""The other forms of the protocol, cancelling, load and monitoring, and /v1: each row is a function
of the run that returns (what is unlike, words for the table). tools/gpu-service.py calls them."""

import concurrent.futures
import json
import threading
import time

import service_client as client
from service_client import unlike
from service_rows import ALONE, HOSTILE, TRITON, WRONG, fixture, shipped

RIGHT = TRITON[0]
CHAIN = "07_activation_chain"  # its name in the suites
HEALTHS = 100  # at once
REPEATS = 10  # of one pair


def metadata_of_right(m):
    """What metadata says of a candidate that was right, on a GPU."""
    found = [f"metadata.{k} is missing" for k in (
        "hardware", "gpu_name", "device", "sandbox", "content_key", "phase_ms", "timing",
        "coverage_basis", "profiling", "triton_profiler_matches", "num_perf_trials")
        if k not in m]
    if found:
        return found
    if not str(m["device"]).startswith("cuda:"):
        found.append(f"metadata.device {m['device']!r}")
    if m["coverage_basis"] != "device_time":
        found.append(f"coverage_basis {m['coverage_basis']!r}")
    if not isinstance(json.loads(m["triton_profiler_matches"]), list):
        found.append("triton_profiler_matches is no text of a list")
    times = [k["cuda_time_us"] for k in m["profiling"]["kernels"]]
    if times != sorted(times, reverse=True):
        found.append("profiling.kernels do not fall")
    for side in ("kernel", "reference"):
        t = m["timing"][side]
        if t and not 0 < t["min"] <= t["p10"] <= t["median"] <= t["p90"] <= t["max"]:
            found.append(f"timing.{side} {t}")
    return found


def outcome(run, row, result):
    return [f"{row.name}: {line}" for line in run.check(row, result)]


# --- before anything else is judged ---

def health(run):
    h = run.service.good("GET", "/health")
    gpus = h["gpu_status"]
    found = [] if h["status"] == "healthy" else [f"status {h['status']}"]
    if run.on_gpu and not any(str(g.get("name", "")).startswith("NVIDIA") and g["available"]
                              for g in gpus.values()):
        found.append(f"gpu_status {gpus}")
    words = [f"{k}: {g.get('name')} {g.get('memory_total')}" for k, g in gpus.items()]
    return found, ", ".join(words)


def workers(run):
    """A worker of KernelGYM's own may register. It is listed, and counts as no capacity."""
    s, query = run.service, "?worker_id=w-1&device=cuda:7&node_id=n&hostname=h"
    s.good("POST", "/worker/register" + query)
    first = s.good("GET", "/workers/status")
    found = [f"{name}: {sorted(w)}" for name, w in first.items()
             if not {"device", "status", "last_heartbeat", "node_id", "hostname"} <= set(w)]
    if all(w["status"] != "online" for name, w in first.items() if name != "w-1"):
        found.append("none of the service's own is online")
    time.sleep(0.01)
    s.good("POST", "/worker/heartbeat" + query)
    if s.good("GET", "/workers/status")["w-1"]["last_heartbeat"] <= first["w-1"]["last_heartbeat"]:
        found.append("last_heartbeat did not move")
    if s.ask("POST", "/worker/heartbeat?worker_id=w-1&device=cuda:6")[0] != 409:
        found.append("a heartbeat of another device is not 409")
    s.good("POST", "/worker/unregister?worker_id=w-1")
    last = s.good("GET", "/workers/status")
    if "w-1" in last:
        found.append("it is there after it was unregistered")
    return found, ", ".join(last)


def debug(run):
    report = run.service.good("POST", "/debug/validate", run.texts.request(RIGHT, run.name()))
    return ([] if report["valid"] else [f"errors {report['errors']}"]), ""


AT_FIRST = [("GET /health", "T9", health), ("workers", "T18 T19", workers),
            ("POST /debug/validate", "", debug)]


# --- what a request may ask for, and other forms of it ---

def blocking(run):
    """A client that does not poll gets the result with its POST, and again with each later read."""
    request = {**run.texts.request(RIGHT, run.name()), "reference_backend": "torch_compile"}
    result = run.service.good("POST", "/evaluate", request)
    found = outcome(run, RIGHT, result)
    if result["metadata"].get("reference_backend_compiled") is not False:
        found.append("reference_backend_compiled is not said to be false")
    for method, path, body in (("POST", "//evaluate/", request),
                               ("GET", "/results/" + request["task_id"], None)):
        if run.service.good(method, path, body) != result:
            found.append(f"{method} {path} answers otherwise")
    run.keep("blocking", result)
    return found, client.said(result)


def two_ids(run):
    """The same content under two ids at once: a complete answer to each."""
    requests = [run.texts.request(RIGHT, run.name()) for _ in range(2)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda r: client.submit_and_poll(run.service, r),
                                [*requests, requests[0]]))
    found = [line for r in results for line in outcome(run, RIGHT, r)]
    if results[0] != results[2]:
        found.append("the same id and content has two results")
    if results[0]["metadata"]["content_key"] != results[1]["metadata"]["content_key"]:
        found.append("the content's key is not the same")
    return found, client.said(results[1])


def parts_off(run):
    """No profile and no times: what was not taken is absent."""
    request = {**run.texts.request(RIGHT, run.name()), "run_performance": False,
               "enable_profiling": False, "run_triton_detection": False}
    result = client.submit_and_poll(run.service, request)
    found, m = unlike(result, "untimed"), result["metadata"]
    found += [f"metadata.{k} is there" for k in (*client.COVERAGE, "profiling", "timing") if k in m]
    if m.get("performance_skipped") is not True:
        found.append("no metadata.performance_skipped")
    return found, client.said(result)


def unchecked(run):
    request = {**run.texts.request(RIGHT, run.name()), "run_performance": False,
               "run_correctness": False, "enable_profiling": False, "run_triton_detection": False}
    result = client.submit_and_poll(run.service, request)
    found = unlike(result, "untimed")
    if result["metadata"].get("correctness_skipped") is not True:
        found.append("no metadata.correctness_skipped")
    return found, client.said(result)


def brief(run):
    row = next(r for r in WRONG if r.name == "kernel does not compile")
    request = {**run.texts.request(row, run.name()), "verbose_errors": False}
    result = client.submit_and_poll(run.service, request)
    found = unlike(result, "raised")
    if len(result["error_message"] or "") > 210:
        found.append(f"error_message has {len(result['error_message'])} characters")
    return found, (result["error_message"] or "")[:60]


def batch(run):
    rows = [RIGHT, WRONG[0], next(r for r in WRONG if r.name == "syntax error"), TRITON[1]]
    tasks = [run.texts.request(r, run.name()) for r in rows]
    answer = run.service.good("POST", "/evaluate/batch", {"batch_id": "b", "tasks": tasks})
    run.keep("batch", answer)
    found = [] if [r["task_id"] for r in answer["results"]] == [t["task_id"] for t in tasks] else [
        "the results are in another order"]
    found += [line for row, r in zip(rows, answer["results"]) for line in outcome(run, row, r)]
    counts = {k: answer[k] for k in ("total_tasks", "completed_tasks", "failed_tasks")}
    if list(counts.values()) != [4, 3, 1] or answer["batch_status"] != "completed":
        found.append(f"{counts}, {answer['batch_status']}")
    return found, f"{counts['completed_tasks']} completed, {counts['failed_tasks']} failed"


def workflow(run):
    request, task = run.texts.request(RIGHT, "unused"), run.name()
    answer = run.service.good("POST", "/workflow/submit",
                              {"workflow": "kernelbench", "task_id": task, "payload": request})
    found = [] if answer["status"] == "completed" and answer["task_id"] == task else [
        f"{answer['task_id']}: {answer['status']}"]
    if "status" in answer["result"]:
        found.append("result.status is there")
    if run.service.good("GET", f"/workflow/results/{task}") != answer:
        found.append("/workflow/results answers otherwise")
    whole = {**answer["result"], "status": answer["status"]}
    return found + outcome(run, RIGHT, whole), client.said(whole)


def spread(row):
    """One pair again and again, with nothing beside it: how far apart are the speed-ups? The width
    is told and not judged, since it is the machine's, too."""
    def again(run):
        values, times = [], []
        for _ in range(REPEATS):
            request = {**run.texts.request(row, run.name()), "force_refresh": True}
            result = client.submit_and_poll(run.service, request)
            run.keep("one pair", result)
            values.append(result["speedup"])
            times.append(result["metadata"]["timing"]["kernel"]["median"])
        low, high = min(values), max(values)
        if low <= 0:
            return [f"speed-ups {values}"], ""
        return [], (f"{low:.3f} to {high:.3f}: {100 * (high / low - 1):.1f} %, "
                    f"kernel {min(times):.3f} to {max(times):.3f} ms")
    return again


ASKED = [("POST that waits", "T1 T2 T4", blocking), ("same content", "T15", two_ids),
         ("no times, no profile", "T31", parts_off), ("nothing compared", "", unchecked),
         ("verbose_errors false", "T34", brief), ("batch", "T20", batch),
         ("workflow", "", workflow)]

QUIET = [(f"{row.name}, {REPEATS} times", "T33", spread(row), "gpu")
         for row in (RIGHT, shipped("matmul", "fast", "T33", ("success",)))]


# --- cancelling ---

def held(run):
    """Jobs that the devices hold."""
    return sum(len(d["holds"]) for d in run.service.good("GET", "/v1/devices")["devices"])


def until_held(run, count, seconds):
    end = time.monotonic() + seconds
    while held(run) != count:
        if time.monotonic() > end:
            raise client.Unlike(f"{held(run)} jobs are held, not {count}, after {seconds} s")
        time.sleep(0.05)


def cancel(run):
    """Candidates that never end fill all slots, and one waits. All are cancelled."""
    row, found, tasks = fixture("hostile/f2_endless_loop", "", ("cancelled",)), [], []
    for i in range(run.given.jobs + 1):
        request = {**run.texts.request(row, run.name()), "detect_decoy_kernel": True}
        request["kernel_code"] += f"\n# {i}\n"
        run.service.good("POST", "/evaluate", request)
        tasks.append(request["task_id"])
    states = {}
    end = time.monotonic() + 60
    while list(states.values()).count("processing") < run.given.jobs and time.monotonic() < end:
        states = {t: run.service.good("GET", f"/status/{t}")["status"] for t in tasks}
        time.sleep(0.1)
    waiting = [t for t in tasks if states[t] == "pending"]
    for task in waiting + [t for t in tasks if t not in waiting]:
        run.service.good("DELETE", f"/tasks/{task}")
        if run.service.ask("DELETE", f"/tasks/{task}")[0] != 404:
            found.append("what is cancelled can be cancelled again")
    begun = time.monotonic()
    until_held(run, 0, 30)
    gone = time.monotonic() - begun
    for task in tasks:
        state = run.service.good("GET", f"/status/{task}")
        result = client.agreeing(state, run.service.good("GET", f"/results/{task}"))
        found += unlike(result, "cancelled")
        if task in waiting and state["started_at"] is not None:
            found.append("the one that waited was started")
    if len(waiting) != 1:
        found.append(f"{len(waiting)} waited")
    return found, f"{len(tasks)} cancelled, none held {gone:.1f} s later"


# --- /v1 ---

def evaluation(run, row, settings, **more):
    body = {"problem_source": run.texts.problem(row.problem), "problem_file": "problem.py",
            "source": run.texts.candidate(row.candidate), "set": settings, **more}
    answer = run.service.good("POST", "/v1/evaluations?wait=120", body)
    run.keep("v1 " + row.name, answer)
    return answer


def verdicts(run):
    by_name = {r.name: r for r in TRITON + WRONG + HOSTILE + ALONE}
    wanted = {"activation_chain.fast": ("ok", None), "relu.wrong": ("wrong", "value"),
              "kernel does not compile": ("crash", "exception"),
              "syntax error": ("compile_error", "syntax"), "f1_wild_store": ("crash", "signal"),
              "e7_exit_in_call": ("crash", "exit")}
    if run.on_gpu:
        wanted["a4_decoy_on_dummy"] = ("hack", "decoy")
        wanted["f1_device_store"] = ("crash", "device")
    found, words = [], []
    settings = {"stage.profile": "yes"}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: evaluation(run, by_name[n], settings), wanted))
    for (name, (verdict, reason)), answer in zip(wanted.items(), answers):
        record = answer["record"] or {}
        got = record.get("verdict"), record.get("reason")
        words.append("/".join(w for w in got if w))
        if got != (verdict, reason):
            found.append(f"{name}: {answer['state']}, {got}, {record.get('message')}")
    right = answers[0]["record"]
    if run.on_gpu and not (right["timing"]["status"] == "measured" and right["coverage"] > 0.9 and
                           right["speedup"]["ratio"] > 1):
        found.append(f"{RIGHT.name}: {right['timing']}, coverage {right['coverage']}, "
                     f"{right['speedup']}")
    return found, " ".join(words)


def late(run):
    """Past its deadline a candidate that never ends is gone, and has no verdict."""
    row = fixture("hostile/f2_endless_loop", "", ())
    record = evaluation(run, row, {}, deadline_s=15)["record"]
    got = record["verdict"], (record["error"] or {}).get("code")
    until_held(run, 0, 30)
    return ([] if got == (None, "cancelled") else [f"{got}"]), str(got[1])


def fenced(text):
    return f"Here it is.\n\n```python\n{text}```\n"


def ask_reward(run, body):
    """As a trainer does: 503 after 100 s means ask again."""
    for _ in range(3):
        status, answer = run.service.ask("POST", "/v1/reward?reward=ladder", body)
        if status != 503:
            break
    if status != 200:
        raise client.Unlike(f"POST /v1/reward: {status}")
    return answer


def reward(run):
    """slime's body, then OpenRLHF's: the problems are those of the suites, at their published
    sizes, which the interpreter does not stand: on a CPU the right reply is the reference."""
    fast, wrong = (run.texts.candidate(shipped("activation_chain", kind, "", ()).candidate)
                   for kind in ("fast", "wrong"))
    right = fenced(fast if run.on_gpu else
                   run.texts.problem("activation_chain") + "\n\nModelNew = Model\n")
    wrong = fenced(wrong)
    one = ask_reward(run, {"prompt": "p", "response": right, "label": CHAIN})
    both = ask_reward(run, {"query": ["p" + right, "p" + wrong], "prompts": ["p"] * 2,
                            "labels": [CHAIN] * 2})
    found = []
    if not isinstance(one, (int, float)) or both["rewards"] != both["scores"] or \
            both["rewards"][0] != one or both["rewards"][1] >= one:
        found.append(f"{one}, {both}")
    if one < (0.2 if run.on_gpu else -0.1):  # `ladder` of a right one: faster; not timed
        found.append(f"a right kernel earns {one}")
    path = {"prompt": "p", "response": right, "label": "../x"}
    if run.service.ask("POST", "/v1/reward", path)[0] != 400:
        found.append("a path as label is not 400")
    return found, f"{one}, {both['rewards']}"


# --- load ---

def load(run):
    """Replies without code, all at once, each polled as a stock client does; 100 clients ask for
    /health meanwhile."""
    posts, gate = run.given.posts, threading.Event()
    texts, took, broken = [run.name() for _ in range(posts)], [], []
    common = run.texts.request(RIGHT, "")

    def one(task):
        gate.wait()
        c = run.service.connect()
        body = {**common, "task_id": task, "kernel_code": f"# no code in reply {task}",
                "detect_decoy_kernel": True}
        try:
            status, _ = run.service.ask("POST", "/evaluate", body, connection=c)
            if status != 200:
                return f"POST: {status}"
            state = client.poll(run.service, task, connection=c, pause=1.0)
            run.keep("posts at once", state)
            return "" if state["error_code"] == "VALIDATION_ERROR" else str(state)
        finally:
            c.close()

    def ask_health(_):
        gate.wait()
        c = run.service.connect()
        for _ in range(10):
            begun = time.monotonic()
            status, _ = run.service.ask("GET", "/health", connection=c)
            took.append(time.monotonic() - begun)
            if status != 200:
                broken.append(f"/health: {status}")
        c.close()

    with concurrent.futures.ThreadPoolExecutor(posts + HEALTHS) as pool:
        tasks = [pool.submit(one, t) for t in texts] + \
            [pool.submit(ask_health, i) for i in range(HEALTHS)]
        gate.set()
        for t in concurrent.futures.as_completed(tasks):
            what = repr(t.exception()) if t.exception() else t.result()
            if what:
                broken.append(what)
    took.sort()
    p99 = took[len(took) * 99 // 100] * 1000 if took else 0
    return broken[:5], f"{posts} ended, {len(broken)} not well; p99 of /health {p99:.0f} ms"


# --- monitoring ---

def rates_of_all_rows(errors, rates):
    """What is unlike in them."""
    found = []
    if not all(errors[k] > 0 for k in ("compilation_errors", "runtime_errors", "timeout_errors")):
        found.append(f"error_metrics {errors}")
    if not 0 < rates["success_rate"] < 1 or not rates["avg_processing_time"] > 0:
        found.append(f"performance_metrics {rates}")
    return found


def counters(run):
    """The counters are those of the work that was done."""
    h, m = run.service.good("GET", "/health"), run.service.good("GET", "/metrics")
    jobs = run.service.good("GET", "/v1/stats")["jobs"]
    queue = run.service.good("GET", "/queue/status")
    ended = jobs["done"] + jobs["cancelled"] + jobs["dead"]
    told = {"health": h["total_processed"], "queue_status": h["queue_status"]["completed"],
            "metrics": m["queue_metrics"]["completed_tasks"]}
    found = [f"{k}: {v} have ended, not {ended}" for k, v in told.items() if v != ended]
    if ended < run.tasks - 2 * run.skipped - 20 or jobs["dead"]:
        found.append(f"jobs {jobs}, {run.tasks} tasks")
    if h["queue_status"]["pending"] or queue["pending"] or h["active_tasks"]:
        found.append("something waits, or runs")
    errors, rates = m["error_metrics"], m["performance_metrics"]
    if not run.given.only:  # else these depend on the rows
        found += rates_of_all_rows(errors, rates)
    status, text = run.service.ask("GET", "/metrics", headers={"Accept": "text/plain"})
    if status != 200 or "kgym_evaluations_total{" not in text:
        found.append("no text for Prometheus")
    return found, f"{ended} jobs ended, success rate {rates['success_rate']:.2f}"


LATER = [("cancel", "T14", cancel), ("/v1/evaluations", "", verdicts),
         ("/v1/evaluations, deadline", "", late), ("POST /v1/reward", "", reward),
         ("posts at once", "T6 T9", load), ("counters", "T9", counters)]


class Idle:
    """A connection that asks once, and again 31 s later, while the rows go on."""

    def __init__(self, service):
        pool = concurrent.futures.ThreadPoolExecutor(1)
        self.asked = pool.submit(self.ask_twice, service)
        pool.shutdown(wait=False)

    @staticmethod
    def ask_twice(service):
        c = service.connect()
        service.ask("GET", "/v1/live", connection=c)
        socket = c.sock
        time.sleep(31)
        status, _ = service.ask("GET", "/v1/live", connection=c)
        return status, c.sock is socket

    def end(self, _):
        status, kept = self.asked.result()
        return ([] if status == 200 and kept else [f"{status}, kept: {kept}"]), ""
