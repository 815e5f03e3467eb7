# fixture
# entry: D9
# problem: swiglu
# what: a slow first call, so that the harness chooses few repetitions
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import time

import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, gate, up):
        self.calls += 1
        if self.calls == 1:
            time.sleep(0.2)
        return F.silu(gate) * up
