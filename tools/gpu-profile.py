#!/usr/bin/env python3
"""The stage profile on a GPU: tests/torch/profile/expected.txt as batches, and what came out.

    gpu-profile.py lines FOLDER             FOLDER/profile-{allowed,forbidden}.jsonl, to be judged
    gpu-profile.py table ALLOWED FORBIDDEN  records against expectations; exit status 1: unlike
"""

import json
import os
import sys

EXPECTED = "tests/torch/profile/expected.txt"


def expectations():
    """[(library, id, candidate, problem, verdict, low, high, eligible)]"""
    found = []
    with open(EXPECTED) as f:
        for line in f:
            words = line.split("#")[0].split()
            if not words:
                continue
            library = words.pop(0) if words[0] == "forbidden" else "allowed"
            candidate, problem, verdict, low, high = words[:5]
            found.append((library, os.path.basename(candidate)[:-3], candidate, problem, verdict,
                          float(low), float(high), words[5:] != ["no"]))
    return found


def lines(folder):
    for library in ("allowed", "forbidden"):
        with open(os.path.join(folder, "profile-%s.jsonl" % library), "w") as f:
            for kind, name, candidate, problem, *_ in expectations():
                if kind == library:
                    f.write(json.dumps({
                        "id": name, "problem": os.path.abspath("problems/torch/%s.py" % problem),
                        "source_file": os.path.abspath(candidate)}) + "\n")


def said(record):
    e = record["error"]
    if e:
        return "error %s: %s" % (e["code"], e["message"][:200])
    return (record["verdict"] or "none") + ("/" + record["reason"] if record["reason"] else "")


def details(record):
    """Whose the time was, and which kernels."""
    found = []
    for e in record["evidence"]:
        if e["check"] == "coverage":
            found.append(e.get("why") or "own %.2f delegated %.2f memory %.2f, %d asked, %d processes"
                         % (e["own"], e["delegated"], e["memory"], e["asked"], e["processes"]))
        elif e["check"] == "profiler":
            found.append(e["why"])
        elif e["check"] == "kernel":
            found.append("%s %.2f x%d%s %s" % (e["class"], e["share"], e["calls"],
                                               " dead" if e["dead"] else "", e["name"][:40]))
    return found


def table(paths):
    records = {}
    for library, path in zip(("allowed", "forbidden"), paths):
        with open(path) as f:
            for line in f:
                r = json.loads(line)
                records[library, r["batch_id"]] = r
    wrong = 0
    for library, name, _, _, verdict, low, high, eligible in expectations():
        r = records.get((library, name))
        if r is None:
            print("%-10s %-24s no record" % (library, name))
            wrong += 1
            continue
        coverage, ns = r["coverage"], [s["ns"] or 0 for s in r["stages"] if s["name"] == "profile"][0]
        right = said(r) == verdict and coverage is not None and \
            low - 1e-9 <= coverage <= high + 1e-9 and r["league"]["eligible"] == eligible
        wrong += not right
        print("%-10s %-24s %-7s %-16s %-5s of %.2f..%.2f %6.0f ms%s" % (
            library, name, "" if right else "UNLIKE", said(r),
            "null" if coverage is None else "%.2f" % coverage, low, high, ns / 1e6,
            "" if r["league"]["eligible"] else ", not eligible"))
        for line in details(r)[:None if not right else 3]:
            print("    " + line)
        if said(r) != verdict and r["message"]:
            print("    " + r["message"][:300])
    print("profile: %d not as they should be" % wrong)
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "lines":
        lines(sys.argv[2])
    else:
        sys.exit(table(sys.argv[2:4]) > 0)
