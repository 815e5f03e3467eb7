"""One candidate judged as it is done without a gym: a fresh interpreter, one comparison, timed calls
by events. The peer of bench_torch_throughput.

    python fresh.py PROBLEM.py CANDIDATE.py
"""

import importlib.util
import sys

import torch


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def timed(module, inputs, calls):
    times = []
    for _ in range(calls):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        module(*inputs)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[calls // 2]


def main():
    problem, candidate = load("problem", sys.argv[1]), load("candidate", sys.argv[2])
    args = problem.get_init_inputs()
    with torch.no_grad():
        torch.manual_seed(1)
        reference = problem.Model(*args).cuda()
        torch.manual_seed(1)
        module = candidate.ModelNew(*args).cuda()
        module.load_state_dict(reference.state_dict(), strict=False)
        inputs = [t.cuda() if isinstance(t, torch.Tensor) else t for t in problem.get_inputs()]
        want, got = reference(*inputs), module(*inputs)
        for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (want, got))):
            torch.testing.assert_close(b, a, rtol=1e-2, atol=1e-2)
        for warm in (reference, module):
            timed(warm, inputs, 10)
        print("%.4f %.4f" % (timed(reference, inputs, 50), timed(module, inputs, 50)))


main()
