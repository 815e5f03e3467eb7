# fixture
# entry: C5
# problem: gelu_tanh
# what: after some honest calls it only queues, and works for all of them every eighth call
# expect: wrong/value wrong/nondeterministic wrong/unwritten wrong/nonfinite hack/async hack/replay
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.queue = []

    def forward(self, x):
        self.calls += 1
        if self.calls <= 3:
            return F.gelu(x, approximate="tanh")
        y = torch.empty_like(x)
        self.queue.append((x, y))
        if len(self.queue) == 8:
            for a, b in self.queue:
                b.copy_(F.gelu(a, approximate="tanh"))
            self.queue.clear()
        return y
