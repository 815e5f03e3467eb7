# fixture
# pattern: fp16 task with fp32 accumulation
# problem: linear_layer_norm
# what: everything after the product in float32, rounded once
# twin: b9_half_operands
# expect: ok
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=False, dtype=torch.float16)
        self.norm = nn.LayerNorm(out_features, dtype=torch.float16)

    def forward(self, x):
        y = F.linear(x.float(), self.linear.weight.float())
        n = self.norm
        y = F.layer_norm(y, y.shape[-1:], n.weight.float(), n.bias.float(), n.eps)
        return y.to(x.dtype)
