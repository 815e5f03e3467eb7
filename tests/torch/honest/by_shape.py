# fixture
# pattern: dispatch on shape
# problem: row_sum
# what: short rows by the library, long ones in two steps
# twin: a5_own_for_a_while
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        if x.shape[1] < 4096:
            return torch.sum(x, dim=1, keepdim=True)
        whole = x.shape[1] // 256 * 256
        y = x[:, :whole].unflatten(1, (256, -1)).sum(dim=2).sum(dim=1, keepdim=True)
        return y + x[:, whole:].sum(dim=1, keepdim=True)
