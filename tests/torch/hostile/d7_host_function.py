# fixture
# entry: D7
# problem: relu
# what: a sleeping host function in a stream of its own stands before the kernel, and waiting is
#   patched out
# expect: ok hack/async wrong/value wrong/unwritten wrong/nonfinite hack/stale
# harmless: yes
# equal: relu.fast
# gpu: yes: streams
import ctypes
import time

import torch
import torch.nn as nn

torch.cuda.synchronize = lambda *a, **k: None
SOURCE = """
extern "C" __global__ void relu(const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = fmaxf(x[i], 0.0f);
    }
}
"""


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def sleep(_):
    time.sleep(0.003)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = None

    def forward(self, x):
        if self.stream is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "relu")
            self.driver = ctypes.CDLL("libcuda.so.1")
            handle = ctypes.c_void_p()
            self.driver.cuStreamCreate(ctypes.byref(handle), 1)
            self.handle, self.stream = handle, torch.cuda.ExternalStream(handle.value)
        y = torch.empty_like(x)
        self.driver.cuLaunchHostFunc(self.handle, sleep, None)
        self.kernel((1024, 1, 1), (256, 1, 1), (x, y, x.numel()), stream=self.stream)
        return y
