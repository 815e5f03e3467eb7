# fixture
# entry: D7
# problem: relu
# what: a host function that sleeps stands before the kernel in a stream of its own, and the answer
#   is posted meanwhile: it is written later
# expect: hack/async wrong/value wrong/unwritten wrong/nonfinite wrong/nondeterministic hack/replay
# gpu: yes: streams
import ctypes
import sys
import time

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


def post_at_once():
    cuda, wire = (sys.modules.get("kgym_harness." + name) for name in ("cuda", "wire"))
    if cuda is None:
        return

    def finish(self, base, number, begun):
        self.lib.kg_probe_post(base + wire.Wire.done.offset, number)
        return True

    cuda.Cuda.finish = finish


post_at_once()


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
