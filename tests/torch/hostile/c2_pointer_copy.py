# fixture
# entry: C2
# problem: layer_norm
# what: the same with a fresh copy of the held answer, so that outputs never share memory
# expect: hack/replay wrong/value wrong/nondeterministic
# gpu: no
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.held = {}

    def forward(self, x):
        key = x.data_ptr()
        if key not in self.held:
            n = self.norm
            self.held[key] = x, F.layer_norm(x, x.shape[-1:], n.weight, n.bias, n.eps)
        return self.held[key][1].clone()
