"""silu(gate) * up for bfloat16 tensors: the gate of a gated feed-forward layer."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 4096
dim = 5461


class Model(nn.Module):
    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return F.silu(gate) * up


def get_inputs():
    gate = torch.randn(batch_size, dim).to(torch.bfloat16)
    return [gate, torch.randn(batch_size, dim).to(torch.bfloat16)]


def get_init_inputs():
    return []
