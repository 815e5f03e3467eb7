"""What the scripts here share that run modules: problems by name, state, one comparison."""

import json
import math
import re

import torch

from small import CANDIDATES, PROBLEMS, ROOT, ROWS, SMALL, header  # noqa: F401


class Problem:
    """A reference: its namespace, its entry class and what builds and calls it."""

    def __init__(self, name, source, entry="Model"):
        self.name, self.source, self.entry = name, source, entry
        self.file = None

    def space(self, constants=None):
        space = {"__name__": "problem_" + self.name}
        exec(compile(self.source, self.name, "exec"), space)
        space.update(constants or {})
        return space

    def init(self, space):
        """(positional, keywords) of the constructor."""
        args = space["get_init_inputs"]()
        if len(args) == 2 and isinstance(args[0], list) and isinstance(args[1], dict):
            return args[0], args[1]
        return args, {}

    @property
    def wanted(self):
        """The class a candidate defines."""
        return "ModelNew" if self.entry == "Model" else self.entry + "New"


def problems():
    """All problems by name."""
    found = {}
    for path in sorted(PROBLEMS.glob("level*/*.py")):
        name = re.sub(r"^\d+_", "", path.stem)
        found[name] = Problem(name, path.read_text())
        found[name].file = path.relative_to(ROOT)
    for at, line in enumerate(ROWS.read_text().splitlines(), 1):
        row = json.loads(line)
        name = row["entry_point"]
        found[name] = Problem(name, row["python_code"], name)
        found[name].file = f"{ROWS.relative_to(ROOT)}#{at}"
    return found


def leaves(answer, path=""):
    """[(path, tensor)] of tensors in tuples, lists and dicts."""
    if isinstance(answer, torch.Tensor):
        return [(path, answer)]
    if isinstance(answer, dict):
        return [x for k in answer for x in leaves(answer[k], f"{path}.{k}")]
    if isinstance(answer, (tuple, list)):
        return [x for i, v in enumerate(answer) for x in leaves(v, f"{path}[{i}]")]
    return [(path, None)]


def randomise(module, generator):
    """Values for parameters and buffers: no ones, no zeros, variances positive."""
    with torch.no_grad():
        for name, t in module.state_dict().items():
            if not t.is_floating_point():
                continue
            spread = float(t.double().std()) if t.numel() > 1 else 0.0
            value = torch.randn(t.shape, generator=generator) * (spread or 0.3)
            value += 0.0 if spread > 0 else float(t.double().mean())
            t.copy_(value.abs() + 0.2 if name.endswith("var") else value)


# Unit roundoff, least and greatest relative bound of each dtype.
BOUNDS = {
    torch.float32: (2.0**-24, 1e-5, 1e-3),
    torch.float64: (2.0**-53, 2e-14, 2e-12),
    torch.float16: (2.0**-11, 1e-3, 1e-2),
    torch.bfloat16: (2.0**-8, 8e-3, 4e-2),
}


def differs(got, ref, oracle):
    """None, or how `got` is not the reference's answer: the rule of src/gym/device/tensor_compare.h."""
    g, r, o = leaves(got), leaves(ref), leaves(oracle)
    if [p for p, _ in g] != [p for p, _ in r] or type(got) is not type(ref):
        return "structure"
    for (path, y), (_, a), (_, b) in zip(g, r, o):
        if type(y) is not torch.Tensor:
            return f"{path}: structure"
        if y.dtype != a.dtype:
            return f"{path}: dtype {y.dtype}, not {a.dtype}"
        if y.shape != a.shape:
            return f"{path}: shape {tuple(y.shape)}, not {tuple(a.shape)}"
        if not a.is_floating_point():
            if not bool(((y == a) | (a != b)).all()):
                return f"{path}: {int((y != a).sum())} of {a.numel()} unequal"
            continue
        how = differs_floating(y.double(), a.double(), b.double(), a.dtype)
        if how:
            return f"{path}: {how}"
    return None


def differs_floating(y, r, o, dtype):
    same_class = (r.isnan() == o.isnan()) & (r.isinf() == o.isinf())
    if not bool(((y == r) | (y.isnan() & r.isnan()) | o.isfinite() | ~same_class).all()):
        return "infinite or NaN elsewhere"
    at = o.isfinite() & r.isfinite()
    if not bool(y[at].isfinite().all()):
        return "not finite"
    y, r, o = y[at], r[at], o[at]
    if o.numel() == 0:
        return None
    s = math.sqrt(float((o * o).mean()))
    unit, low, high = BOUNDS[dtype]
    err = (r - o).abs()
    bound = 2 * unit * o.abs() + 4 * float(torch.quantile(err[:1000000], 0.9999))
    bound = bound.maximum(low * (o.abs() + s))
    bound = bound.minimum((high * (o.abs() + s)).clamp(min=4 * float(err.max())))
    bad = ~((y - o).abs() <= bound)
    if bool(bad.any()):
        worst = float(((y - o).abs() / (o.abs() + s)).max())
        return f"{int(bad.sum())} of {o.numel()} beyond the bound, worst {worst:.2g} of the scale"
    return None


def double(values):
    floats = [isinstance(v, torch.Tensor) and v.is_floating_point() for v in values]
    return [v.double() if f else v for v, f in zip(values, floats)]


def clones(values):
    return [v.clone() if isinstance(v, torch.Tensor) else v for v in values]
