"""The fixtures of the PyTorch corpora as their headers describe them, and what may be wrong with
headers and with the pages that list fixtures (`corpus.py --lint`). No torch in here."""

import collections
import re

import small

HERE = small.ROOT / "tests" / "torch"
VERDICTS = {
    "ok": (), "no_code": (), "rejected": (),
    "compile_error": ("syntax", "missing_entry", "load", "limits"),
    "crash": ("signal", "exit", "exception", "device", "protocol"),
    "timeout": ("compile", "tiny", "full", "timing", "profile"),
    "out_of_memory": ("host", "device"),
    "wrong": ("value", "precision", "nonfinite", "nondeterministic", "out_of_bounds",
              "input_modified", "unwritten", "unordered", "shape", "dtype", "device", "structure", "alias",
              "state", "params"),
    "error": ("needs_gpu",),  # blame: the candidate
    "hack": ("replay", "async", "floor", "decoy", "fallback", "phase", "delegation"),
}
KEYS = {"problem", "what", "expect", "gpu", "entry", "pattern", "twin", "harmless", "equal",
        "sizes", "attacks", "shape", "unmeasured", "varies", "ongpu", "coverage"}
EFFECTS = ("down", "planted", "filled", "memory", "left")  # of what attacks the host: control.py
UNMEASURED = ("not_measured", "not_trusted")  # timing.status of an ok that no speed is known of
MOST = 4  # fixtures of one entry in one corpus
LEAST = {"hostile": 75, "honest": 40}


class Fixture:
    def __init__(self, path, kind):
        self.path, self.kind, self.name = path, kind, path.stem
        self.fields = small.header(path) if kind != "candidate" else {}
        self.problem = self.fields.get("problem") or self.name.split(".")[0]
        self.entry = self.fields.get("entry", "")
        self.expect = self.fields.get("expect", "ok").split()
        self.on_gpu = self.fields.get("ongpu", "").split()  # right there, besides
        self.harmless = self.fields.get("harmless") == "yes"
        self.equal = self.fields.get("equal")
        self.gpu = self.fields.get("gpu", "no") != "no"
        self.published = self.fields.get("shape") == "published"
        self.unmeasured = self.fields.get("unmeasured", "").split()
        self.coverage = float(re.match(r"[\d.]*", self.fields.get("coverage", "0"))[0] or 0)
        attacks = self.fields.get("attacks", "").split()
        self.attacks_host = attacks[:1] == ["host"]
        self.effect = attacks[1] if len(attacks) > 1 else ""

    def right(self, gpu):
        """Verdicts in which it may end."""
        return self.expect + (self.on_gpu if gpu else [])


def fixtures():
    found = [Fixture(p, kind) for kind in ("hostile", "honest")
             for p in sorted((HERE / kind).glob("*.py"))]
    needed = {f.equal for f in found if f.equal and f.equal.endswith(".fast")}
    return found + [Fixture(small.CANDIDATES / f"{n}.py", "candidate") for n in sorted(needed)]


def entries():
    """All of the catalogue."""
    counts = {"A": 9, "B": 17, "C": 9, "D": 13, "E": 15, "F": 6}
    return [f"{c}{i}" for c, n in counts.items() for i in range(1, n + 1)]


def group_of(fixture):
    """The entry that a file's name says."""
    return re.match(r"[a-z]\d+", fixture).group(0).upper()


def known(verdict):
    word, _, reason = verdict.partition("/")
    return word in VERDICTS and (reason in VERDICTS[word] or not reason)


def of_header(f, names, problems):
    """Lines that say what is wrong with one header."""
    need = {"problem", "what", "expect", "gpu"} | ({"entry"} if f.kind == "hostile" else
                                                   {"pattern", "twin"})
    for key in sorted(need - set(f.fields)):
        yield f"no {key}"
    for key in sorted(set(f.fields) - KEYS):
        yield f"unknown key {key}"
    for v in f.right(True):
        if not known(v):
            yield f"{v}: no code says that"
    if f.problem not in problems:
        yield f"unknown problem {f.problem}"
    if f.kind == "honest":
        if f.fields.get("twin") not in names["hostile"]:
            yield "its twin is no hostile fixture"
        if f.expect != ["ok"]:
            yield "an honest fixture expects ok"
        return
    yield from of_hostile(f, names)


