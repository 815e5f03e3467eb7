"""Triton: one program per row; mean, then variance about it, then the scaled row."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm_rows(x_ptr, w_ptr, b_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        total += tl.load(x_ptr + row * cols + start + at, mask=start + at < cols, other=0.0)
    mean = tl.sum(total, axis=0) / cols
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        x = tl.load(x_ptr + row * cols + start + at, mask=inside, other=0.0)
        d = tl.where(inside, x - mean, 0.0)
        square += d * d
    scale = 1.0 / tl.sqrt(tl.sum(square, axis=0) / cols + eps)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        x = tl.load(x_ptr + row * cols + start + at, mask=inside, other=0.0)
        w = tl.load(w_ptr + start + at, mask=inside, other=0.0)
        b = tl.load(b_ptr + start + at, mask=inside, other=0.0)
        tl.store(y_ptr + row * cols + start + at, (x - mean) * scale * w + b, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        cols = x.shape[-1]
        block = min(4096, triton.next_power_of_2(cols))
        layer_norm_rows[(x.numel() // cols,)](
            x, self.norm.weight, self.norm.bias, y, cols, self.norm.eps, BLOCK=block, num_warps=8
        )
        return y
