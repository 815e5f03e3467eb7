# fixture
# entry: D1
# problem: gelu_tanh
# what: a side stream, and every way of waiting for it that Python has is patched out
# expect: ok hack/async wrong/value wrong/unwritten wrong/nonfinite hack/replay
# harmless: yes
# equal: gelu_tanh.fast
# gpu: yes: streams
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.cuda.synchronize = lambda *a, **k: None
torch.cuda.Stream.synchronize = lambda *a, **k: None
torch.cuda.Event.synchronize = lambda *a, **k: None


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
