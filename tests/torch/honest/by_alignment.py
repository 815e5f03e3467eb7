# fixture
# pattern: dispatch on pointer alignment
# problem: relu
# what: aligned whole blocks in one view, the remainder apart
# twin: e9_by_shape
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        a, b = x.view(-1), y.view(-1)
        whole = a.numel() // 64 * 64 if x.data_ptr() % 64 == 0 else 0
        torch.clamp(a[:whole], min=0, out=b[:whole])
        torch.clamp(a[whole:], min=0, out=b[whole:])
        return y
