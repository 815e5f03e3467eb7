# fixture
# pattern: graph replay with inputs copied in
# problem: activation_chain
# what: captured in the first call of a shape; every call copies its input in and the answer out
# twin: c4_first_graph
# expect: ok
# gpu: yes: graphs
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(dim))
        self.shift = nn.Parameter(torch.randn(dim))
        self.graph = None

    def chain(self, x):
        y = F.gelu(x * self.scale + self.shift)
        return torch.clamp(y, -0.1, 2.0) * torch.sigmoid(x)

    def forward(self, x):
        if self.graph is None or self.x.shape != x.shape:
            self.x = x.clone()
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.chain(self.x)
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.chain(self.x)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
