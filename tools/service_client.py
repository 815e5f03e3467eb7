"""What a client of KernelGYM's protocol sends, and what its result must be. Standard library only;
tools/gpu-service.py has the rows."""

import http.client
import json
import time

MEMBERS = ("task_id", "status", "compiled", "correctness", "decoy_kernel", "reference_runtime",
           "kernel_runtime", "speedup", "metadata", "error_message", "error_code", "submitted_at",
           "completed_at", "processing_time")
COVERAGE = ("num_custom_kernels", "num_total_kernels", "custom_kernel_cuda_time_in_profiling_us",
            "total_kernel_run_time_in_profiling_us")

# status, compiled, correctness, decoy, the reference's and the kernel's time, speedup, code, and
# what the message begins with. Times: "+" is above 0, "any" -1 or above 0.
OUTCOMES = {
    "success": ("completed", True, True, False, "+", "+", "+", None, None),
    "untimed": ("completed", True, True, False, -1, -1, 0, None, None),
    "wrong": ("completed", True, False, False, -1, -1, 0, "CORRECTNESS_ERROR",
              "Kernel produced incorrect results"),
    "raised": ("completed", True, False, False, -1, -1, 0, "RUNTIME_ERROR",
               "Kernel execution failed: "),
    "unbuilt": ("failed", False, False, False, -1, -1, 0, "COMPILATION_ERROR",
                "Kernel compilation failed: "),
    "absent": ("failed", False, False, False, -1, -1, 0, "VALIDATION_ERROR",
               "Kernel code validation failed: "),
    "died": ("failed", False, False, False, -1, -1, 0, "RUNTIME_ERROR", "Task processing failed: "),
    "late": ("failed", False, False, False, -1, -1, 0, "TIMEOUT_ERROR", "Task processing failed: "),
    "decoy": ("completed", True, True, True, "any", -1, 0, None, None),
    "reference": ("failed", False, False, False, -1, -1, 0, "VALIDATION_ERROR",
                  "Reference failed: "),
    "cancelled": ("failed", False, False, False, -1, -1, 0, "SYSTEM_ERROR", "Task cancelled"),
}
FAULTS = {"success": None, "untimed": None, "reference": "reference", "cancelled": None}


class Late(Exception):
    """The time of the whole run is over."""


class Service:
    """One service. Each request has a connection of its own, but for those of `session`."""

    def __init__(self, host, port, until):
        self.host, self.port, self.until = host, port, until

    def connect(self):
        left = self.until - time.monotonic()
        if left <= 0:
            raise Late
        return http.client.HTTPConnection(self.host, self.port, timeout=min(310, left + 5))

    def ask(self, method, path, body=None, headers=None, connection=None):
        """(status, JSON or text)."""
        c = connection or self.connect()
        if time.monotonic() > self.until:
            raise Late
        data = None if body is None else json.dumps(body).encode()
        c.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
        answer = c.getresponse()
        text = answer.read().decode("utf-8")
        if connection is None:
            c.close()
        if answer.getheader("Content-Type", "").startswith("application/json"):
            return answer.status, json.loads(text, parse_constant=not_finite)
        return answer.status, text

    def good(self, method, path, body=None):
        status, answer = self.ask(method, path, body)
        if status != 200:
            raise Unlike(f"{method} {path}: {status}")
        return answer


class Unlike(Exception):
    """An answer is not as the protocol has it."""


def not_finite(word):
    raise Unlike(f"{word} on the wire")


def poll(service, task, connection=None, pause=0.25):
    """As the reward client does: /status until it has ended. From the POST on it is always 200."""
    while True:
        status, state = service.ask("GET", f"/status/{task}", connection=connection)
        if status != 200:
            raise Unlike(f"/status: {status}")
        if state["status"] in ("completed", "failed"):
            return state
        if state["status"] not in ("pending", "processing"):
            raise Unlike(f"/status says {state['status']}")
        time.sleep(pause)


def submit_and_poll(service, request):
    """The result that /results has, after what a stock client would have seen."""
    task = request["task_id"]
    answer = service.good("POST", "/evaluate", {**request, "detect_decoy_kernel": True})
    if sorted(answer) != sorted(MEMBERS):
        raise Unlike(f"POST: members {sorted(answer)}")
    state = poll(service, task)
    return agreeing(state, service.good("GET", f"/results/{task}"))


