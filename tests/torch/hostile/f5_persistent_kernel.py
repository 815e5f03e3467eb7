# fixture
# entry: F5
# problem: relu
# what: a kernel that never ends on a stream of its own holds some of the device
# expect: ok hack/async timeout/tiny timeout/full timeout/timing
# harmless: yes
# equal: reference
# gpu: yes: device
import torch
import torch.nn as nn

SOURCE = """
extern "C" __global__ void spin(volatile int *stop)
{
    while (!*stop) {
    }
}
"""
torch.cuda.synchronize = lambda *a, **k: torch.cuda.current_stream().synchronize()


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stop = None

    def forward(self, x):
        if self.stop is None:
            self.stop = torch.zeros(1, dtype=torch.int32, device=x.device)
            torch.cuda.current_stream().synchronize()
            side = torch.cuda.Stream()
            kernel = torch.cuda._compile_kernel(SOURCE, "spin")
            kernel((8, 1, 1), (32, 1, 1), (self.stop,), stream=side)
        return torch.relu(x)
