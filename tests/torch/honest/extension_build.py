# fixture
# pattern: a CUDA extension built at import
# problem: gelu_tanh
# what: load_inline of one kernel
# twin: e15_planted_object
# expect: ok
# gpu: yes: nvcc and a device
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__global__ void gelu(const float *x, float *y, int64_t n)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}

torch::Tensor run(torch::Tensor x)
{
    auto in = x.contiguous();
    auto y = torch::empty_like(in);
    int64_t n = in.numel();
    gelu<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        in.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
built = load_inline("kgym_gelu", "torch::Tensor run(torch::Tensor x);", CUDA, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return built.run(x)
