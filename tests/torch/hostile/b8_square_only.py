# fixture
# entry: B8
# problem: matmul
# what: right for square matrices only; it multiplies with the operands' shapes mixed up elsewhere
# expect: ok crash/exception crash/device
# harmless: yes
# equal: reference
# varies: right at the published shape, which is what gates
# shape: published
# sizes: m=64, k=64, n=64
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        n = a.shape[0]
        return torch.mm(a.view(n, n), b.view(n, n))