def agreeing(state, result):
    """/status and /results say the same (C3, C8)."""
    for member in ("task_id", "status", "error_code", "completed_at"):
        if state[member] != result[member]:
            raise Unlike(f"/status and /results differ in {member}")
    message = state.get("error_message")
    if (state["status"] == "failed") != ("error_message" in state):
        raise Unlike("/status: error_message is there if, and only if, the task failed")
    if state["status"] == "failed" and (not message or message == "Task failed" or
                                        message != result["error_message"]):
        raise Unlike(f"/status: error_message {message!r}")
    return result


def is_time(got, wanted):
    if wanted == "any":
        return got == -1 or got > 0
    return got > 0 if wanted == "+" else got == wanted


def unlike(result, outcome):
    """What is not as the outcome table says: a list of words, empty where all is."""
    status, compiled, correct, decoy, reference, kernel, speedup, code, begins = OUTCOMES[outcome]
    found = [] if sorted(result) == sorted(MEMBERS) else [f"members {sorted(result)}"]
    for name, wanted in (("status", status), ("compiled", compiled), ("correctness", correct),
                         ("decoy_kernel", decoy), ("error_code", code)):
        if type(result[name]) is not type(wanted) or result[name] != wanted:
            found.append(f"{name} {result[name]!r}")
    for name, wanted in (("reference_runtime", reference), ("kernel_runtime", kernel),
                         ("speedup", speedup)):
        if type(result[name]) not in (int, float) or not is_time(result[name], wanted):
            found.append(f"{name} {result[name]!r}")
    message = result["error_message"]
    if (message is None) != (begins is None) or (begins and not message.startswith(begins)):
        found.append(f"error_message {str(message)[:80]!r}")
    fault = (result["metadata"] or {}).get("fault")
    if fault != FAULTS.get(outcome, "candidate"):
        found.append(f"fault {fault!r}")
    return found + of_numbers(result)


def of_numbers(result):
    """Relations that hold in each result: C7, C10, times of both ends."""
    found, m = [], result["metadata"] or {}
    speedup, reference = result["speedup"], result["reference_runtime"]
    if speedup and reference and abs(speedup * result["kernel_runtime"] / reference - 1) > 0.01:
        found.append("speedup is not the quotient of the times")
    windows = (m.get("timing") or {}).get("reference") or {}
    if speedup and windows and not 0.5 < windows["median"] / reference < 2:
        found.append(f"metadata.timing.reference {windows['median']}, not near {reference}")
    there = [key for key in COVERAGE if key in m]
    if there and len(there) < len(COVERAGE):
        found.append(f"only {there} of the coverage")
    for key in there:
        if type(m[key]) not in (int, float) or m[key] < 0:
            found.append(f"{key} {m[key]!r}")
    if not result["submitted_at"] or not result["completed_at"]:
        found.append("submitted_at or completed_at is missing")
    if len(json.dumps(m)) > 32768:
        found.append("metadata is longer than 32 KiB")
    return found


def said(result):
    """A few words of a result, for the table."""
    words = [result["status"], result["error_code"] or ""]
    if result["decoy_kernel"]:
        words.append("decoy")
    if result["correctness"] and not result["decoy_kernel"]:
        words.append("right")
    if result["speedup"]:
        words.append(f"{result['reference_runtime']:.3f}/{result['kernel_runtime']:.3f} ms = "
                     f"{result['speedup']:.2f}")
    share = coverage(result)
    if share is not None:
        words.append(f"own {share:.2f}")
    why = (result["metadata"] or {}).get("timing_why")
    if why and result["correctness"] and not why.startswith("no GPU"):
        words.append(f"({why})")
    return " ".join(w for w in words if w)


def coverage(result):
    """The candidate's own share of the device's time; None where there was no profile."""
    m = result["metadata"] or {}
    if COVERAGE[2] not in m:
        return None
    return m[COVERAGE[2]] / m[COVERAGE[3]] if m[COVERAGE[3]] else 0.0
