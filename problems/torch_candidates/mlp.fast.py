"""Plain PyTorch: products with bias in one call each, ReLU in place."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features: int, hidden: int, out_features: int):
        super().__init__()
        self.first = nn.Linear(in_features, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.third = nn.Linear(hidden, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.addmm(self.first.bias, x, self.first.weight.t()).clamp_(min=0)
        x = torch.addmm(self.second.bias, x, self.second.weight.t()).clamp_(min=0)
        return torch.addmm(self.third.bias, x, self.third.weight.t())
