# fixture
# entry: D1
# problem: matmul
# what: a side stream that waits for the caller's, and for which nobody waits
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
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            torch.cuda._sleep(1_000_000)
            y = torch.matmul(a, b)
        return y
