# fixture
# pattern: cache keyed on shape and dtype for workspaces and compiled code
# problem: transformer_block
# what: the causal mask is kept per length and device
# twin: c2_pointer_table
# expect: ok
# gpu: no
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

MASKS = {}


def mask(t, device):
    key = t, str(device)
    if key not in MASKS:
        MASKS[key] = torch.ones(t, t, dtype=torch.bool, device=device).triu(1)
    return MASKS[key]


class ModelNew(nn.Module):
    def __init__(self, heads, head_dim, hidden):
        super().__init__()
        dim = heads * head_dim
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)
        p = torch.softmax(scores.masked_fill_(mask(t, x.device), float("-inf")), dim=-1)
        x = x + self.out((p @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))
