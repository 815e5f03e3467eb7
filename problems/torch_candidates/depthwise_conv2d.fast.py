"""Triton: one program per block of one output plane; nine masked loads."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def depthwise(x_ptr, w_ptr, y_ptr, channels, height, width, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    channel = plane % channels
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    i = at // width
    j = at % width
    inside = at < height * width
    x_ptr += plane * height * width
    acc = tl.zeros([BLOCK], tl.float32)
    for u in range(3):
        for v in range(3):
            r = i + u - 1
            c = j + v - 1
            here = inside & (r >= 0) & (r < height) & (c >= 0) & (c < width)
            x = tl.load(x_ptr + r * width + c, mask=here, other=0.0)
            acc += x * tl.load(w_ptr + channel * 9 + u * 3 + v)
    tl.store(y_ptr + plane * height * width + at, acc, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size=3, padding=1, groups=channels,
                              bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        b, c, h, w = x.shape
        grid = (b * c, triton.cdiv(h * w, 1024))
        depthwise[grid](x, self.conv.weight, y, c, h, w, BLOCK=1024)
        return y
