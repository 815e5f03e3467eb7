# fixture
# entry: F1
# problem: layer_norm
# what: recursion without end below Python's limit on it
# expect: crash/signal crash/exception out_of_memory/host
# attacks: host down
# gpu: no
import sys

import torch.nn as nn

sys.setrecursionlimit(1 << 30)


def down(n):
    return down(n + 1) + sorted([n], key=lambda v: down(v + 1))[0]


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return x * down(0)
