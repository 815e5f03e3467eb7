import torch
import torch.nn as nn

rows = 256
cols = 2048


class Model(nn.Module):
    def __init__(self, cols: int):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a * b + self.bias


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(rows, cols)]


def get_init_inputs():
    return [cols]
