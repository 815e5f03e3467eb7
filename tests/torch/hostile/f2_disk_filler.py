# fixture
# entry: F2
# problem: softmax
# what: fills every folder that it may write to
# expect: ok crash/exception crash/signal out_of_memory/host timeout/tiny timeout/full
# harmless: yes
# equal: reference
# attacks: host filled
# gpu: no
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for folder in ("/tmp", "/dev/shm", "/var/tmp", ".", "/kgym"):
            try:
                with open(os.path.join(folder, "filler"), "wb") as f:
                    for _ in range(1 << 16):
                        f.write(b"x" * (1 << 20))
            except OSError:
                continue
        return torch.softmax(x, dim=-1)
