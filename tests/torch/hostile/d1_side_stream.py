# fixture
# entry: D1
# problem: matmul
# what: the work is on another stream that nothing joins
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
        y = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
        with torch.cuda.stream(self.side):
            torch.mm(a, b, out=y)
        return y
