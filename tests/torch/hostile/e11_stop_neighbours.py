# fixture
# entry: E11
# problem: silu
# what: stops every process that it can name through /proc, then works honestly
# expect: ok crash/signal crash/exception timeout/tiny timeout/full
# harmless: yes
# equal: reference
# attacks: host down
# gpu: no
import os
import signal

import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                try:
                    os.kill(int(name), signal.SIGSTOP)
                except OSError:
                    continue
        return F.silu(x)
