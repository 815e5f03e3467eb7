"""Every defect that fixtures.py knows of is noticed, and nothing else is one. Run by
tests/unit/test_torch_corpus.c."""

import pathlib
import tempfile

import fixtures

HOSTILE = "# fixture\n# entry: C1\n# problem: relu\n# what: w\n# expect: wrong/value\n# gpu: no\n"
HONEST = ("# fixture\n# pattern: p\n# twin: c1_a\n# problem: relu\n# what: w\n# expect: ok\n"
          "# gpu: no\n")
NAMES = {"hostile": {"c1_a"}, "honest": {"h"}, "candidate": {"relu.fast"}}


def of(text, kind="hostile", name="c1_a"):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{name}.py"
        path.write_text(text + "import torch\n")
        return list(fixtures.of_header(fixtures.Fixture(path, kind), NAMES, {"relu"}))


def wants(found, *words):
    assert len(found) == len(words) and all(w in f for f, w in zip(found, words)), (found, words)


wants(of(HOSTILE))
wants(of(HONEST, "honest", "h"))
wants(of(HOSTILE.replace("# what: w\n", "")), "no what")
wants(of(HOSTILE + "# colour: red\n"), "unknown key colour")
for word in ("hack/stale", "hack/clock", "wrong/variant", "late", "timeout/tea"):
    wants(of(HOSTILE.replace("wrong/value", word)), word)
wants(of(HOSTILE.replace("relu", "rely")), "unknown problem")
wants(of(HOSTILE.replace("C1", "C2")), "its name does not say C2")
wants(of(HOSTILE.replace("wrong/value", "ok")), "exactly where it is harmless")
wants(of(HOSTILE + "# harmless: yes\n# equal: reference\n"), "exactly where it is harmless")
harmless = HOSTILE.replace("wrong/value", "ok") + "# harmless: yes\n"
wants(of(harmless), "no equal")
wants(of(harmless + "# equal: gelu.fast\n"), "no equal")
wants(of(harmless + "# equal: relu.fast\n"))
wants(of(HOSTILE + "# ongpu: ok\n# harmless: yes\n# equal: reference\n"))
either = harmless.replace("expect: ok", "expect: ok wrong/value") + "# equal: reference\n"
wants(of(either), "varies")
wants(of(either + "# varies: luck\n"))
wants(of(harmless + "# equal: reference\n# unmeasured: not_trusted\n"))
wants(of(harmless + "# equal: reference\n# unmeasured: ever\n"), "unmeasured what?")
wants(of(HOSTILE + "# unmeasured: not_trusted\n"), "unmeasured what?")
wants(of(HOSTILE + "# attacks: host down\n"))
wants(of(HOSTILE + "# attacks: host\n"), "attacks what")
wants(of(HOSTILE + "# attacks: the moon\n"), "attacks what")
wants(of(HONEST.replace("c1_a", "c1_b"), "honest", "h"), "its twin")
wants(of(HONEST.replace("expect: ok", "expect: wrong/value"), "honest", "h"), "expects ok")

ROWS = [f"| {e} | trick | none: this one needs no fixture here |" for e in fixtures.entries()]


def page(entry, row, files=frozenset({"c1_a"})):
    rows = [f"| {entry} | trick | {row} |" if r.startswith(f"| {entry} ") else r for r in ROWS]
    return list(fixtures.of_page("page", "\n".join(r for r in rows if r) + "\n", set(files)))


wants(page("C1", "`c1_a`"))
wants(page("C1", "none: because it is so, and so", ()))
wants(page("C1", "none: so", ()), "no fixture and no reason")
wants(page("C1", "", ()), "no fixture and no reason")
wants(page("C1", "`c1_a` none: because it is so"), "a reason why not")
wants(page("C1", "`c1_a`, `c1_b`"), "there is no c1_b")
wants(page("C2", "`c1_a`"), "c1_a is not of C2")
wants(page("C1", "`c1_a`", {"c1_a", "c1_b"}), "c1_b is in 0 rows")
gone = "\n".join(r for r in ROWS if not r.startswith("| F6 ")) + "\n"
wants(list(fixtures.of_page("page", gone, set())), "F6 is no row")

many = {f"a1_{i}" for i in range(4)} | {f"b{i % 17 + 1}_{i}" for i in range(75)}
few = {f"h{i}" for i in range(40)}
wants(sorted(f for f in fixtures.of_corpus("c", many, few) if "A1" in f))
wants(list(fixtures.of_corpus("c", {f"a1_{i}" for i in range(5)}, few)), "A1 has 5", "5 hostile")
wants(list(fixtures.of_corpus("c", {"a1_x"}, set())), "1 hostile", "0 honest")
assert list(fixtures.of_patterns("| p | `h` | `c1_a` |", {"h", "i"})) == [
    "catalogue.md: i is not in it"]
print("lint: ok")
