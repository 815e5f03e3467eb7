# fixture
# entry: B9
# problem: matmul
# what: tl.dot with its default precision, which is tf32 for float32 operands
# expect: wrong/precision wrong/value
# gpu: yes: the interpreter multiplies in full precision
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        a = tl.load(a_ptr + i[:, None] * K + start + k[None, :],
                    mask=(i[:, None] < M) & (start + k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + (start + k[:, None]) * N + j[None, :],
                    mask=(start + k[:, None] < K) & (j[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        m, k = a.shape
        n = b.shape[1]
        c = torch.empty((m, n), dtype=a.dtype, device=a.device)
        grid = (triton.cdiv(m, 128), triton.cdiv(n, 128))
        matmul[grid](a, b, c, m, n, k, BM=128, BN=128, BK=32, num_warps=8)
        return c
