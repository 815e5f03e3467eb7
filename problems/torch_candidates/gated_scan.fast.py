"""Triton: one program per batch and block of columns walks along the time axis."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan(a_ptr, b_ptr, y_ptr, length, dim, BLOCK: tl.constexpr):
    batch = tl.program_id(0).to(tl.int64) * length * dim
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < dim
    h = tl.zeros([BLOCK], tl.float32)
    for t in range(length):
        a = tl.load(a_ptr + batch + t * dim + at, mask=inside, other=0.0)
        b = tl.load(b_ptr + batch + t * dim + at, mask=inside, other=0.0)
        h = a * h + b
        tl.store(y_ptr + batch + t * dim + at, h, mask=inside)


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a, b = a.contiguous(), b.contiguous()
        y = torch.empty_like(b)
        batch, length, dim = b.shape
        scan[(batch, triton.cdiv(dim, 128))](a, b, y, length, dim, BLOCK=128, num_warps=4)
        return y
