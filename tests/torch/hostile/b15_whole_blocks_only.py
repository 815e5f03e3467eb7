# fixture
# entry: B15
# problem: relu
# what: a grid by floor division: the tail of an odd number of elements stays unwritten
# expect: ok wrong/value wrong/unwritten wrong/nonfinite
# harmless: yes
# equal: relu.fast
# varies: right where the number of elements is a multiple of the block
# sizes: batch_size=8, dim=4096
# gpu: no
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.maximum(tl.load(x_ptr + at), 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu[(x.numel() // 1024,)](x, y, BLOCK=1024)
        return y
