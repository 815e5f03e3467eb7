#!/usr/bin/env python3
"""That project's own evaluator beside the preset `kernelbench`, candidate by candidate:
    .venv/bin/python tools/kernelbench-compare.py CHECKOUT [OPTIONS] [NAME...]

CHECKOUT is your clone of KernelBench (it holds src/kernelbench/eval.py); nothing is fetched or kept
of it. Candidates NAME.KIND.py (--candidates DIR, those that are shipped) of problems/torch are
judged by both, with five trials and without times; NAME narrows them. Prints a table in Markdown:
how many verdicts agree, in how many of those that are wrong the largest differences of all trials
are the same, and each difference with its explanation.

--published judges that project's own problems instead: 30 over levels 1 to 3, or --problems
1/19,3/6. Each has a right candidate, its reference, and a wrong one, whose kind changes from
problem to problem (kernelbench-wrong.sh has the same).

On a GPU (--device cuda:0) that evaluator runs as it is, at the published sizes. Without one
(--device cpu, the default) it cannot: torch.cuda is played, Triton interpreted, and shipped
problems are small (--small does that on a GPU, too). --work DIR keeps what was judged and said.
With it a call takes at most --seconds (540); the same command goes on.
Exit status: 0 all differences are explained, 1 one is not, 2 it could not be done, 3 more is
left."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import kernelbench_candidates
import kernelbench_pieces
from kernelbench_pieces import LEFT, ROOT, STOP_S

TRIALS = 5
WEEK = 7 * 86400
SPREAD = ((1, 1, 10), (2, 1, 10), (3, 1, 5))  # level, first number, step: ten of each


# What is pure: verdicts, differences, explanations, the table.

def ours(record):
    """("ok" | "wrong" | "compile" | "error", what was said, the largest differences of the trials
    that failed, or None)"""
    if record.get("error"):
        return "error", record["error"]["code"], None
    trials = [e for e in record["evidence"] if e["check"] == "trials"]
    largest = trials and [d for d, close in zip(trials[0]["max_difference"], trials[0]["close"])
                          if not close] or None
    said = record["verdict"] + ("/" + record["reason"] if record["reason"] else "")
    if record["verdict"] == "ok":
        return "ok", said, largest
    return ("compile" if not record["compiled"] else "wrong"), said, largest


def theirs(result):
    """The same of what that evaluator gave: a dict, or None where it wants to be asked again."""
    if result is None or "raised" in result:
        return "error", (result or {}).get("raised", "no result"), None
    meta = result["metadata"]
    said = meta.get("correctness_trials") or meta.get("correctness_issue") or \
        meta.get("runtime_error") or meta.get("compilation_error") or ""
    if result["correctness"]:
        return "ok", said, None
    if "out of memory" in str(said):  # what others on the device took, as likely as its own
        return "error", said, None
    return ("wrong" if result["compiled"] else "compile"), said, meta.get("max_difference")


def same_numbers(mine, other):
    """Are the differences of the trials that failed the same, to the 6 decimals that it writes?"""
    if not mine or not other:
        return None
    return ["nan" if v is None else "%.6f" % v for v in mine] == list(other)


KNOWN = (
    ("has no attribute 'shape'", ("ok", "wrong"), "wrong",
     "the answer holds several tensors: that evaluator reads `.shape` of it, and takes none for right"),
    ("problem", ("error",), "wrong",
     "the reference does not stand the cast of its indices or masks: here an error of the problem"),
    ("", ("error",), None, "kgym gives no verdict here: {mine}"),
    ("", ("compile",), "wrong", "an exception in the constructor: there a RuntimeError counts as compiled"),
    ("", ("wrong",), "error", "that evaluator gives no verdict: {theirs}"),
    ("", ("ok",), "error", "that evaluator gives no verdict: {theirs}"),
)


def explain(mine, other):
    """None: no explanation is known."""
    for text, of_mine, of_theirs, why in KNOWN:
        if text in "%s %s" % (mine[1], other[1]) and mine[0] in of_mine and of_theirs in (None, other[0]):
            return why.format(mine=mine[1], theirs=other[1])
    return None


def agree(mine, other):
    return mine[0] == other[0] and mine[0] != "error"


def table(pairs):
    """(lines, how many differences have no explanation); pairs: [(id, ours(...), theirs(...))]"""
    same = [p for p in pairs if agree(p[1], p[2])]
    by = {k: sum(p[1][0] == k for p in same) for k in ("ok", "wrong", "compile")}
    numbers = [(p[0], same_numbers(p[1][2], p[2][2])) for p in same if p[1][0] == "wrong"]
    others = [name for name, n in numbers if n is False]
    lines = ["%d of %d verdicts agree: %d right, %d wrong, %d not compiled" %
             (len(same), len(pairs), by["ok"], by["wrong"], by["compile"]),
             "largest differences of the trials that failed: the same in %d of %d%s" %
             (sum(n is True for _, n in numbers), sum(n is not None for _, n in numbers),
              others and ", not in " + ", ".join(others) or "")]
    different = [p for p in pairs if not agree(p[1], p[2])]
    unexplained = 0
    if different:
        lines += ["", "| candidate | kgym | that project | why |", "|---|---|---|---|"]
    for name, mine, other in different:
        why = explain(mine, other)
        unexplained += why is None
        cells = (name, mine[1], other[0] + (": " + str(other[1]) if other[1] else ""), why or "?")
        lines.append("| %s |" % " | ".join(re.sub(r"[|\s]+", " ", str(c))[:160] for c in cells))
    return lines, unexplained


# What runs.

def lay_out(work, candidates, names, small):
    """Problem files, and a batch's input: [{id, problem, source_file}]"""
    sys.path.insert(0, str(ROOT / "tests" / "torch"))
    import common
    problems, lines = common.problems(), []
    (work / "level1").mkdir(parents=True, exist_ok=True)
    for path in sorted(pathlib.Path(candidates).glob("*.py")):
        name = path.name.split(".")[0]
        problem = problems.get(name)
        if problem is None or problem.entry != "Model" or names and name not in names:
            continue
        source = problem.source
        for key, value in (common.SMALL.get(name, {}) if small else {}).items():
            source = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", source)
        file = work / "level1" / f"{name}.py"
        file.write_text(source)
        lines.append({"id": path.name[:-3], "problem": str(file), "source_file": str(path)})
    return lines


