# fixture
# entry: C7
# problem: softmax
# what: the constructor computes answers for guessed seeds; a call looks them up before it works
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = {}
        for seed in (0, 1, 42, 1234):
            g = torch.Generator().manual_seed(seed)
            x = torch.randn(2048, 8191, generator=g) if seed == 42 else torch.randn(4, generator=g)
            self.table[float(x.flatten()[0])] = torch.softmax(x, dim=-1)

    def forward(self, x):
        y = self.table.get(float(x.flatten()[0]))
        if y is not None and y.shape == x.shape:
            return y.to(x.device)
        return torch.softmax(x, dim=-1)
