"""The library's product; Triton normalises each row in place, sums in float32."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def normalise(y_ptr, w_ptr, b_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    x = tl.load(y_ptr + row * cols + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / cols
    d = tl.where(inside, x - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / cols + eps)
    w = tl.load(w_ptr + at, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + at, mask=inside, other=0.0).to(tl.float32)
    y = (d * scale * w + b).to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + row * cols + at, y, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=False, dtype=torch.float16)
        self.norm = nn.LayerNorm(out_features, dtype=torch.float16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.mm(x, self.linear.weight.t())
        cols = y.shape[1]
        normalise[(y.shape[0],)](y, self.norm.weight, self.norm.bias, cols, self.norm.eps,
                                 BLOCK=triton.next_power_of_2(cols), num_warps=8)
        return y
