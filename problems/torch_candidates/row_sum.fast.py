"""Triton: one program per row, one accumulator per lane."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_rows(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        total += tl.load(x_ptr + row * cols + start + at, mask=start + at < cols, other=0.0)
    tl.store(y_ptr + row, tl.sum(total, axis=0))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, cols = x.shape
        y = torch.empty((rows, 1), dtype=x.dtype, device=x.device)
        block = min(4096, triton.next_power_of_2(cols))
        sum_rows[(rows,)](x, y, cols, BLOCK=block, num_warps=8)
        return y
