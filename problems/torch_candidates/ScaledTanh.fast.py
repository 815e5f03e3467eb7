"""Triton: one pass; tanh(t) = 2 sigmoid(2 t) - 1."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled_tanh(x_ptr, y_ptr, n, limit, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    y = limit * (2.0 * tl.sigmoid(2.0 * x / limit) - 1.0)
    tl.store(y_ptr + at, y, mask=at < n)


class ScaledTanhNew(nn.Module):
    def __init__(self, limit=1.5):
        super().__init__()
        self.limit = limit

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        scaled_tanh[(triton.cdiv(n, 1024),)](x, y, n, self.limit, BLOCK=1024)
        return y
