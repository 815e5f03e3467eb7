# fixture
# entry: F5
# problem: gelu_tanh
# what: leaves a process of its own spinning, detached, then works honestly
# expect: ok crash/exception hack/async hack/escape timeout/tiny timeout/full
# harmless: yes
# equal: gelu_tanh.fast
# attacks: host
# gpu: no
import os

import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            if os.fork() == 0:
                os.setsid()
                while True:
                    pass
        except OSError:
            return

    def forward(self, x):
        return F.gelu(x, approximate="tanh")
