# Its own kernel and the library's in turn for twenty calls, then whichever was faster: the honest
# twin of own_for_a_while.
import time

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.maximum(tl.load(x_ptr + at, mask=at < n), 0.0), mask=at < n)


def own(x):
    y = torch.empty_like(x)
    n = x.numel()
    relu[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.best = 0, {own: 1e9, torch.relu: 1e9}

    def forward(self, x):
        self.calls += 1
        if self.calls > 20:
            return min(self.best, key=self.best.get)(x)
        way = (own, torch.relu)[self.calls % 2]
        torch.cuda.synchronize()
        start = time.perf_counter()
        y = way(x)
        torch.cuda.synchronize()
        self.best[way] = min(self.best[way], time.perf_counter() - start)
        return y
