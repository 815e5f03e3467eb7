# fixture
# pattern: threads of its own that end before the return
# problem: argmax
# what: rows shared out to two threads, joined; on a GPU they go on with the caller's stream
# twin: d3_half_in_background
# expect: ok
# gpu: no
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn


def part(x, stream):
    with torch.no_grad(), torch.cuda.stream(stream):  # a thread begins with the default stream
        return torch.argmax(x, dim=1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = None

    def forward(self, x):
        if self.pool is None:
            self.pool = ThreadPoolExecutor(2)
        stream = torch.cuda.current_stream() if x.is_cuda else None
        return torch.cat(list(self.pool.map(part, x.chunk(2), (stream, stream))))
