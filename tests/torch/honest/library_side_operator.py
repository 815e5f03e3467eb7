# fixture
# pattern: library call for a side operator
# problem: bias_dropout_residual
# what: random numbers from the library, the arithmetic in one Triton pass
# twin: a1_library_wrapper
# expect: ok
# gpu: no
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def drop_add(x_ptr, b_ptr, r_ptr, u_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < cols
    x = tl.load(x_ptr + row + at, mask=inside, other=0.0)
    b = tl.load(b_ptr + at, mask=inside, other=0.0)
    r = tl.load(r_ptr + row + at, mask=inside, other=0.0)
    keep = tl.load(u_ptr + row + at, mask=inside, other=0.0) >= 0.1
    tl.store(y_ptr + row + at, r + tl.where(keep, (x + b) / 0.9, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x, residual):
        x, residual = x.contiguous(), residual.contiguous()
        u = torch.rand(x.shape, dtype=torch.float32, device=x.device)
        y = torch.empty_like(x)
        rows, cols = x.shape
        drop_add[(rows, triton.cdiv(cols, 1024))](x, self.bias, residual, u, y, cols, BLOCK=1024)
        return y
