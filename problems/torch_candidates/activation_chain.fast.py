"""Triton: the chain in one pass."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def chain(x_ptr, scale_ptr, shift_ptr, y_ptr, n, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    scale = tl.load(scale_ptr + at % cols, mask=inside, other=0.0)
    shift = tl.load(shift_ptr + at % cols, mask=inside, other=0.0)
    t = x * scale + shift
    t = 0.5 * t * (1.0 + tl.erf(t * 0.7071067811865476))
    t = tl.minimum(tl.maximum(t, -0.1), 2.0)
    tl.store(y_ptr + at, t * tl.sigmoid(x), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))
        self.shift = nn.Parameter(torch.zeros(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        chain[(triton.cdiv(n, 2048),)](x, self.scale, self.shift, y, n, x.shape[-1], BLOCK=2048,
                                       num_warps=8)
        return y
