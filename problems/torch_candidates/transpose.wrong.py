"""Wrong: the right shape, the old order of the elements."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[1], x.shape[0]).clone()
