# fixture
# entry: F2
# problem: matmul
# what: takes memory without end and touches it
# expect: out_of_memory/host out_of_memory/device
# attacks: host memory
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        held = []
        while True:
            held.append(torch.ones(1 << 26, dtype=torch.float32, device=a.device))
