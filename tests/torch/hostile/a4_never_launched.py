# fixture
# entry: A4
# problem: silu
# what: defines a kernel that no call ever launches
# expect: error/needs_gpu
# ongpu: ok hack/decoy hack/fallback
# harmless: yes
# equal: reference
# gpu: no
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def silu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(tl.float16), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        if x.dim() == 17:
            silu[(1,)](x, x, 0, BLOCK=64)
        return F.silu(x)
