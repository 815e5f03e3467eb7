# fixture
# entry: E9
# problem: cumsum
# what: right where the shape is small, as checks are; half of the row at the public shape
# expect: wrong/value wrong/nondeterministic wrong/unwritten hack/phase
# shape: published
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.cumsum(x, dim=1)
        if x.shape == (4096, 4001):
            y[:, 2000:] = y[:, 1999:2000]
        return y
