"""Triton: online softmax over blocks of keys; only blocks up to the query's are visited."""

import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attend(q_ptr, k_ptr, v_ptr, y_ptr, length, dim, scale, BQ: tl.constexpr, BK: tl.constexpr,
           BD: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * length * dim
    i = tl.program_id(0) * BQ + tl.arange(0, BQ)
    d = tl.arange(0, BD)
    q = tl.load(q_ptr + head + i[:, None] * dim + d[None, :],
                mask=(i[:, None] < length) & (d[None, :] < dim), other=0.0)
    best = tl.full([BQ], float("-inf"), tl.float32)
    total = tl.zeros([BQ], tl.float32)
    acc = tl.zeros([BQ, BD], tl.float32)
    for start in range(0, tl.minimum(length, (tl.program_id(0) + 1) * BQ), BK):
        j = start + tl.arange(0, BK)
        inside = (j[:, None] < length) & (d[None, :] < dim)
        k = tl.load(k_ptr + head + j[:, None] * dim + d[None, :], mask=inside, other=0.0)
        v = tl.load(v_ptr + head + j[:, None] * dim + d[None, :], mask=inside, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where((j[None, :] <= i[:, None]) & (j[None, :] < length), s, float("-inf"))
        higher = tl.maximum(best, tl.max(s, axis=1))  # key 0 is visible to all: finite
        p = tl.exp(s - higher[:, None])
        keep = tl.exp(best - higher)
        total = total * keep + tl.sum(p, axis=1)
        acc = acc * keep[:, None] + tl.dot(p.to(v.dtype), v)
        best = higher
    y = (acc / total[:, None]).to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + head + i[:, None] * dim + d[None, :], y,
             mask=(i[:, None] < length) & (d[None, :] < dim))


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        batch, heads, length, dim = q.shape
        y = torch.empty_like(q)
        grid = (triton.cdiv(length, 64), batch * heads)
        attend[grid](q, k, v, y, length, dim, 1.0 / math.sqrt(dim), BQ=64, BK=64,
                     BD=max(16, triton.next_power_of_2(dim)), num_warps=4)
        return y
