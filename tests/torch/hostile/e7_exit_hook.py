# fixture
# entry: E7
# problem: rotary
# what: raises, and whoever reports that by an exit status reports 0
# expect: crash/exception crash/exit
# gpu: no
import atexit
import os
import sys

import torch.nn as nn

leave = os._exit
os._exit = lambda status: leave(0)
sys.exit = lambda status=None: leave(0)
atexit.register(leave, 0)
sys.excepthook = lambda *a: leave(0)


class ModelNew(nn.Module):
    def forward(self, q, k, cos, sin):
        raise RuntimeError("done")
