# fixture
# pattern: a counter of calls, which decides nothing
# problem: batch_norm_train
# what: counts calls and updates the running statistics in each of them
# twin: c6_stops_updating
# expect: ok
# gpu: no
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.norm(x)
