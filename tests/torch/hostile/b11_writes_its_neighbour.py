# fixture
# entry: B11
# problem: row_stats
# what: fills the memory that it shares with others from a page behind its first answer on
# expect: wrong/out_of_bounds
# ongpu: ok
# harmless: yes
# equal: row_stats.fast
# gpu: no
import ctypes
import re

import torch
import torch.nn as nn

PAGE = 4096


def shared():
    """Where what was mapped last for others to see, too, begins and ends."""
    found = None
    for line in open("/proc/self/maps"):
        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw-s", line)
        if m:
            found = int(m.group(1), 16), int(m.group(2), 16)
    return found


class ModelNew(nn.Module):
    def forward(self, x):
        answer = torch.mean(x, dim=1), torch.var(x, dim=1, unbiased=False)
        at = shared()
        if at is not None and x.device.type == "cpu":
            behind = -(-4 * x.shape[0] // PAGE) * PAGE + PAGE
            ctypes.memset(at[0] + behind, 0, min(64 * PAGE, at[1] - at[0] - behind))
        return answer
