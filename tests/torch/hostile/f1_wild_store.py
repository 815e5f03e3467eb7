# fixture
# entry: F1
# problem: relu
# what: stores through a wild pointer in its fourth call
# expect: crash/signal
# attacks: host down
# gpu: no
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls >= 4:
            ctypes.memset(16, 0, 64)
        return torch.relu(x)
