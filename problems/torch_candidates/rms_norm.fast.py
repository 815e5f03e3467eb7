"""Triton: one program per row, sums in float32, two passes."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm_rows(x_ptr, w_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        x = tl.load(x_ptr + row * cols + start + at, mask=start + at < cols, other=0.0)
        x = x.to(tl.float32)
        square += x * x
    scale = 1.0 / tl.sqrt(tl.sum(square, axis=0) / cols + eps)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        x = tl.load(x_ptr + row * cols + start + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + start + at, mask=inside, other=0.0).to(tl.float32)
        y = (x * scale * w).to(y_ptr.dtype.element_ty)
        tl.store(y_ptr + row * cols + start + at, y, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        cols = x.shape[-1]
        block = min(4096, triton.next_power_of_2(cols))
        rms_norm_rows[(x.numel() // cols,)](
            x, self.weight, y, cols, 1e-5, BLOCK=block, num_warps=8
        )
        return y
