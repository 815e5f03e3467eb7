"""Problems at sizes that Triton's interpreter and a busy host stand, and what fixtures say of
themselves. No torch in here.

    tests/torch/small.py FOLDER

copies the problems that ship, with these constants, and KernelBook's rows as they are, into FOLDER,
and writes FOLDER/shipped.jsonl: the right and the wrong candidates that ship, as lines of a batch
that judges them there."""

import json
import pathlib
import re
import sys

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


def rows_at(path):
    """{entry: FILE#LINE} of KernelBook's rows, in this copy of theirs."""
    return {json.loads(line)["entry_point"]: f"{path}#{at}"
            for at, line in enumerate(ROWS.read_text().splitlines(), 1)}


def published():
    """{name: path} of all problems."""
    files = {re.sub(r"^\d+_", "", p.stem): str(p) for p in PROBLEMS.glob("level*/*.py")}
    return {**files, **rows_at(ROWS)}


def with_constants(text, constants):
    """The same problem, with these values of its module-level names."""
    for name, value in constants.items():
        text, n = re.subn(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.M)
        if n != 1:
            raise ValueError(f"{name} is assigned {n} times")
    return text


def write_copies(folder):
    """{name: path} of all problems, as copies in the folder."""
    files = {}
    for name, path in published().items():
        if name in SMALL:
            path = pathlib.Path(path)
            copy = pathlib.Path(folder).resolve() / path.relative_to(PROBLEMS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(with_constants(path.read_text(), SMALL[name]))
            files[name] = str(copy)
    rows = pathlib.Path(folder).resolve() / "rows.jsonl"
    rows.write_text(ROWS.read_text())
    return {**files, **rows_at(rows)}


def main(folder):
    files = write_copies(folder)
    with open(pathlib.Path(folder) / "shipped.jsonl", "w") as out:
        for path in sorted(CANDIDATES.glob("*.py")):
            line = {"id": path.stem, "problem": files[path.stem.split(".")[0]],
                    "source_file": str(path)}
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
