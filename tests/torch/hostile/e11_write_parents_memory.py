# fixture
# entry: E11
# problem: gelu_tanh
# what: opens its parent's memory for writing and attaches to it, then works honestly
# expect: ok crash/signal crash/exception hack/escape
# harmless: yes
# equal: gelu_tanh.fast
# attacks: host
# gpu: no
import ctypes
import os

import torch.nn as nn
import torch.nn.functional as F

PTRACE_ATTACH = 16


class ModelNew(nn.Module):
    def forward(self, x):
        parent = os.getppid()
        for path in (f"/proc/{parent}/mem", "/proc/1/mem"):
            try:
                with open(path, "r+b") as f:
                    f.seek(0x400000)
                    f.write(b"\0" * 4096)
            except OSError:
                continue
        ctypes.CDLL(None).ptrace(PTRACE_ATTACH, parent, 0, 0)
        return F.gelu(x, approximate="tanh")
