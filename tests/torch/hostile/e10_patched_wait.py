# fixture
# entry: E10
# problem: relu
# what: overwrites the code of the function that waits for the device with one that returns, and
#   works late on a stream of its own
# expect: hack/async wrong/value wrong/unwritten wrong/nonfinite wrong/nondeterministic hack/replay
#   crash/signal crash/exception
# gpu: yes: streams
import ctypes
import mmap
import re

import torch
import torch.nn as nn

SOURCE = """
extern "C" __global__ void relu(const float *x, float *y, int n)
{
    long long start = clock64();
    while (clock64() - start < 20000000) {
    }
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = fmaxf(x[i], 0.0f);
    }
}
"""
RETURNS_ZERO = b"\x31\xc0\xc3"  # xor eax, eax; ret


def patch():
    found = re.search(r"(/\S*libkgym_probe\S*)", open("/proc/self/maps").read())
    if found is None:
        return
    wait = ctypes.cast(ctypes.CDLL(found[1]).kg_probe_cuda_sync, ctypes.c_void_p).value
    page = wait // mmap.PAGESIZE * mmap.PAGESIZE
    libc = ctypes.CDLL(None)
    if libc.mprotect(ctypes.c_void_p(page), 2 * mmap.PAGESIZE, 7) == 0:
        ctypes.memmove(wait, RETURNS_ZERO, len(RETURNS_ZERO))


patch()


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = None

    def forward(self, x):
        if self.side is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "relu")
            self.side = torch.cuda.Stream()
        y = torch.empty_like(x)
        self.kernel((1024, 1, 1), (256, 1, 1), (x, y, x.numel()), stream=self.side)
        return y
