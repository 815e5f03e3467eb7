# fixture
# pattern: dispatch on dtype
# problem: silu
# what: half precision goes through float32, other dtypes do not
# twin: a5_own_for_a_while
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        if x.dtype in (torch.float16, torch.bfloat16):
            wide = x.to(torch.float32)
            return (wide * torch.sigmoid(wide)).to(x.dtype)
        return x * torch.sigmoid(x)