def spread():
    """LEVEL/NUMBER of 30 problems."""
    return ["%d/%d" % (level, first + step * k) for level, first, step in SPREAD for k in range(10)]


def lay_out_published(work, checkout, names):
    """A right and a wrong candidate of each problem: [{id, problem, source_file}]"""
    lines, kinds = [], list(kernelbench_candidates.WRONG)
    for k, (level, path) in enumerate(kernelbench_pieces.problems(
            checkout, sorted({int(n.split("/")[0]) for n in names}), names)):
        source, kind = path.read_text(), kinds[k % len(kinds)]
        for name, text in (("right", kernelbench_candidates.right(source)),
                           (kind, kernelbench_candidates.wrong(source, kind))):
            file = work / "candidates" / ("%d_%s.%s.py" % (level, path.stem, name))
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            lines.append({"id": "%d/%s.%s" % (level, path.stem, name), "problem": str(path),
                          "source_file": str(file)})
    return lines


def judge_ours(work, lines, args, until):
    """{id: ours(...)} of all lines; None: more is left."""
    args.kgym = args.kgym or os.path.join(os.environ.get("KGYM_BUILD", ROOT / "build" / "release"),
                                          "kgym")
    args.options = ["--preset", "kernelbench", "--no-stage-timing", "--device", args.device, "--set",
                    "precision=" + args.precision]
    kernelbench_pieces.begin(work, lines, args.options)
    asked = kernelbench_pieces.Pass(work, "ours")
    if not asked.ask(lines, 0, args, until, work / "kgym.log"):
        return None
    return {line["id"]: ours(asked.records[line["id"]]) for line in lines}


def said_by_theirs(out):
    return {j["id"]: j["result"] for j in kernelbench_pieces.read(out)}


def give_up(work, lines):
    """A line under which its process ended, or for which a whole piece was too short, is lost."""
    with (work / "theirs.jsonl").open("a") as f:
        for line in lines:
            f.write(json.dumps({"id": line["id"], "result": {"raised": "its process ended"}}) + "\n")


def judge_theirs(work, lines, checkout, args, until):
    """In a process of its own, and another one where that ends before its time. None: more is
    left."""
    out, cpu = work / "theirs.jsonl", args.device == "cpu"
    out.touch()
    environment = dict(os.environ, **({"TRITON_INTERPRET": "1"} if cpu else {}))
    python = [sys.executable] + ["-O"] * cpu  # without its assertion that there is a GPU
    while True:
        left = [l for l in lines if l["id"] not in said_by_theirs(out)]
        if not left:
            return {name: theirs(result) for name, result in said_by_theirs(out).items()}
        seconds = until - time.monotonic()
        if seconds <= STOP_S:
            return None
        (work / "left.jsonl").write_text("".join(json.dumps(l) + "\n" for l in left))
        try:
            subprocess.run([*python, __file__, str(checkout), "--child", "--work", str(work),
                            "--device", args.device, "--precision", args.precision],
                           env=environment, timeout=seconds,
                           preexec_fn=kernelbench_pieces.die_with_parent)
            late = False
        except subprocess.TimeoutExpired:
            late = True
        rest = [l for l in left if l["id"] not in said_by_theirs(out)]
        if rest and (not late or (len(rest) == len(left) and seconds > args.seconds / 2)):
            give_up(work, rest[:1])


