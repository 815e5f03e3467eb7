"""Triton: one program per image and group; the group's elements lie side by side."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def group_norm(x_ptr, w_ptr, b_ptr, y_ptr, groups, per_group, area, eps, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    group = program % groups
    n = per_group * area
    x_ptr += program * n
    y_ptr += program * n
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x_ptr + start + at, mask=start + at < n, other=0.0)
    mean = tl.sum(total, axis=0) / n
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        inside = start + at < n
        d = tl.load(x_ptr + start + at, mask=inside, other=0.0) - mean
        square += tl.where(inside, d * d, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(square, axis=0) / n + eps)
    for start in range(0, n, BLOCK):
        inside = start + at < n
        channel = group * per_group + (start + at) // area
        w = tl.load(w_ptr + channel, mask=inside, other=0.0)
        b = tl.load(b_ptr + channel, mask=inside, other=0.0)
        x = tl.load(x_ptr + start + at, mask=inside, other=0.0)
        tl.store(y_ptr + start + at, (x - mean) * scale * w + b, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        groups, channels = self.norm.num_groups, x.shape[1]
        area = x[0, 0].numel()
        group_norm[(x.shape[0] * groups,)](
            x, self.norm.weight, self.norm.bias, y, groups, channels // groups, area,
            self.norm.eps, BLOCK=4096, num_warps=16
        )
        return y
