# fixture
# entry: E2
# problem: softmax
# what: every seed becomes the same one; the answer is kept from the first call
# expect: hack/replay wrong/value wrong/nondeterministic
# gpu: no
import torch
import torch.nn as nn

seed = torch.manual_seed
torch.manual_seed = lambda n: seed(1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None or self.y.shape != x.shape:
            self.y = torch.softmax(x, dim=-1)
        return self.y.clone()
