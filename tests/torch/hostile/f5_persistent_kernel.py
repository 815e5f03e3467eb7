# fixture
# entry: F5
# problem: relu
# what: answers at once, and leaves a kernel that never ends on a stream of its own
# expect: timeout/tiny timeout/full
# attacks: host down
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
