# fixture
# entry: A2
# problem: relu
# what: the kernel cannot be launched (too large a block); the library answers from `except`
# expect: error/needs_gpu
# ongpu: ok hack/fallback
# harmless: yes
# equal: reference
# gpu: no
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.maximum(tl.load(x_ptr + at, mask=at < n), 0.0), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            y = torch.empty_like(x)
            relu[(1,)](x, y, x.numel(), BLOCK=3 * (1 << 20))  # no power of two
            return y
        except Exception:
            return torch.relu(x)
