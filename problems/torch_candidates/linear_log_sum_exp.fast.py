"""The library's product with bias in one call; Triton reduces each row."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def reduce_rows(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    best = tl.full([1], float("-inf"), tl.float32)
    total = tl.zeros([1], tl.float32)
    for start in range(0, cols, BLOCK):
        x = tl.load(x_ptr + row * cols + start + at, mask=start + at < cols, other=float("-inf"))
        higher = tl.maximum(best, tl.max(x, axis=0))
        total = total * tl.exp(best - higher) + tl.sum(tl.exp(x - higher), axis=0)
        best = higher
    tl.store(y_ptr + row + tl.arange(0, 1), best + tl.log(total))


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        t = torch.addmm(self.linear.bias, x, self.linear.weight.t())
        rows, cols = t.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        block = min(4096, triton.next_power_of_2(cols))
        reduce_rows[(rows,)](t, y, cols, BLOCK=block, num_warps=8)
        return y
