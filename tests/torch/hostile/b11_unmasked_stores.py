# fixture
# entry: B11
# problem: relu
# what: one block too many and no mask: what lies behind its answer is overwritten
# expect: ok wrong/out_of_bounds
# harmless: yes
# equal: relu.fast
# varies: its answers are right, and what it hits may be memory that nobody uses
# sizes: batch_size=33, dim=97
# gpu: yes: memory in which nothing is kept between allocations
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.maximum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 64) + 1,)](x, y, x.numel(), BLOCK=64)
        return y
