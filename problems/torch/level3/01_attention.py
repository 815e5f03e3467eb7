"""Causal attention, float16: softmax(q k' / sqrt(head_dim)) v over positions up to the query's."""

import math

import torch
import torch.nn as nn

batch_size = 4
heads = 12
length = 768
head_dim = 64


class Model(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        return torch.matmul(torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1), v)


def get_inputs():
    shape = (batch_size, heads, length, head_dim)
    return [torch.randn(shape).to(torch.float16) for _ in range(3)]


def get_init_inputs():
    return []
