"""Wrong: only whole blocks of 64 elements are added up; the last elements of each row are missing."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        whole = x.shape[1] // 64 * 64
        total = F.huber_loss(x[:, :whole], target[:, :whole], delta=0.5, reduction="sum")
        return total / x.numel()
