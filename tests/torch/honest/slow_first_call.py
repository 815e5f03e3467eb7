# fixture
# pattern: slow first call
# problem: matmul
# what: the first call waits a third of a second, as a library that loads does
# twin: d9_slow_first_call
# expect: ok
# gpu: no
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.warm = False

    def forward(self, a, b):
        if not self.warm:
            time.sleep(0.3)
            self.warm = True
        return torch.mm(a, b)
