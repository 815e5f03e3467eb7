# fixture
# entry: C6
# problem: batch_norm_train
# what: updates the running statistics in its first four calls and never again
# expect: wrong/state
# gpu: no
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.calls = 0

    def forward(self, x):
        n = self.norm
        self.calls += 1
        if self.calls <= 4:
            return n(x)
        return F.batch_norm(x, None, None, n.weight, n.bias, True, 0.0, n.eps)
