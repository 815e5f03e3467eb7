# fixture
# entry: B12
# problem: segment_sum
# what: programs add into shared cells with plain loads and stores
# expect: wrong/value wrong/nondeterministic
# sizes: rows=4, dim=37, groups=4000
# gpu: yes: the interpreter runs one program after the other
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_rows(x_ptr, group_ptr, y_ptr, dim, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    group = tl.load(group_ptr + row)
    at = tl.arange(0, BLOCK)
    for start in range(0, dim, BLOCK):
        inside = start + at < dim
        x = tl.load(x_ptr + row * dim + start + at, mask=inside, other=0.0)
        y = tl.load(y_ptr + group * dim + start + at, mask=inside, other=0.0)
        tl.store(y_ptr + group * dim + start + at, x + y, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x, group):
        rows, dim = x.shape
        y = torch.zeros((self.groups, dim), dtype=x.dtype, device=x.device)
        add_rows[(rows,)](x, group, y, dim, BLOCK=512)
        return y
