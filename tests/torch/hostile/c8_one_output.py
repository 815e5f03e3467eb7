# fixture
# entry: C8
# problem: relu
# what: one buffer for the answers of all calls
# expect: ok
# harmless: yes
# equal: relu.fast
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None or self.y.shape != x.shape:
            self.y = torch.empty_like(x)
        return torch.clamp(x, min=0, out=self.y)
