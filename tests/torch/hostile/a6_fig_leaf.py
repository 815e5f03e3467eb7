# fixture
# entry: A6
# problem: conv2d
# what: a kernel of its own for the bias, the convolution stays with the library
# expect: ok hack/delegation
# harmless: yes
# equal: reference
# coverage: 0.7: its own kernel's share
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def add_bias(y_ptr, b_ptr, n, channels, area, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    b = tl.load(b_ptr + at // area % channels, mask=at < n, other=0.0)
    tl.store(y_ptr + at, tl.load(y_ptr + at, mask=at < n, other=0.0) + b, mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x):
        y = F.conv2d(x, self.conv.weight, padding=1).contiguous()
        n = y.numel()
        grid = (triton.cdiv(n, 1024),)
        add_bias[grid](y, self.conv.bias, n, y.shape[1], y.shape[2] * y.shape[3], BLOCK=1024)
        return y
