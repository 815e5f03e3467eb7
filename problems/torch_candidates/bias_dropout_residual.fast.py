"""The reference's uniform numbers by torch; Triton does the rest in one pass."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def drop_add(x_ptr, b_ptr, r_ptr, u_ptr, y_ptr, n, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    b = tl.load(b_ptr + at % cols, mask=inside, other=0.0)
    r = tl.load(r_ptr + at, mask=inside, other=0.0)
    u = tl.load(u_ptr + at, mask=inside, other=0.0)
    kept = tl.where(u >= 0.1, (x + b) / 0.9, 0.0)
    tl.store(y_ptr + at, r + kept, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        x, residual = x.contiguous(), residual.contiguous()
        u = torch.rand(x.shape, dtype=torch.float32, device=x.device)
        y = torch.empty_like(x)
        n = x.numel()
        drop_add[(triton.cdiv(n, 2048),)](x, self.bias, residual, u, y, n, x.shape[-1],
                                          BLOCK=2048, num_warps=8)
        return y
