# fixture
# entry: B7
# problem: layer_norm
# what: weight and bias left out, because they are built as ones and zeros
# expect: wrong/value
# gpu: no
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:])
