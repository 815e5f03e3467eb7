# fixture
# pattern: lazy packing with a re-pack on load
# problem: mlp
# what: packs in the first call and again whenever a weight's version has changed
# twin: c3_packed_in_first_call
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, hidden, out_features):
        super().__init__()
        self.first = nn.Linear(in_features, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.third = nn.Linear(hidden, out_features)
        self.packed = self.version = None

    def weights(self):
        w = [m.weight for m in (self.first, self.second, self.third)]
        version = [(t._version, t.data_ptr()) for t in w]
        if version != self.version:
            self.packed = [t.detach().t().contiguous() for t in w]
            self.version = version
        return self.packed

    def forward(self, x):
        a, b, c = self.weights()
        x = torch.relu(torch.addmm(self.first.bias, x, a))
        x = torch.relu(torch.addmm(self.second.bias, x, b))
        return torch.addmm(self.third.bias, x, c)
