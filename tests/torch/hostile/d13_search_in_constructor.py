# fixture
# entry: D13
# problem: matmul
# what: the constructor times many block sizes for guessed inputs for two seconds
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, best = 64, float("inf")
        end = time.monotonic() + 2.0
        a = torch.randn(256, 256)
        for block in range(16, 516):
            start = time.perf_counter()
            for i in range(0, 256, block):
                torch.mm(a[i : i + block], a)
            if time.perf_counter() - start < best:
                self.block, best = block, time.perf_counter() - start
            if time.monotonic() > end:
                break

    def forward(self, a, b):
        return torch.cat([torch.mm(p, b) for p in a.split(max(self.block, a.shape[0] // 4))])
