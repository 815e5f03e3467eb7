# fixture
# entry: C2
# problem: relu
# what: keeps every answer under the address of its input
# expect: hack/replay wrong/value wrong/nondeterministic
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = {}

    def forward(self, x):
        key = x.data_ptr(), x.shape
        if key not in self.held:
            self.held[key] = x, torch.relu(x)
        return self.held[key][1]
