# fixture
# entry: C6
# problem: cumsum
# what: honest for its first second, then half of the work
# expect: hack/phase hack/replay wrong/value wrong/nondeterministic wrong/unwritten
#   wrong/nonfinite
# shape: published
# gpu: no
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = time.monotonic()

    def forward(self, x):
        if time.monotonic() - self.start < 1.0:
            return torch.cumsum(x, dim=1)
        y = torch.empty_like(x)
        half = x.shape[0] // 2
        torch.cumsum(x[:half], dim=1, out=y[:half])
        return y
