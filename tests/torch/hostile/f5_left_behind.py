# fixture
# entry: F5
# problem: gelu_tanh
# what: leaves processes of its own spinning, detached, on every core, then works honestly
# expect: ok crash/exception hack/async timeout/tiny timeout/full
# harmless: yes
# equal: reference
# unmeasured: not_trusted
# attacks: host left
# gpu: no
import math
import os

import torch
import torch.nn as nn


def spin():
    os.setsid()
    try:
        os.sched_setaffinity(0, range(1024))  # of others, too, where they are timed
    except OSError:
        pass
    while True:
        pass


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            for _ in range(4):
                if os.fork() == 0:
                    spin()
        except OSError:
            return

    def forward(self, x):
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))
