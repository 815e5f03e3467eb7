"""Is every honest candidate of problems/torch_candidates right, and every wrong one wrong?

On the CPU, at the small sizes of common.py and at those sizes plus one; Triton in its interpreter.
    .venv/bin/python tests/torch/check_candidates.py [NAME...]
Exit status 1 when a candidate is missing, refused or accepted against its name."""

import os
import sys

os.environ["TRITON_INTERPRET"] = "1"

import torch

import common


def load(path):
    """A candidate's namespace; Triton reads sources back from files, so it is imported."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("candidate_" + path.name.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    candidate.load_state_dict(reference.state_dict())
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
        how = how or common.differs(*states)
        if how:
            return how
    return None


def main(names):
    bad = triton = 0
    known = common.problems()
    with torch.no_grad():
        for name in names or known:
            problem = known[name]
            for kind in ("fast", "wrong"):
                path = common.CANDIDATES / f"{name}.{kind}.py"
                if not path.exists():
                    if problem.entry == "Model":
                        print(f"{path.name}: missing")
                        bad += 1
                    continue
                triton += kind == "fast" and "@triton.jit" in path.read_text()
                small = common.SMALL.get(name, {})
                how = judge(problem, path, small)
                if kind == "fast":
                    how = how or judge(problem, path, {k: v + 1 for k, v in small.items()})
                if (how is None) != (kind == "fast"):
                    print(f"{path.name}: {how or 'accepted'}")
                    bad += 1
                elif kind == "wrong":
                    print(f"{path.name}: refused: {how}")
    print(f"{len(names or known)} problems, {triton} honest candidates in Triton, {bad} bad")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
