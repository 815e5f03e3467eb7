# fixture
# pattern: a kernel that names no stream, as `kernel<<<grid, block>>>` does
# problem: relu
# what: the kernel adds to zeros that PyTorch writes, and PyTorch works on with its answer
# twin: d2_native_stream
# expect: ok
# gpu: yes: streams
import torch
import torch.nn as nn

SOURCE = """
extern "C" __global__ void add_positive(const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] += fmaxf(x[i], 0.0f);
    }
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = None

    def forward(self, x):
        if self.kernel is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "add_positive")
        y = torch.zeros_like(x)
        self.kernel((1024, 1, 1), (256, 1, 1), (x, y, x.numel()),
                    stream=torch.cuda.default_stream())
        return y * 1
