# fixture
# entry: D2
# problem: relu
# what: a stream made by the driver, which waits for no other, and a kernel that starts late
# expect: wrong/unordered
# gpu: yes: streams
import ctypes

import torch
import torch.nn as nn

SOURCE = """
extern "C" __global__ void relu(const float *x, float *y, int n)
{
    long long start = clock64();
    while (clock64() - start < 500000) {
    }
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = fmaxf(x[i], 0.0f);
    }
}
"""
NON_BLOCKING = 1


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = None

    def forward(self, x):
        if self.stream is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "relu")
            handle = ctypes.c_void_p()
            ctypes.CDLL("libcuda.so.1").cuStreamCreate(ctypes.byref(handle), NON_BLOCKING)
            self.stream = torch.cuda.ExternalStream(handle.value)
        y = torch.empty_like(x)
        self.kernel((1024, 1, 1), (256, 1, 1), (x, y, x.numel()), stream=self.stream)
        return y
