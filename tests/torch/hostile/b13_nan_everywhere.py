# fixture
# entry: B13
# problem: matmul
# what: NaN is never greater than a tolerance
# expect: wrong/nonfinite
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.full((a.shape[0], b.shape[1]), float("nan"), dtype=a.dtype, device=a.device)
