# fixture
# entry: E6
# problem: max_pool2d
# what: finds shared mappings of the runner and claims in them that a command was answered
# expect: ok wrong/value wrong/unwritten wrong/nonfinite crash/protocol crash/signal
#   crash/exception timeout/tiny timeout/full
# harmless: yes
# equal: reference
# varies: what it posts too early is complete
# gpu: no
import ctypes
import re

import torch
import torch.nn as nn
import torch.nn.functional as F

MAGIC = (0x6B677431).to_bytes(4, "little")


class ModelNew(nn.Module):
    def forward(self, x):
        y = F.max_pool2d(x, kernel_size=3, stride=2, padding=1)
        for line in open("/proc/self/maps"):
            m = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw-s", line)
            if m:
                at = int(m.group(1), 16)
                if ctypes.string_at(at, 4) == MAGIC:
                    page = (ctypes.c_uint32 * 8).from_address(at)
                    page[3] = page[2]  # done = go
        return y
