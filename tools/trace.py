#!/usr/bin/env python3
"""Sums up what `kgym eval --trace FILE` has written: tools/trace.py [--from S] [--to S] [--json] FILE...

Columns: how many spans, their median, ninth decile and sum in milliseconds, and the sum as a share
of the time from the first span's begin to the last one's end. Spans of several processes overlap.
--from and --to: spans that end between these seconds only. Where evaluations were timed, a line
says how many per second, and what their device was for: of the time, the share in which one is
timed alone; else contexts are made; else they are ended; else references are set up; else none of
these. Another says what their workers did, each moment counted once: waited for the device;
started and ended processes and their contexts; set up references; built; timed; checked answers;
ran calls that nobody times; stages' rest; idle.
--json: these two as one object per file, shares of 1."""

import argparse
import collections
import json
import sys

USES = (("timed", lambda cat, name: cat == "alone" and name != "wait"),
        ("contexts made", lambda cat, name: cat == "runner" and name == "boot"),
        ("ended", lambda cat, name: cat == "runner" and name == "end"),
        ("references set up", lambda cat, name: cat == "reference" and name != "load"))

WORK = (("waiting", lambda cat, name: name.startswith("wait")),
        ("context", lambda cat, name: cat == "runner" and name in ("fork", "boot", "prepare", "end")),
        ("reference", lambda cat, name: cat == "reference"),
        ("build", lambda cat, name: (cat, name) == ("runner", "build")),
        ("timing", lambda cat, name: cat == "alone"),
        ("run", lambda cat, name: cat == "judge:" and name in CALLS),
        ("check", lambda cat, name: cat == "judge:"),
        ("rest of stages", lambda cat, name: cat == "stage"))
CALLS = ("call", "null", "bind", "state", "snapshot", "draw", "profile")


def read(path):
    """[(category, name, begin, end, process)] in milliseconds since the first begin."""
    spans = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            line = line.strip().rstrip(",")
            if line in ("", "[", "]"):
                continue
            try:
                span = json.loads(line)
                begin, took = span["ts"] / 1e3, span["dur"] / 1e3
                spans.append((span["cat"], span["name"], begin, begin + took, span["pid"]))
            except (ValueError, KeyError, TypeError) as error:
                sys.exit("%s:%d: no span: %s" % (path, number, error))
    first = min((span[2] for span in spans), default=0)
    return [(cat, name, begin - first, end - first, pid) for cat, name, begin, end, pid in spans]


def covered(intervals, first, last):
    """Milliseconds of first..last that lie in an interval."""
    total, reached = 0.0, first
    for begin, end in sorted(intervals):
        begin, end = max(begin, reached), min(end, last)
        if end > begin:
            total, reached = total + end - begin, end
    return total


def stacked(spans, first, last, kinds, rest):
    """Milliseconds of each kind, a moment counted for the first of them that it lies in."""
    so_far, before, parts = [], 0.0, {}
    for kind, fits in kinds:
        so_far += [span[2:4] for span in spans if fits(*span[:2])]
        now = covered(so_far, first, last)
        parts[kind], before = now - before, now
    parts[rest] = last - first - before
    return parts


def shares(parts):
    total = sum(parts.values())
    return {kind: ms / total for kind, ms in parts.items()}


def uses(spans, first, last):
    """What device and workers were for; None: nobody was timed."""
    timed = sum(span[:2] == ("stage", "timing") and first <= span[3] <= last for span in spans)
    if not timed or not any(span[0] == "alone" for span in spans):
        return None
    workers = {span[4] for span in spans if span[0] == "stage"}
    work = [stacked([span for span in spans if span[4] == pid], first, last, WORK, "idle")
            for pid in workers]
    return {"timed_per_s": 1e3 * timed / (last - first), "seconds": (last - first) / 1e3,
            "device": shares(stacked(spans, first, last, USES, "neither")),
            "workers": len(workers),
            "work": shares({kind: sum(w[kind] for w in work) for kind in work[0]})}


def told(parts):
    return ", ".join("%s %.1f%%" % (kind, 100 * share) for kind, share in parts.items())


def show(path, since, until, as_json):
    try:
        spans = read(path)
    except OSError as error:
        sys.exit("%s: cannot read: %s" % (path, error.strerror))
    first, last = 1e3 * since, min(1e3 * until, max((span[3] for span in spans), default=0))
    found = collections.defaultdict(list)
    for cat, name, begin, end, _ in spans:
        if first <= end <= last:
            found[cat + " " + name].append(end - begin)
    if not found or last <= first:
        sys.exit("%s: no spans" % path)
    found_uses = uses(spans, first, last)
    if as_json:
        print(json.dumps(found_uses))
        return
    print("%s: %.1f s" % (path, (last - first) / 1e3))
    if found_uses:
        print("%.2f timed evaluations per second; the device: %s" % (
            found_uses["timed_per_s"], told(found_uses["device"])))
        print("%d workers: %s" % (found_uses["workers"], told(found_uses["work"])))
    print("%-28s %8s %10s %10s %12s %7s" % ("span", "n", "median", "p90", "sum ms", "share"))
    for name, ms in sorted(found.items(), key=lambda item: -sum(item[1])):
        ms.sort()
        print("%-28s %8d %10.2f %10.2f %12.1f %6.1f%%" % (
            name, len(ms), ms[len(ms) // 2], ms[len(ms) * 9 // 10], sum(ms),
            100 * sum(ms) / (last - first)))


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("file", nargs="+")
    options.add_argument("--from", dest="since", type=float, default=0)
    options.add_argument("--to", dest="until", type=float, default=float("inf"))
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    for path in given.file:
        show(path, given.since, given.until, given.json)


if __name__ == "__main__":
    main()
