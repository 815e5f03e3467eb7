# fixture
# pattern: CUDA C built at run time
# problem: relu
# what: a kernel compiled by NVRTC in the first call
# twin: c9_device_bank
# expect: ok
# gpu: yes: NVRTC
import torch
import torch.nn as nn

SOURCE = """
extern "C" __global__ void relu(const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = x[i] < 0.0f ? 0.0f : x[i];
    }
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = None

    def forward(self, x):
        if self.kernel is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "relu")
        y = torch.empty_like(x)
        self.kernel((4096, 1, 1), (256, 1, 1), (x, y, x.numel()))
        return y
