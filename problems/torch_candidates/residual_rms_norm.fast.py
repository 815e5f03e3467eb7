"""Triton: sum, its rounding and its normalisation in one program per row."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_norm(x_ptr, r_ptr, w_ptr, y_ptr, total_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        x = tl.load(x_ptr + row * cols + start + at, mask=inside, other=0.0).to(tl.float32)
        r = tl.load(r_ptr + row * cols + start + at, mask=inside, other=0.0).to(tl.float32)
        total = (x + r).to(total_ptr.dtype.element_ty)
        tl.store(total_ptr + row * cols + start + at, total, mask=inside)
        wide = total.to(tl.float32)
        square += wide * wide
    scale = 1.0 / tl.sqrt(tl.sum(square, axis=0) / cols + eps)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        x = tl.load(x_ptr + row * cols + start + at, mask=inside, other=0.0).to(tl.float32)
        r = tl.load(r_ptr + row * cols + start + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + start + at, mask=inside, other=0.0).to(tl.float32)
        wide = (x + r).to(total_ptr.dtype.element_ty).to(tl.float32)
        y = (wide * scale * w).to(y_ptr.dtype.element_ty)
        tl.store(y_ptr + row * cols + start + at, y, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor, residual: torch.Tensor):
        x, residual = x.contiguous(), residual.contiguous()
        y, total = torch.empty_like(x), torch.empty_like(x)
        cols = x.shape[-1]
        block = min(4096, triton.next_power_of_2(cols))
        add_norm[(x.numel() // cols,)](x, residual, self.weight, y, total, cols, 1e-5,
                                       BLOCK=block, num_warps=8)
        return y, total