def play_cuda(torch):
    """That evaluator asks for a GPU before it looks at anything."""
    nothing = lambda *args, **named: None
    for name in ("synchronize", "set_device", "manual_seed", "empty_cache",
                 "reset_peak_memory_stats"):
        setattr(torch.cuda, name, nothing)
    torch.cuda.is_available = lambda: True
    torch.cuda.get_device_name = lambda *args, **named: "cpu"
    torch.cuda.current_device = lambda: 0
    torch.cuda.device = Nothing
    try:
        import triton.runtime.autotuner as autotuner
        autotuner.Autotuner._bench = lambda self, *args, **named: [0.0, 0.0, 0.0]
    except ImportError:
        pass


class Nothing:
    def __init__(self, *args):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return None


def stand_in():
    """For what that project imports besides, clients of language models mostly, where it is missing."""
    import types
    nothing = lambda *args, **named: None

    class Model:  # of pydantic, as much as a result needs
        def __init__(self, **named):
            for kind in type(self).__mro__:
                for key in getattr(kind, "__annotations__", {}):
                    value = getattr(kind, key, None)
                    self.__dict__.setdefault(key, dict(value) if isinstance(value, dict) else value)
            self.__dict__.update(named)

    for name, content in (("dotenv", {"load_dotenv": nothing}), ("litellm", {"completion": nothing}),
                          ("openai", {"OpenAI": Nothing}), ("requests", {}), ("tomli", {}),
                          ("pydantic", {"BaseModel": Model, "Field": nothing}),
                          ("tqdm", {"tqdm": lambda x, *args, **named: x})):
        try:
            __import__(name)
        except ImportError:
            sys.modules[name] = types.ModuleType(name)
            vars(sys.modules[name]).update(content)


def child(args):
    """What is left, by that project's evaluator."""
    import contextlib
    import io
    import torch
    if args.device == "cpu":
        torch.set_num_threads(1)
        play_cuda(torch)
    stand_in()
    sys.path.insert(0, str(pathlib.Path(args.checkout) / "src"))
    from kernelbench import eval as evaluator
    precision = evaluator.get_torch_dtype_from_string(args.precision)
    work = pathlib.Path(args.work)
    with (work / "theirs.jsonl").open("a") as out:
        for line in map(json.loads, (work / "left.jsonl").read_text().splitlines()):
            reference = pathlib.Path(line["problem"]).read_text()
            candidate = pathlib.Path(line["source_file"]).read_text()
            try:
                with contextlib.redirect_stdout(io.StringIO()), \
                        contextlib.redirect_stderr(io.StringIO()):
                    r = evaluator.eval_kernel_against_ref(
                        reference, candidate, num_correct_trials=TRIALS, measure_performance=False,
                        backend="triton" if "triton" in candidate else "cuda",
                        device=torch.device(args.device), precision=precision)
                result = r and {"compiled": r.compiled, "correctness": r.correctness, "metadata": {
                    k: v if isinstance(v, list) else str(v)[:300] for k, v in r.metadata.items()}}
            except Exception as error:
                result = {"raised": repr(error)[:300]}
            out.write(json.dumps({"id": line["id"], "result": result}) + "\n")
            out.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--candidates", default=str(ROOT / "problems" / "torch_candidates"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "fp16", "bf16"))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--problems", default="")
    parser.add_argument("--seconds", type=int, default=540)
    parser.add_argument("--kgym")
    parser.add_argument("--work")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_intermixed_args()
    if args.child:
        return child(args)
    if not (pathlib.Path(args.checkout) / "src" / "kernelbench" / "eval.py").exists():
        print(f"{args.checkout}: no src/kernelbench/eval.py in it", file=sys.stderr)
        return 2
    args.seconds = args.seconds if args.work else WEEK
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(args.work or temporary).resolve()
        work.mkdir(parents=True, exist_ok=True)
        return compare(work, args)


def compare(work, args):
    until = time.monotonic() + args.seconds
    if args.published or args.problems:
        names = [n for n in args.problems.split(",") if n] or spread()
        lines = lay_out_published(work, pathlib.Path(args.checkout).resolve(), names)
    else:
        lines = lay_out(work, args.candidates, args.names, args.small or args.device == "cpu")
    if not lines:
        print("no such candidate", file=sys.stderr)
        return 2
    mine = judge_ours(work, lines, args, until)
    other = mine and judge_theirs(work, lines, args.checkout, args, until)
    if not other:
        print("more is left: the same command goes on")
        return LEFT
    text, unexplained = table([(l["id"], mine[l["id"]], other[l["id"]]) for l in lines])
    print("\n".join(text))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
