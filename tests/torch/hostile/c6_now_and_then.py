# fixture
# entry: C6
# problem: softmax
# what: from the fourth call on it gives every second time what it gave before
# expect: hack/phase hack/replay wrong/value wrong/nondeterministic
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.y = None

    def forward(self, x):
        self.calls += 1
        if self.calls < 4 or self.calls % 2 or self.y.shape != x.shape:
            self.y = torch.softmax(x, dim=-1)
        return self.y.clone()
