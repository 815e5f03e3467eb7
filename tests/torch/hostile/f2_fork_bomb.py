# fixture
# entry: F2
# problem: silu
# what: forks without end
# expect: crash/exception crash/signal crash/exit timeout/tiny timeout/full out_of_memory/host
#   wrong/unwritten wrong/value
# attacks: host down
# gpu: no
import os

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            os.fork()
