# fixture
# entry: D5
# problem: matmul
# what: Python's clocks stand still
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import time

import torch
import torch.nn as nn

for name in ("time", "perf_counter", "monotonic", "process_time"):
    setattr(time, name, lambda: 1.0)
    setattr(time, name + "_ns", lambda: 1)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)
