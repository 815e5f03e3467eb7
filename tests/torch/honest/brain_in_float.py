# fixture
# pattern: bf16 task with fp32 arithmetic
# problem: rms_norm
# what: float32 throughout, rounded once
# twin: b9_brain_softmax
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim, dtype=torch.bfloat16))

    def forward(self, x):
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + 1e-5)
        return (wide * scale * self.weight.float()).to(x.dtype)
