# fixture
# entry: B14
# problem: residual_rms_norm
# what: only the first of two answers
# expect: wrong/structure
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim, dtype=torch.bfloat16))

    def forward(self, x, residual):
        return (F.rms_norm(x + residual, (x.shape[-1],), self.weight, 1e-5),)
