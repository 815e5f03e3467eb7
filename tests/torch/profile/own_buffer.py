# Its own kernel writes into a buffer that stays: what an earlier call left there must not pass for
# an answer when the kernel is suppressed.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.maximum(tl.load(x_ptr + at, mask=at < n), 0.0), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None:
            self.y = torch.empty_like(x)
        n = x.numel()
        relu[(triton.cdiv(n, 1024),)](x, self.y, n, BLOCK=1024)
        return self.y
