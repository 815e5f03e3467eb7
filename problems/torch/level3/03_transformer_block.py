"""A transformer block, float32: x + attention(norm(x)), then x + feed_forward(norm(x)), with
causal self-attention and a GELU feed-forward layer."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 8
length = 256
heads = 8
head_dim = 64
hidden = 2048


class Model(nn.Module):
    def __init__(self, heads: int, head_dim: int, hidden: int):
        super().__init__()
        dim = heads * head_dim
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        later = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        y = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def get_inputs():
    return [torch.randn(batch_size, length, heads * head_dim)]


def get_init_inputs():
    return [heads, head_dim, hidden]
