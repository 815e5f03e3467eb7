"""Bytes of inputs and elements of answers of KernelBench's problems, found without memory for them, on
PyTorch's device `meta`: a line of JSON for each file that standard input names."""

import json
import signal
import sys

import torch

SECONDS = 20  # for one problem: some loop over thousands of steps


class Late(Exception):
    pass


def late(*_):
    raise Late


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [t for v in value for t in tensors(v)] if hasattr(value, "__iter__") and \
        not isinstance(value, str) else []


def size(path):
    """{bytes, answer}; None: unknown."""
    found, names = {"path": path, "bytes": None, "answer": None}, {"__name__": "problem"}
    try:
        with torch.device("meta"), torch.no_grad():
            exec(compile(open(path).read(), path, "exec"), names)
            inputs = names["get_inputs"]()
            found["bytes"] = sum(t.numel() * t.element_size() for t in tensors(inputs))
            answer = names["Model"](*names["get_init_inputs"]())(*inputs)
            found["answer"] = sum(t.numel() for t in tensors(answer))
    except Exception:  # it names a device, or looks at values
        pass
    return found


def main():
    signal.signal(signal.SIGALRM, late)
    for path in sys.stdin.read().split("\n"):
        if path:
            signal.alarm(SECONDS)
            print(json.dumps(size(path)), flush=True)
            signal.alarm(0)


if __name__ == "__main__":
    main()
