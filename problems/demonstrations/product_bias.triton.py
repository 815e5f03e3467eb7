import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product_bias(a_ptr, b_ptr, bias_ptr, y_ptr, n, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(a_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    bias = tl.load(bias_ptr + at % cols, mask=inside)
    tl.store(y_ptr + at, a * b + bias, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols: int):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a, b = a.contiguous(), b.contiguous()
        y = torch.empty_like(a)
        n = a.numel()
        product_bias[(triton.cdiv(n, 1024),)](a, b, self.bias, y, n, a.shape[-1], BLOCK=1024)
        return y
