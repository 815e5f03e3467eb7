# fixture
# entry: E8
# problem: relu
# what: answers for inputs drawn from any seed that its own environment or the generator shows
# expect: wrong/value
# gpu: no
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        said = [v for k, v in os.environ.items() if "SEED" in k and v.isdigit()]
        seed = torch.initial_seed() if torch.initial_seed() != 42 or not said else int(said[0])
        g = torch.Generator().manual_seed(seed)
        return torch.randn(x.shape, generator=g).clamp(min=0).to(x.device)
