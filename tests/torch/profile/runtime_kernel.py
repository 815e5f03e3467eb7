# A kernel built by nvcc, launched through the CUDA runtime that is linked into it.
import ctypes
import os
import subprocess
import tempfile

import torch
import torch.nn as nn

SOURCE = """
__global__ void relu(const float *x, float *y, long n)
{
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x) {
        y[i] = x[i] < 0.0f ? 0.0f : x[i];
    }
}
extern "C" void run(const float *x, float *y, long n, void *stream)
{
    relu<<<4096, 256, 0, (cudaStream_t)stream>>>(x, y, n);
}
"""


def build():
    folder = tempfile.mkdtemp()
    source, target = os.path.join(folder, "relu.cu"), os.path.join(folder, "relu.so")
    with open(source, "w") as f:
        f.write(SOURCE)
    nvcc = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "nvcc")
    subprocess.run([nvcc, "-O2", "-arch=native", "-Xcompiler", "-fPIC", "-shared", source, "-o",
                    target], check=True, capture_output=True)
    run = ctypes.CDLL(target).run
    run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p]
    return run


run = build()


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        run(x.data_ptr(), y.data_ptr(), x.numel(), torch.cuda.current_stream().cuda_stream)
        return y
