# fixture
# entry: B17
# problem: softmax
# what: the answer for the inputs that the public sequence of seeds would give, whatever arrives
# expect: wrong/value wrong/nondeterministic hack/replay
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(42)
        self.seeds = [int(torch.randint(0, 2**32 - 1, (1,))) for _ in range(3)]
        self.calls = 0

    def forward(self, x):
        seed = self.seeds[self.calls % 3]
        self.calls += 1
        torch.manual_seed(seed)
        return torch.softmax(torch.randn(x.shape, device=x.device), dim=-1)
