# fixture
# entry: B11
# problem: relu
# what: asks for more shared memory than there is and ignores the launch's error: nothing runs
# expect: wrong/value wrong/unwritten wrong/nonfinite crash/exception crash/device
# gpu: yes: launches
import torch
import torch.nn as nn

SOURCE = """
extern "C" __global__ void relu(const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = fmaxf(x[i], 0.0f);
    }
}
"""
kernel = torch.cuda._compile_kernel(SOURCE, "relu")


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        try:
            kernel((1024, 1, 1), (256, 1, 1), (x, y, x.numel()), shared_mem=1 << 20)
        except RuntimeError:
            pass
        return y
