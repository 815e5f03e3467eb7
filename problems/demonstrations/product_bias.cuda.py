import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void product_bias_kernel(const float *a, const float *b, const float *bias, float *y,
                                    long n, long cols)
{
    long at = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (at < n) {
        y[at] = a[at] * b[at] + bias[at % cols];
    }
}

torch::Tensor product_bias(torch::Tensor a, torch::Tensor b, torch::Tensor bias)
{
    auto y = torch::empty_like(a);
    long n = a.numel();
    product_bias_kernel<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), n,
        a.size(-1));
    return y;
}
"""
cpp_source = "torch::Tensor product_bias(torch::Tensor a, torch::Tensor b, torch::Tensor bias);"
extension = load_inline(name="product_bias", cpp_sources=cpp_source, cuda_sources=cuda_source,
                        functions=["product_bias"])


class ModelNew(nn.Module):
    def __init__(self, cols: int):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return extension.product_bias(a.contiguous(), b.contiguous(), self.bias)
