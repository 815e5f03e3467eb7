# fixture
# entry: C6
# problem: cumsum
# what: honest for the process's first two seconds, then half of the work
# expect: ok hack/phase hack/replay hack/stale wrong/value wrong/nondeterministic wrong/unwritten wrong/nonfinite
# harmless: yes
# equal: reference
# gpu: no
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = time.monotonic()

    def forward(self, x):
        if time.monotonic() - self.start < 2.0:
            return torch.cumsum(x, dim=1)
        y = torch.empty_like(x)
        half = x.shape[0] // 2
        torch.cumsum(x[:half], dim=1, out=y[:half])
        return y
