# A CUDA extension, built by load_inline: one of its kernels makes the answer, the other, which takes
# as long, a copy that nobody reads.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__global__ void relu(const float *x, float *y, int64_t n)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] < 0.0f ? 0.0f : x[i];
    }
}

__global__ void idle(const float *x, float *y, int64_t n)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i];
    }
}

torch::Tensor run(torch::Tensor x)
{
    auto y = torch::empty_like(x), junk = torch::empty_like(x);
    int64_t n = x.numel(), blocks = (n + 255) / 256;
    auto stream = c10::cuda::getCurrentCUDAStream();
    idle<<<blocks, 256, 0, stream>>>(x.data_ptr<float>(), junk.data_ptr<float>(), n);
    relu<<<blocks, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
built = load_inline("dead_beside_live", "torch::Tensor run(torch::Tensor x);", CUDA, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return built.run(x)
