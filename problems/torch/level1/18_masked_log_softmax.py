"""Log-softmax of float32 scores where a boolean mask allows; -inf where it does not."""

import torch
import torch.nn as nn

batch_size = 16
length = 1000


class Model(nn.Module):
    def forward(self, scores: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(scores.masked_fill(~allowed, float("-inf")), dim=-1)


def get_inputs():
    allowed = torch.ones(length, length).tril().to(torch.bool)
    return [torch.randn(batch_size, length, length), allowed]


def get_init_inputs():
    return []
