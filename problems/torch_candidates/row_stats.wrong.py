"""Wrong: the variance is divided by n - 1."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.mean(x, dim=1), torch.var(x, dim=1)