def of_hostile(f, names):
    if f.entry != group_of(f.name):
        yield f"its name does not say {f.entry}"
    right = f.right(True)
    if ("ok" in right) != f.harmless:
        yield "ok is expected exactly where it is harmless"
    unlike = any(v.startswith("wrong/") or v == "hack/replay" for v in f.expect)
    if "ok" in f.expect and unlike and "varies" not in f.fields:
        yield "right or wrong, and no word on what that depends on (varies)"
    if f.harmless and f.equal != "reference" and f.equal not in names["candidate"]:
        yield "harmless, and no equal to compare its speed with"
    if f.unmeasured and (not f.harmless or set(f.unmeasured) - set(UNMEASURED)):
        yield "unmeasured what?"
    if "coverage" in f.fields and not (f.harmless and f.entry.startswith("A") and
                                       re.match(r"(0|[01]\.\d+|1: .+|0\.\d+: .+)$",
                                                f.fields["coverage"])):
        yield "coverage of what, and why?"
    if "attacks" in f.fields and (not f.attacks_host or f.effect not in EFFECTS):
        yield "attacks what, and what is seen of it?"


def of_page(name, text, files):
    """What is wrong with a page's table of entries; files: the corpus's hostile ones."""
    rows = {m[1]: m[2] for m in re.finditer(r"^\| ([A-F]\d+) \|[^|]*\|([^\n]*)\|$", text, re.M)}
    listed = collections.Counter()
    for entry in entries():
        if entry not in rows:
            yield f"{name}: entry {entry} is no row of it"
            continue
        row = rows[entry]
        here = re.findall(r"`([a-f]\d+_\w+)`", row)
        listed.update(here)
        if not here and not re.match(r" none: .{20}", row):
            yield f"{name}: {entry} has no fixture and no reason why"
        if here and " none: " in row:
            yield f"{name}: {entry} has fixtures, and a reason why not"
        for n in here:
            if n not in files:
                yield f"{name}: there is no {n}"
            elif group_of(n) != entry:
                yield f"{name}: {n} is not of {entry}"
    for n in sorted(files):
        if listed[n] != 1:
            yield f"{name}: {n} is in {listed[n]} rows"


def of_corpus(name, hostile, honest):
    """What is wrong with the number of files."""
    for entry, n in collections.Counter(map(group_of, hostile)).items():
        if n > MOST:
            yield f"{name}: {entry} has {n} fixtures, more than {MOST}"
    for kind, files in (("hostile", hostile), ("honest", honest)):
        if len(files) < LEAST[kind]:
            yield f"{name}: {len(files)} {kind} files, fewer than {LEAST[kind]}"


def of_marks(text, found):
    """(gpu) and (host) behind a name, as its header has it."""
    for f in found:
        want = (" (gpu)" if f.gpu else "") + (" (host)" if f.attacks_host else "")
        marks = re.search(rf"`{f.name}`((?: \(\w+\))*)", text)
        if f.kind != "candidate" and marks and marks[1] != want:
            yield f"catalogue.md: {f.name} is{want or ' neither (gpu) nor (host)'}"


def of_patterns(text, honest):
    for n in sorted(honest):
        if f"`{n}`" not in text:
            yield f"catalogue.md: {n} is not in it"


def complaints(found):
    """All of them."""
    problems = small.published()
    names = collections.defaultdict(set)
    for f in found:
        names[f.kind].add(f.name)
    for f in found:
        for what in of_header(f, names, problems) if f.kind != "candidate" else ():
            yield f"{f.path.relative_to(small.ROOT)}: {what}"
    text = (HERE / "catalogue.md").read_text()
    yield from of_page("catalogue.md", text, names["hostile"])
    yield from of_patterns(text, names["honest"])
    yield from of_marks(text, found)
    yield from of_corpus("tests/torch", names["hostile"], names["honest"])
    in_c = {kind: {p.stem for p in (small.ROOT / "tests" / kind).glob("*.c")}
            for kind in ("hostile", "honest")}
    page = (small.ROOT / "docs" / "hacks.md").read_text()
    yield from of_page("hacks.md", page, in_c["hostile"])
    yield from of_corpus("tests", in_c["hostile"], in_c["honest"])


def lint(found):
    """Number of defects."""
    bad = list(complaints(found))
    print("\n".join(bad), end="\n" if bad else "")
    count = collections.Counter(f.kind for f in found)
    print(f"lint: {count['hostile']} hostile, {count['honest']} honest, {len(bad)} defects")
    return len(bad)
