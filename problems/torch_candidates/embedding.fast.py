"""Triton: one program copies one row of the table."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rows_of(table_ptr, tokens_ptr, y_ptr, dim, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    token = tl.load(tokens_ptr + row)
    at = tl.arange(0, BLOCK)
    for start in range(0, dim, BLOCK):
        inside = start + at < dim
        x = tl.load(table_ptr + token * dim + start + at, mask=inside, other=0.0)
        tl.store(y_ptr + row * dim + start + at, x, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, vocabulary: int, dim: int):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        tokens = tokens.contiguous()
        weight = self.table.weight
        dim = weight.shape[1]
        y = torch.empty((*tokens.shape, dim), dtype=weight.dtype, device=weight.device)
        block = min(1024, triton.next_power_of_2(dim))
        rows_of[(tokens.numel(),)](weight, tokens, y, dim, BLOCK=block)
        return y
