# fixture
# entry: E7
# problem: rotary
# what: raises, with a hook at exit that turns the status into 0
# expect: crash/exception crash/exit
# attacks: host
# gpu: no
import atexit
import os
import sys

import torch.nn as nn

atexit.register(os._exit, 0)
sys.excepthook = lambda *a: os._exit(0)


class ModelNew(nn.Module):
    def forward(self, q, k, cos, sin):
        raise RuntimeError("done")
