"""Triton: one program per row and block of picks."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gather_rows(x_ptr, index_ptr, y_ptr, cols, picks, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < picks
    index = tl.load(index_ptr + row * picks + at, mask=inside, other=0)
    x = tl.load(x_ptr + row * cols + index, mask=inside, other=0.0)
    tl.store(y_ptr + row * picks + at, x, mask=inside)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        x, index = x.contiguous(), index.contiguous()
        y = torch.empty(index.shape, dtype=x.dtype, device=x.device)
        grid = (x.shape[0], triton.cdiv(index.shape[1], 1024))
        gather_rows[grid](x, index, y, x.shape[1], index.shape[1], BLOCK=1024)
        return y
