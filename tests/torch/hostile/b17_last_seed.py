# fixture
# entry: B17
# problem: relu
# what: asks the generator for the seed it was last given and draws the inputs from it again
# expect: wrong/value hack/replay
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        g = torch.Generator(device=x.device).manual_seed(torch.initial_seed())
        return torch.relu(torch.randn(x.shape, generator=g, device=x.device))
