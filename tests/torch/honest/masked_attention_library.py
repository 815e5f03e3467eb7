# fixture
# pattern: masked attention inside, finite outside
# problem: attention
# what: the library's fused attention
# twin: b13_one_nan
# expect: ok
# gpu: no
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
