"""The kernel that building.py compiles. It is a file, because Triton reads the source from
there."""

import triton
import triton.language as tl


@triton.jit
def double(x, n, SIZE: tl.constexpr):
    i = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
