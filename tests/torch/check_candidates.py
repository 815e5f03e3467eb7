"""Is every honest candidate right, and every wrong one wrong?

Of problems/torch_candidates and tests/torch/honest (those that need no GPU), on the CPU, at the
small sizes of common.py and at those sizes plus one; Triton in its interpreter, which cannot time:
autotuning takes the first configuration.
    .venv/bin/python tests/torch/check_candidates.py [NAME...]
Exit status 1 when a candidate is missing, refused or accepted against its name."""

import os
import sys

os.environ["TRITON_INTERPRET"] = "1"

import importlib.util
import pathlib

import torch
import triton.runtime.autotuner

import common

HONEST = pathlib.Path(__file__).parent / "honest"
triton.runtime.autotuner.Autotuner._bench = lambda self, *a, **k: [0.0, 0.0, 0.0]


def load(path):
    """A candidate's namespace; Triton reads sources back from files, so it is imported."""
    spec = importlib.util.spec_from_file_location("candidate_" + path.name.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_state(candidate, state):
    """By name, else by order and shape, else by the candidate's own hand."""
    own = candidate.state_dict()
    if list(own) == list(state) or set(own) == set(state):
        candidate.load_state_dict(state)
    elif [t.shape for t in own.values()] == [t.shape for t in state.values()]:
        candidate.load_state_dict(dict(zip(own, state.values())))
    else:
        candidate.load_reference_state(state)
    if hasattr(candidate, "prepare"):
        candidate.prepare()


def judge(problem, path, constants):
    """None where the candidate's answers and state are the reference's, else what differs."""
    space = problem.space(constants)
    args, kwargs = problem.init(space)
    torch.manual_seed(7)
    reference = space[problem.entry](*args, **kwargs)
    common.randomise(reference, torch.Generator().manual_seed(8))
    wide = space[problem.entry](*args, **kwargs).double()
    wide.load_state_dict(reference.state_dict())
    candidate = getattr(load(path), problem.wanted)(*args, **kwargs)
    load_state(candidate, reference.state_dict())
    named = set(candidate.state_dict()) == set(reference.state_dict())
    for seed in (11, 12):
        torch.manual_seed(seed)
        inputs = space["get_inputs"]()
        answers = []
        runs = ((reference, inputs), (wide, common.double(inputs)), (candidate, inputs))
        for module, values in runs:
            torch.manual_seed(seed + 100)
            values = common.clones(values)
            before = common.clones(values)
            answers.append(module(*values))
            for a, b in zip(before, values):
                if not torch.equal(a, b):
                    return "input modified"
        how = common.differs(answers[2], answers[0], answers[1])
        states = [dict(m.state_dict()) for m in (candidate, reference, wide)]
        how = how or (named and common.differs(*states)) or None
        if how:
            return how
    return None


def check(problem, path, honest):
    """True where it is what its name says."""
    small = common.SMALL.get(problem.name, {})
    how = judge(problem, path, small)
    if honest:
        how = how or judge(problem, path, {k: v + 1 for k, v in small.items()})
    if (how is None) == honest:
        return True
    print(f"{path.name}: {how or 'accepted'}")
    return False


def main(names):
    bad = triton = 0
    known = common.problems()
    with torch.no_grad():
        for name in names or known:
            for kind in ("fast", "wrong") if name in known else ():
                path = common.CANDIDATES / f"{name}.{kind}.py"
                if path.exists():
                    triton += kind == "fast" and "@triton.jit" in path.read_text()
                    bad += not check(known[name], path, kind == "fast")
                elif known[name].entry == "Model":
                    print(f"{path.name}: missing")
                    bad += 1
        fixtures = [p for p in sorted(HONEST.glob("*.py")) if not names or p.stem in names]
        gpu = [p for p in fixtures if common.header(p)["gpu"] != "no"]
        for path in fixtures:
            if path not in gpu:
                bad += not check(known[common.header(path)["problem"]], path, True)
    print(f"{len(names or known)} problems, {triton} of the honest candidates in Triton; "
          f"{len(fixtures)} honest fixtures, {len(gpu)} skipped: they need a GPU; {bad} bad")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
