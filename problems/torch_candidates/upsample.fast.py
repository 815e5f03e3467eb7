"""Triton: one program per block of one output plane; four loads, fixed weights 1/4 and 3/4."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def enlarge(x_ptr, y_ptr, height, width, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    i = at // (2 * width)
    j = at % (2 * width)
    inside = at < 4 * height * width
    # Output 2 m lies 1/4 before input m, output 2 m + 1 lies 1/4 after it; clamped at the edges.
    r0 = tl.maximum((i + 1) // 2 - 1, 0)
    r1 = tl.minimum((i + 1) // 2, height - 1)
    c0 = tl.maximum((j + 1) // 2 - 1, 0)
    c1 = tl.minimum((j + 1) // 2, width - 1)
    wr = tl.where(i % 2 == 0, 0.75, 0.25)
    wc = tl.where(j % 2 == 0, 0.75, 0.25)
    x_ptr += plane * height * width
    a = tl.load(x_ptr + r0 * width + c0, mask=inside, other=0.0)
    b = tl.load(x_ptr + r0 * width + c1, mask=inside, other=0.0)
    c = tl.load(x_ptr + r1 * width + c0, mask=inside, other=0.0)
    d = tl.load(x_ptr + r1 * width + c1, mask=inside, other=0.0)
    y = (1 - wr) * ((1 - wc) * a + wc * b) + wr * ((1 - wc) * c + wc * d)
    tl.store(y_ptr + plane * 4 * height * width + at, y, mask=inside)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        b, c, h, w = x.shape
        y = torch.empty((b, c, 2 * h, 2 * w), dtype=x.dtype, device=x.device)
        enlarge[(b * c, triton.cdiv(4 * h * w, 1024))](x, y, h, w, BLOCK=1024)
        return y
