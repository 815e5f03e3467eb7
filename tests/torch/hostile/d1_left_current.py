# fixture
# entry: D1
# problem: matmul
# what: its own stream stays current when it returns
# expect: wrong/unordered
# gpu: yes: streams
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = None

    def forward(self, a, b):
        if self.side is None:
            self.side = torch.cuda.Stream()
        torch.cuda.set_stream(self.side)
        return torch.matmul(a, b)
