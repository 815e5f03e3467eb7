# fixture
# pattern: autotuned kernel
# problem: gelu_tanh
# what: Triton chooses among three block sizes in the first call
# twin: d13_search_in_constructor
# expect: ok
# gpu: no
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((512, 4), (1024, 4), (2048, 8))],
    key=["n"],
)
@triton.jit
def gelu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    tl.store(y_ptr + at, x * tl.sigmoid(2.0 * inner), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        gelu[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
        return y
