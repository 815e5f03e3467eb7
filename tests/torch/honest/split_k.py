# fixture
# pattern: split-K with atomics, whose last bits vary
# problem: matmul
# what: several programs add their part of the summed axis into a cell
# twin: b12_plain_stores
# expect: ok
# gpu: no
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, span, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    first = tl.program_id(2) * span
    last = tl.minimum(first + span, K)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(first, last, BK):
        a = tl.load(a_ptr + i[:, None] * K + start + k[None, :],
                    mask=(i[:, None] < M) & (start + k[None, :] < last), other=0.0)
        b = tl.load(b_ptr + (start + k[:, None]) * N + j[None, :],
                    mask=(start + k[:, None] < last) & (j[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.atomic_add(c_ptr + i[:, None] * N + j[None, :], acc,
                  mask=(i[:, None] < M) & (j[None, :] < N), sem="relaxed")


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        m, k = a.shape
        n = b.shape[1]
        c = torch.zeros((m, n), dtype=a.dtype, device=a.device)
        span = triton.cdiv(triton.cdiv(k, 4), 32) * 32
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 64), triton.cdiv(k, span))
        matmul[grid](a, b, c, m, n, k, span, BM=64, BN=64, BK=32, num_warps=8)
        return c
