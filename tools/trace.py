#!/usr/bin/env python3
"""Sums up what `kgym eval --trace FILE` has written: tools/trace.py [--from S] [--to S] FILE...

Columns: how many spans, their median, ninth decile and sum in milliseconds, and the sum as a share
of the time from the first span's begin to the last one's end. Spans of several processes overlap.
--from and --to: spans that end between these seconds only. Where evaluations were timed, a line
says how many per second, and what their device was for: of the time, the share in which one is
timed alone; else contexts are made; else they are ended; else neither."""

import argparse
import collections
import json
import sys

USES = (("timed", lambda cat, name: cat == "alone" and name != "wait"),
        ("contexts made", lambda cat, name: cat == "runner" and name == "boot"),
        ("ended", lambda cat, name: cat == "runner" and name == "end"))


def read(path):
    """[(category, name, begin, end)] in milliseconds since the first begin."""
    spans = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            line = line.strip().rstrip(",")
            if line in ("", "[", "]"):
                continue
            try:
                span = json.loads(line)
                begin, took = span["ts"] / 1e3, span["dur"] / 1e3
                spans.append((span["cat"], span["name"], begin, begin + took))
            except (ValueError, KeyError, TypeError) as error:
                sys.exit("%s:%d: no span: %s" % (path, number, error))
    first = min((s[2] for s in spans), default=0)
    return [(cat, name, begin - first, end - first) for cat, name, begin, end in spans]


def covered(intervals, first, last):
    """Milliseconds of first..last that lie in an interval."""
    total, reached = 0.0, first
    for begin, end in sorted(intervals):
        begin, end = max(begin, reached), min(end, last)
        if end > begin:
            total, reached = total + end - begin, end
    return total


def device(spans, first, last):
    timed = sum(cat == "stage" and name == "timing" and first <= end <= last
                for cat, name, _, end in spans)
    if not timed or not any(cat == "alone" for cat, _, _, _ in spans):
        return
    so_far, before, parts = [], 0.0, []
    for use, fits in USES:
        so_far += [(begin, end) for cat, name, begin, end in spans if fits(cat, name)]
        now = covered(so_far, first, last)
        parts.append("%s %.1f%%" % (use, 100 * (now - before) / (last - first)))
        before = now
    parts.append("neither %.1f%%" % (100 * (1 - before / (last - first))))
    print("%.2f timed evaluations per second; the device: %s" % (
        1e3 * timed / (last - first), ", ".join(parts)))


def show(path, since, until):
    try:
        spans = read(path)
    except OSError as error:
        sys.exit("%s: cannot read: %s" % (path, error.strerror))
    first, last = 1e3 * since, min(1e3 * until, max((s[3] for s in spans), default=0))
    found = collections.defaultdict(list)
    for cat, name, begin, end in spans:
        if first <= end <= last:
            found[cat + " " + name].append(end - begin)
    if not found or last <= first:
        sys.exit("%s: no spans" % path)
    print("%s: %.1f s" % (path, (last - first) / 1e3))
    device(spans, first, last)
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
    given = options.parse_args()
    for path in given.file:
        show(path, given.since, given.until)


if __name__ == "__main__":
    main()
