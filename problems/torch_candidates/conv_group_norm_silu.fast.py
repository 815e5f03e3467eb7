"""The library's convolution; Triton normalises each group and applies SiLU in place."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def norm_silu(y_ptr, w_ptr, b_ptr, groups, per_group, area, eps, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    group = program % groups
    n = per_group * area
    y_ptr += program * n
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(y_ptr + start + at, mask=start + at < n, other=0.0)
    mean = tl.sum(total, axis=0) / n
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        inside = start + at < n
        d = tl.load(y_ptr + start + at, mask=inside, other=0.0) - mean
        square += tl.where(inside, d * d, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(square, axis=0) / n + eps)
    for start in range(0, n, BLOCK):
        inside = start + at < n
        channel = group * per_group + (start + at) // area
        w = tl.load(w_ptr + channel, mask=inside, other=0.0)
        b = tl.load(b_ptr + channel, mask=inside, other=0.0)
        x = tl.load(y_ptr + start + at, mask=inside, other=0.0)
        t = (x - mean) * scale * w + b
        tl.store(y_ptr + start + at, t * tl.sigmoid(t), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, groups: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)
        self.norm = nn.GroupNorm(groups, out_channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.conv2d(x, self.conv.weight, self.conv.bias, padding=1).contiguous()
        groups = self.norm.num_groups
        area = y.shape[2] * y.shape[3]
        norm_silu[(y.shape[0] * groups,)](y, self.norm.weight, self.norm.bias, groups,
                                          y.shape[1] // groups, area, self.norm.eps, BLOCK=4096,
                                          num_warps=16)
        return y
