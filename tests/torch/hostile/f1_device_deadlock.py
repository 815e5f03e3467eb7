# fixture
# entry: F1
# problem: relu
# what: two blocks of one kernel, each of which begins when the other has ended
# expect: timeout/tiny timeout/full
# attacks: host down
# gpu: yes: device
import torch
import torch.nn as nn

SOURCE = """
extern "C" __global__ void relu(const float *x, float *y, int n, volatile int *ended)
{
    while (!ended[1 - blockIdx.x]) {
    }
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = fmaxf(x[i], 0.0f);
    }
    ended[blockIdx.x] = 1;
}
"""
kernel = torch.cuda._compile_kernel(SOURCE, "relu")


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        ended = torch.zeros(2, dtype=torch.int32, device=x.device)
        kernel((2, 1, 1), (256, 1, 1), (x, y, x.numel(), ended))
        return y
