"""What the scripts here share: problems by name at small sizes, state, headers, one comparison."""

import json
import math
import pathlib
import re

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBLEMS = ROOT / "problems" / "torch"
CANDIDATES = ROOT / "problems" / "torch_candidates"
ROWS = ROOT / "problems" / "kernelbook" / "rows.jsonl"

# Constants that make a problem small enough for Triton's interpreter; the others stay.
SMALL = {
    "softmax": {"batch_size": 5, "dim": 331},
    "layer_norm": {"batch_size": 6, "dim": 200},
    "rms_norm": {"batch_size": 5, "dim": 264},
    "gelu_tanh": {"batch_size": 33, "dim": 65},
    "row_sum": {"batch_size": 7, "dim": 515},
    "argmax": {"batch_size": 6, "dim": 300},
    "cumsum": {"batch_size": 5, "dim": 1301},
    "matmul": {"m": 70, "k": 50, "n": 66},
    "batched_matmul": {"batch_size": 3, "m": 40, "k": 72, "n": 50},
    "transpose": {"rows": 67, "cols": 130},
    "embedding": {"vocabulary": 50, "dim": 36, "batch_size": 3, "length": 7},
    "gather": {"batch_size": 5, "dim": 90, "picks": 40},
    "conv2d": {"batch_size": 2, "in_channels": 5, "out_channels": 6, "height": 9, "width": 11},
    "depthwise_conv2d": {"batch_size": 2, "channels": 5, "height": 9, "width": 12},
    "max_pool2d": {"batch_size": 2, "channels": 5, "height": 10, "width": 13},
    "upsample": {"batch_size": 2, "channels": 3, "height": 7, "width": 6},
    "cross_entropy": {"batch_size": 9, "classes": 70},
    "masked_log_softmax": {"batch_size": 2, "length": 21},
    "group_norm": {"batch_size": 2, "groups": 3, "channels_per_group": 4, "height": 9, "width": 10},
    "batch_norm_train": {"batch_size": 4, "channels": 5, "height": 8, "width": 9},
    "dropout": {"batch_size": 12, "dim": 34},
    "row_stats": {"batch_size": 7, "dim": 130},
    "range_of_rows": {"batch_size": 7, "dim": 130},
    "silu": {"length": 5001},
    "integer_mix": {"length": 2003},
    "segment_sum": {"rows": 60, "dim": 37, "groups": 7},
    "relu": {"batch_size": 33, "dim": 130},
    "huber_loss": {"batch_size": 33, "dim": 130},
    "linear_gelu": {"batch_size": 20, "in_features": 40, "out_features": 70},
    "linear_layer_norm": {"batch_size": 9, "in_features": 48, "out_features": 50},
    "conv_batch_norm_relu": {
        "batch_size": 3, "in_channels": 4, "out_channels": 6, "height": 8, "width": 7,
    },
    "residual_rms_norm": {"batch_size": 5, "dim": 130},
    "swiglu": {"batch_size": 9, "dim": 55},
    "bias_dropout_residual": {"batch_size": 9, "dim": 55},
    "activation_chain": {"batch_size": 9, "dim": 55},
    "conv_group_norm_silu": {
        "batch_size": 2, "in_channels": 4, "groups": 2, "channels_per_group": 3,
        "height": 8, "width": 7,
    },
    "token_embedding_norm": {"vocabulary": 40, "dim": 36, "batch_size": 3, "length": 9},
    "rotary": {"batch_size": 2, "heads": 3, "length": 11, "half": 6},
    "linear_log_sum_exp": {"batch_size": 9, "in_features": 40, "out_features": 70},
    "attention": {"batch_size": 2, "heads": 2, "length": 75, "head_dim": 20},
    "mlp": {"batch_size": 9, "in_features": 30, "hidden": 40, "out_features": 11},
    "transformer_block": {"batch_size": 2, "length": 13, "heads": 3, "head_dim": 8, "hidden": 50},
    "small_cnn": {"batch_size": 3, "channels": 4, "size": 12, "classes": 10},
    "gated_scan": {"batch_size": 2, "length": 9, "dim": 130},
}


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


def header(path):
    """Fields of a fixture's comment block: `# key: value`, longer values go on with `#   `."""
    fields, key = {}, None
    lines = path.read_text().splitlines()
    if not lines or lines[0] != "# fixture":
        raise ValueError(f"{path.name}: the first line is not '# fixture'")
    for line in lines[1:]:
        m = re.match(r"# ([a-z]+): (.*)$", line)
        if m:
            key = m.group(1)
            if key in fields:
                raise ValueError(f"{path.name}: {key} twice")
            fields[key] = m.group(2).strip()
        elif key and line.startswith("#   "):
            fields[key] += " " + line[1:].strip()
        else:
            break
    return fields


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
    """None, or how `got` is not the reference's answer: the rule of src/gym/device/compare.h."""
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
