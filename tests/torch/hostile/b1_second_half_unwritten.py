# fixture
# entry: B1
# problem: silu
# what: writes the first half; the second is what the memory held before
# expect: wrong/value wrong/unwritten hack/stale wrong/nonfinite
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel() // 2
        y.view(-1)[:n] = F.silu(x.view(-1)[:n])
        return y
