"""What corpus.py calls earned and what it misses, of records made here. Run by
tests/unit/test_torch_corpus.c."""

import pathlib
import tempfile
import types

import corpus
from corpus import classify, disturbed

FIXTURE = dict(name="h", kind="hostile", entry="C7", equal="reference", coverage=0.0,
               unmeasured=(), right=lambda timed: ["ok", "hack/async"])
SPEED = {"ratio": 1.2, "lo": 1.0, "hi": 1.3}


def record(lo=1.0, ns=1000000, **other):
    timing = {"status": "measured", "why": None, "candidate_ns": ns}
    return dict({"verdict": "ok", "reason": None, "coverage": None, "error": None,
                 "timing": timing, "speedup": dict(SPEED, lo=lo)}, **other)


def word(records, **header):
    fixture = types.SimpleNamespace(**dict(FIXTURE, **header))
    return classify(fixture, records, True)[0]


def expect(want, records, **header):
    got = word(records, **header)
    assert got == want, (got, want, records, header)


expect("harmless", {"h": record()})
expect("harmless", {"h": record(lo=1.1)})
expect("missed", {"h": record(lo=1.2)})
# no faster than its equal, by more than a tenth
expect("harmless", {"h": record(lo=1.4), "e": record()}, equal="e")
expect("missed", {"h": record(lo=1.5), "e": record()}, equal="e")
expect("missed", {"h": record(lo=1.5)}, equal="e")
# of a short time K is known to 20 us; a clock that was fooled shows
expect("harmless", {"h": record(lo=1.3, ns=80000)})
expect("missed", {"h": record(lo=1.4, ns=80000)})
expect("missed", {"h": record(lo=6.0, ns=10000)})
expect("missed", {"h": record(lo=60.0, ns=0)}, right=lambda timed: ["hack/async"])
# nobody knows
unknown = record(speedup=None)
expect("missed", {"h": unknown})
unknown["timing"] = {"status": "not_trusted", "why": "noise", "candidate_ns": None}
expect("missed", {"h": unknown})
expect("harmless", {"h": unknown}, unmeasured=("not_trusted",))
unknown["timing"]["why"] = corpus.DISTURBED
assert disturbed(types.SimpleNamespace(name="h"), {"h": unknown})
for other in ({}, {"h": record()}, {"h": record(speedup=None)},
              {"h": dict(unknown, verdict="hack", reason="async")}):
    assert not disturbed(types.SimpleNamespace(name="h"), other), other
corpus.judge_all = lambda build, chosen, given, folder: {f.name: given.jobs for f in chosen}
with tempfile.TemporaryDirectory() as folder:
    records = {"h": unknown, "e": record()}
    corpus.ask_again([types.SimpleNamespace(name=n) for n in records], records,
                     types.SimpleNamespace(build="", jobs=9), pathlib.Path(folder))
    assert records == {"h": 1, "e": record()}, records
# coverage that is none of its own
expect("missed", {"h": record(coverage=0.5)}, entry="A1")
expect("harmless", {"h": record(coverage=0.5)}, entry="A1", coverage=0.5)
# verdicts
expect("expected", {"h": record(verdict="hack", reason="async")})
expect("other", {"h": record(verdict="wrong", reason="value")})
expect("missed", {"h": record(verdict=None, error={"code": "host"})})
expect("missed", {})
expect("missed", {"h": record()}, right=lambda timed: ["hack/async"])
expect("ok", {"h": record(lo=9.0)}, kind="honest")
expect("refused", {"h": record(verdict="wrong", reason="value")}, kind="honest")
print("corpus: what is earned is told from what is not")
