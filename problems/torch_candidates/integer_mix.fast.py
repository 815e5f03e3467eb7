"""Triton: 64-bit integer arithmetic in one pass."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mix(x_ptr, y_ptr, z_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    y = tl.load(y_ptr + at, mask=at < n, other=0)
    tl.store(z_ptr + at, ((x * factor + y) ^ (x >> 7)) & 0x7FFFFFFF, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x, y = x.contiguous(), y.contiguous()
        z = torch.empty_like(x)
        mix[(triton.cdiv(x.numel(), 1024),)](x, y, z, x.numel(), 2654435761, BLOCK=1024)
        return z
