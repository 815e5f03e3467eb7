# fixture
# entry: C2
# problem: row_sum
# what: keeps answers under a few elements of the input
# expect: hack/replay wrong/value wrong/nondeterministic
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = {}

    def forward(self, x):
        flat = x.reshape(-1)
        key = tuple(flat[:: max(1, flat.numel() // 7)].tolist()), x.shape
        if key not in self.held:
            self.held = {key: torch.sum(x, dim=1, keepdim=True)}
        return self.held[key]
