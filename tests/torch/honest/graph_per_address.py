# fixture
# pattern: graph re-captured per address
# problem: gelu_tanh
# what: a graph for each address of the input that it has seen
# twin: c4_first_graph
# expect: ok
# gpu: yes: graphs
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graphs = {}

    def forward(self, x):
        key = x.data_ptr(), x.shape
        if key not in self.graphs:
            F.gelu(x, approximate="tanh")
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = F.gelu(x, approximate="tanh")
            self.graphs[key] = graph, y
        graph, y = self.graphs[key]
        graph.replay()
        return y.clone()
