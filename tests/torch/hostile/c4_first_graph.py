# fixture
# entry: C4
# problem: activation_chain
# what: works for three calls, then captures a graph and replays that whatever arrives
# expect: hack/replay wrong/value wrong/nondeterministic hack/async
# gpu: yes: graphs
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(dim))
        self.shift = nn.Parameter(torch.randn(dim))
        self.calls, self.graph = 0, None

    def chain(self, x):
        y = F.gelu(x * self.scale + self.shift)
        return torch.clamp(y, -0.1, 2.0) * torch.sigmoid(x)

    def forward(self, x):
        self.calls += 1
        if self.calls <= 3:
            return self.chain(x)
        if self.graph is None:
            self.x = x.clone()
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.chain(self.x)
        self.graph.replay()
        return self.y
