#!/usr/bin/env python3
"""Sums up what `kgym eval --trace FILE` has written: tools/trace.py FILE...

Columns: how many spans, their median, ninth decile and sum in milliseconds, and the sum as a share
of the time from the first span's begin to the last one's end. Spans of several processes overlap."""

import collections
import json
import sys


def read(path):
    with open(path) as f:
        for number, line in enumerate(f, 1):
            line = line.strip().rstrip(",")
            if line in ("", "[", "]"):
                continue
            try:
                span = json.loads(line)
                yield span["cat"] + " " + span["name"], span["ts"], span["dur"]
            except (ValueError, KeyError, TypeError) as error:
                sys.exit("%s:%d: no span: %s" % (path, number, error))


def show(path):
    found, first, last = collections.defaultdict(list), float("inf"), 0.0
    try:
        for name, begin, took in read(path):
            found[name].append(took / 1e3)
            first, last = min(first, begin), max(last, begin + took)
    except OSError as error:
        sys.exit("%s: cannot read: %s" % (path, error.strerror))
    if not found:
        sys.exit("%s: no spans" % path)
    whole = (last - first) / 1e3
    print("%s: %.1f s" % (path, whole / 1e3))
    print("%-28s %8s %10s %10s %12s %7s" % ("span", "n", "median", "p90", "sum ms", "share"))
    for name, ms in sorted(found.items(), key=lambda item: -sum(item[1])):
        ms.sort()
        print("%-28s %8d %10.2f %10.2f %12.1f %6.1f%%" % (
            name, len(ms), ms[len(ms) // 2], ms[len(ms) * 9 // 10], sum(ms), 100 * sum(ms) / whole))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        show(name)
