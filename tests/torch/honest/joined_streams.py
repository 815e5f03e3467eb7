# fixture
# pattern: several streams joined by events before the return
# problem: rotary
# what: queries on a side stream, keys on the caller's, joined by events
# twin: d1_side_stream
# expect: ok
# gpu: yes: streams
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = None

    @staticmethod
    def turn(x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)

    def forward(self, q, k, cos, sin):
        if self.side is None:
            self.side = torch.cuda.Stream()
        here = torch.cuda.current_stream()
        self.side.wait_stream(here)
        with torch.cuda.stream(self.side):
            y = self.turn(q, cos, sin)
        z = self.turn(k, cos, sin)
        here.wait_stream(self.side)
        y.record_stream(here)
        return y, z
