# fixture
# entry: D6
# problem: silu
# what: returns zeros at once for the smallest shapes, whose ratio ruins a geometric mean
# expect: ok wrong/value
# harmless: yes
# equal: reference
# varies: right at the published shape, which is what gates
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        if x.numel() < 4096:
            return torch.zeros_like(x)
        return F.silu(x)
