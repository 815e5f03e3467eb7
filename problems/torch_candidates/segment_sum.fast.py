"""Triton: one program per row adds it to its group with atomic additions."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_rows(x_ptr, group_ptr, y_ptr, dim, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    group = tl.load(group_ptr + row)
    at = tl.arange(0, BLOCK)
    for start in range(0, dim, BLOCK):
        inside = start + at < dim
        x = tl.load(x_ptr + row * dim + start + at, mask=inside, other=0.0)
        tl.atomic_add(y_ptr + group * dim + start + at, x, mask=inside, sem="relaxed")


class ModelNew(nn.Module):
    def __init__(self, groups: int):
        super().__init__()
        self.groups = groups

    def forward(self, x: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        x, group = x.contiguous(), group.contiguous()
        rows, dim = x.shape
        y = torch.zeros((self.groups, dim), dtype=x.dtype, device=x.device)
        add_rows[(rows,)](x, group, y, dim, BLOCK=min(1024, triton.next_power_of_2(dim)))
        return y
