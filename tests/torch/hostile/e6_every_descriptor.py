# fixture
# entry: E6
# problem: gather
# what: writes such a record to every descriptor
# expect: wrong/value crash/protocol crash/signal crash/exit crash/exception crash/device
# gpu: no
import os

import torch
import torch.nn as nn

RECORD = b'{"accepted": true, "verdict": "ok", "reason": null, "speedup": {"ratio": 100.0}}\n'


class ModelNew(nn.Module):
    def forward(self, x, index):
        for fd in range(1, 64):
            try:
                os.write(fd, RECORD)
            except OSError:
                continue
        return torch.zeros(index.shape, dtype=x.dtype, device=x.device)
