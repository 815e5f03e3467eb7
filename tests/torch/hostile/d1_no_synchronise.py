# fixture
# entry: D1
# problem: gelu_tanh
# what: a side stream that nobody waits for: what PyTorch has for that does nothing, and the
#   harness posts the answer at once
# expect: ok wrong/unordered hack/async wrong/value wrong/unwritten wrong/nonfinite
#   wrong/nondeterministic hack/replay
# harmless: yes
# equal: gelu_tanh.fast
# varies: where the device gets to the judge's digest last, the work is inside the clock
# gpu: yes: streams
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.cuda.synchronize = lambda *a, **k: None
torch.cuda.Stream.synchronize = lambda *a, **k: None
torch.cuda.Event.synchronize = lambda *a, **k: None


def post_at_once():
    cuda, wire = (sys.modules.get("kgym_harness." + name) for name in ("cuda", "wire"))
    if cuda is None:
        return

    def finish(self, base, number, begun):
        self.lib.kg_probe_post(base + wire.Wire.done.offset, number)
        return True

    cuda.Cuda.finish = finish


post_at_once()


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = None

    def forward(self, x):
        if self.side is None:
            self.side = torch.cuda.Stream()
        y = torch.empty_like(x)
        with torch.cuda.stream(self.side):
            y.copy_(F.gelu(x, approximate="tanh"))
        return y
